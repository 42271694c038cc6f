"""``sojourn evaluate``: tests a control, a queue discipline or a call against a document's criteria."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sojourn.cli import complete

if TYPE_CHECKING:
    from sojourn.evidence.evaluation import Campaign, Document, JudgedRow, Values
    from sojourn.evidence.evaluation.document import Kind


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    ccs: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="CC",
            help="A congestion control to evaluate: a name, a QUIC stack's as noq/bbr3, or python:FILE:CLASS "
            "(repeatable).",
            autocompletion=complete.ccs,
        ),
    ] = None,
    qdiscs: Annotated[
        list[str] | None,
        typer.Option(
            "--qdisc",
            metavar="WORDS",
            help="A queue discipline to evaluate, in tc syntax, such as 'codel target 10ms', or python:FILE:CLASS "
            "(repeatable).",
            autocompletion=complete.qdiscs,
        ),
    ] = None,
    media: Annotated[
        list[str] | None,
        typer.Option(
            "--media",
            metavar="WORDS",
            help="A call's control to evaluate, with its options as after 'media control': 'scream ecn classic' "
            "(repeatable).",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--document",
            metavar="NAME",
            help="The document (default: rfc-9743 for a control, rfc-7928 for a queue discipline, rfc-8867-media for a "
            "call's control).",
            autocompletion=complete.evaluations,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Store the runs, and a page for each candidate."),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="The engine.")] = "sim",
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds per cell (default: the suites').")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Parallel runs (default: the number of cores).")] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Repeat the reference runs instead of using the build's stored results."),
    ] = False,
    plugins: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="FILE",
            help="A shared library with your own control or discipline; it is native code.",
        ),
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Print every value in every cell.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Evaluate a congestion control by RFC 9743, a queue by RFC 7928 or a call by RFC 8867, criterion by criterion.

    The documents set no thresholds. Most rules compare with Reno and CUBIC, or with tail drop, in the same cells, and
    each rule names the source of its number. The suites that decide are ordinary ones, to run, read and change:
    sojourn suites rfc-9743, sojourn suites rfc-7928. --document selects other lists.

    Exits with status 1 if a criterion fails.
    """
    from sojourn.cli.screen import out, print_json, say
    from sojourn.evidence.evaluation import Campaign, Subject, judge, page

    document, words = _asked({"cc": ccs or [], "qdisc": qdiscs or [], "media": media or []}, against)
    subjects = {word: Subject(word, document.of) for word in dict.fromkeys(words)}
    incumbents = {name: Subject(document.references[name], document.of) for name in document.incumbents}
    own = plugins or ()
    campaigns = {
        subject.word: Campaign.plan(document, subject, engine=engine, seeds=seeds, plugins=own)
        for subject in [*subjects.values(), *incumbents.values()]
    }
    stored = {} if fresh or engine != "sim" or seeds is not None else _stored(document)
    if not (stored or fresh) and engine == "sim" and seeds is None:
        say("the sources changed since the stored reference results: running the references again")
    known = {document.references[name]: values for name, values in stored.items() if name in document.incumbents}
    measured = _measured(campaigns, [*subjects], known, threads=threads, folder=output)
    against_these = [measured[subject.word] for subject in incumbents.values()]
    known_rows = {name: judge(document, values, against_these, {}) for name, values in stored.items()}
    found = {word: judge(document, measured[word], against_these, campaigns[word].refused) for word in subjects}
    if output is not None:
        _keep(output, {word: page.markdown(document, subjects[word], rows, known_rows) for word, rows in found.items()})
    if as_json:
        print_json({"document": document.name, "evaluated": {word: page.json(rows) for word, rows in found.items()}})
    else:
        for word, rows in found.items():
            _show(document, word, rows, known_rows)
            if details:
                out().print(page.markdown(document, subjects[word], rows, {}), soft_wrap=True, markup=False)
    if any(row.verdict == "fail" for rows in found.values() for row in rows):
        sys.exit(1)


