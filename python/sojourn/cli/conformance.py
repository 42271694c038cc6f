"""``sojourn conformance``: tests a sender or a queue against its specification."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import complete
from sojourn.cli.options import Engine, Kernel, Plugins, Quiet, Settings, Threads, on_kernel

if TYPE_CHECKING:
    from sojourn.evidence.conformance import Document, Examination, Subject

_FORMATS = ("text", "tap", "junit", "json", "markdown", "html")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(conformance)


def conformance(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|NAME/CASE|DIR]...",
            help="Documents, cases ([b]bbr/5[/b]), or a folder with your own cases. Without arguments, list all "
            "documents.",
            show_default=False,
        ),
    ] = None,
    cc: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A congestion control to test (repeatable).", autocompletion=complete.ccs),
    ] = None,
    quic: Annotated[
        list[str] | None,
        typer.Option(metavar="STACK/CC", help="A QUIC stack with one of its controls (repeatable)."),
    ] = None,
    qdisc: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="A queue, in tc syntax (repeatable).", autocompletion=complete.qdiscs),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Test everything of ours that the document covers, not only its own subject.")
    ] = False,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, tap, junit, json, markdown or html.")
    ] = "text",
    details: Annotated[bool, typer.Option("--details", help="Print every expectation with its predicate.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Store the runs, a figure of each case, and a page."),
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(
            "--law",
            metavar="WORDS",
            help="With [b]marking[/b]: the discipline that the queue claims to be, in tc syntax.",
        ),
    ] = None,
    engine: Engine = "sim",
    kernel: Kernel = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds per case (default: the file's).")] = None,
    threads: Threads = None,
    settings: Settings = None,
    plugins: Plugins = None,
    quiet: Quiet = False,
) -> None:
    """Test a congestion control, QUIC stack or queue against its specification.

    Exits with status 1 if a case fails without a known deviation, or nothing passes. Cases that are not observable, or
    that no run met the precondition of, are listed as such and do not pass.
    """
    from sojourn.cli.screen import out
    from sojourn.errors import UsageError
    from sojourn.evidence.conformance import documents, find
    from sojourn.reporting.conformance import page

    del quiet
    if form not in _FORMATS:
        raise UsageError.unknown("format", form, list(_FORMATS))
    if not names:
        for line in page.listing(documents()):
            out().print(line, soft_wrap=True, markup=False)
        out().print("marking: the marking curve of a queue, by the law of its words: --qdisc 'red ...'", soft_wrap=True)
        return
    engine = on_kernel(engine, kernel)
    if any(name.partition("/")[0] == "marking" for name in names):
        from sojourn.cli.marking import marking

        if settings:
            raise UsageError(
                "--set does not go with marking, which has its own experiments",
                help="a kernel has a name: --engine linux:NAME",
            )
        marking(names, qdisc or [], law, form, engine, seeds, threads, plugins or [], output, details=details)
        return
    if law is not None:
        raise UsageError("--law goes with marking", help="sojourn conformance marking --qdisc WORDS --law WORDS")
    found = [find(name) for name in names]
    asked = [(document, _subjects(document, cc or [], quic or [], qdisc or [], every=every)) for document in found]
    examinations = _examined(
        asked,
        engine=engine,
        seeds=seeds,
        threads=threads,
        settings=settings or [],
        plugins=plugins or [],
        output=output,
    )
    if output is not None:
        _keep(output, examinations)
    _print(examinations, form, details=details)
    if not all(one.is_passed for one in examinations):
        sys.exit(1)


def _subjects(
    document: "Document", cc: Sequence[str], quic: Sequence[str], qdisc: Sequence[str], *, every: bool
) -> list["Subject"]:
    """Return who is put to the test of a document."""
    from sojourn.core import listings
    from sojourn.errors import UsageError
    from sojourn.evidence.conformance import Subject

    if document.kind == "queue" and (cc or quic):
        raise UsageError(f"{document.name} tests queues", help="name one: --qdisc 'dualpi2'")
    if document.kind == "sender" and qdisc:
        raise UsageError(f"{document.name} tests senders", help="name one: --cc NAME or --quic STACK/CC")
    for name in quic:
        if "/" not in name:
            raise UsageError(
                f'"{name}" is not a QUIC stack with a control', help="write noq/bbr3, for example: see `sojourn ccs`"
            )
        stack = name.partition("/")[0]
        if listings.key_of(stack) != "quic":
            raise UsageError(f"{stack} does not report its window, which the cases judge", help="name a QUIC stack")
    named = [Subject(name, document.kind) for name in dict.fromkeys([*cc, *quic, *qdisc])]
    if every:
        named += [one for one in (*document.subjects, *document.also) if one not in named]
    return named or list(document.subjects)


def _examined(
    asked: Sequence[tuple["Document", Sequence["Subject"]]],
    *,
    engine: str,
    seeds: int | None,
    threads: int | None,
    settings: Sequence[str],
    plugins: Sequence[str],
    output: Path | None,
) -> list["Examination"]:
    from sojourn.cli.making import maker
    from sojourn.evidence.conformance import examine

    make = maker(engine, threads, output)
    return [
        examine(document, subjects, make, engine=engine, settings=settings, seeds=seeds, plugins=plugins)
        for document, subjects in asked
    ]


def _keep(output: Path, examinations: Sequence["Examination"]) -> None:
    """Write the figures and the pages next to the runs."""
    from sojourn.core.store.atomic import write_file
    from sojourn.reporting.conformance import page
    from sojourn.reporting.conformance.figure import sheet

    pictures: dict[tuple[str, str], str] = {}
    (output / "figures").mkdir(exist_ok=True)
    for one in examinations:
        for own in one.verdicts:
            drawn = sheet(one.document, own)
            if drawn is None:
                continue
            plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in f"{own.case.name} {own.subject.name}")
            write_file(output / "figures" / f"{plain}.png", drawn.file("png"))
            pictures[own.case.name, own.subject.name] = f"figures/{plain}.png"
    text = page.markdown(examinations, pictures)
    write_file(output / "conformance.md", text.encode())
    write_file(output / "conformance.html", page.html(text).encode())


def _print(examinations: Sequence["Examination"], form: str, *, details: bool) -> None:
    from sojourn.cli.screen import out, print_json
    from sojourn.reporting.conformance import formats, page

    match form:
        case "json":
            print_json(formats.as_json(examinations))
        case "tap":
            sys.stdout.write(formats.tap(examinations))
        case "junit":
            sys.stdout.write(formats.junit(examinations))
        case "markdown":
            sys.stdout.write(page.markdown(examinations, {}))
        case "html":
            sys.stdout.write(page.html(page.markdown(examinations, {})))
        case _:
            for line in page.lines(examinations, details=details):
                out().print(line, soft_wrap=True, markup=False)