def _asked(given: "Mapping[Kind, Sequence[str]]", against: str | None) -> "tuple[Document, Sequence[str]]":
    """Return the document, and the words of its subjects."""
    from sojourn.errors import UsageError
    from sojourn.evidence.evaluation import read

    named = [kind for kind, words in given.items() if words]
    if len(named) > 1:
        several = " and ".join(_A[kind] for kind in named)
        raise UsageError(f"{several} need different documents", help="choose one of them")
    document = read(against or (_DOCUMENT[named[0]] if named else "rfc-9743"))
    words = given[document.of]
    if not words:
        needs = f"{_A[document.of]}: {_EXAMPLE[document.of]}"
        if named:
            raise UsageError(f"{document.name} does not ask of {_A[named[0]]}", help=f"name {needs}")
        raise UsageError("there is nothing to evaluate", help=f"name {needs}")
    return document, words


_A: "Final[Mapping[Kind, str]]" = {
    "cc": "a congestion control",
    "qdisc": "a queue discipline",
    "media": "a call's control",
}
_EXAMPLE: "Final[Mapping[Kind, str]]" = {"cc": "--cc bbr3", "qdisc": "--qdisc fq_codel", "media": "--media scream"}
_DOCUMENT: "Final[Mapping[Kind, str]]" = {"cc": "rfc-9743", "qdisc": "rfc-7928", "media": "rfc-8867-media"}


def _measured(
    campaigns: "Mapping[str, Campaign]",
    words: Sequence[str],
    stored: "Mapping[str, Values]",
    *,
    threads: int | None,
    folder: Path | None,
) -> "dict[str, Values]":
    from sojourn.cli.progress import watching
    from sojourn.cli.screen import say

    measured = {}
    for word, campaign in campaigns.items():
        if word in stored and word not in words:
            measured[word] = stored[word]
        else:
            say(f"{word}: {campaign.runs} runs, {campaign.seconds:g} simulated seconds")
            measured[word] = campaign.measure(watching, threads=threads, folder=folder)
    return measured


def _keep(folder: Path, pages: Mapping[str, str]) -> None:
    from sojourn.cli.screen import say
    from sojourn.core.store.atomic import write_file
    from sojourn.errors import UsageError

    for word, text in pages.items():
        file = folder / f"evaluation-{re.sub(r'[^A-Za-z0-9.-]', '-', word)}.md"
        try:
            write_file(file, text.encode())
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from error
        say(f"{word}: {file}")


def _stored(document: "Document") -> "dict[str, Values]":
    from sojourn.evidence.evaluation import reference

    found = {name: reference.values(document, name) for name in document.references}
    return {word: values for word, values in found.items() if values is not None}


def _show(document: "Document", word: str, rows: "list[JudgedRow]", known_rows: "dict[str, list[JudgedRow]]") -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.evaluation import Verdict, page

    colours = {Verdict.FAIL: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.PASS: "green"}
    out().print(f"{word}, by {document.title}", soft_wrap=True, markup=False)
    lines: list[list[str | Text]] = []
    for row in rows:
        verdict = "not run" if row.refused else str(row.verdict)
        style = "dim" if row.refused else colours.get(row.verdict, "")
        lines.append([row.row.section, row.row.criterion, Text(verdict, style=style), page.telling(row)])
    print_table(["§", "criterion", "verdict", "what decides"], lines, prose=(1, 3))
    if known_rows:
        heads = ["criterion", *known_rows]
        marks = [
            [row.row.id, *(page.MARKS[own[index].verdict] for own in known_rows.values())]
            for index, row in enumerate(rows)
        ]
        out().print("Reference results shipped with this build:", soft_wrap=True, markup=False)
        print_table(heads, marks)
        for name, note in document.notes.items():
            if name in known_rows:
                out().print(f"{name}: {note}", soft_wrap=True, markup=False)
    for section, why in document.not_covered.items():
        out().print(f"not covered: §{section}: {why}", soft_wrap=True, markup=False)
