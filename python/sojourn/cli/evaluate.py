"""``sojourn evaluate``: what a document asks of a congestion control, and whether it does it."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import complete

if TYPE_CHECKING:
    from sojourn.evidence.evaluation import Campaign, Document, JudgedRow, Values


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    words: Annotated[
        list[str] | None,
        typer.Option(
            "--cc",
            metavar="CC",
            help="What is evaluated; may be repeated. A congestion control, a QUIC stack's as noq/bbr3, or "
            "python:FILE:CLASS.",
            autocompletion=complete.ccs,
        ),
    ] = None,
    against: Annotated[str, typer.Option("--document", metavar="NAME", help="Which document asks.")] = "rfc-9743",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Keep the runs there, and a page for each that is evaluated."
        ),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="What runs it.")] = "sim",
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of each cell; the suites' own unless given.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Runs at a time; a core each unless given.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run Reno and CUBIC anew, too, instead of taking the build's own figures.")
    ] = False,
    plugins: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin", metavar="FILE", help="A shared library with a control of one's own; it is native code."
        ),
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Print every figure in every cell.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Evaluate a congestion control as RFC 9743 asks: a row a criterion, with a verdict.

    The document sets no thresholds. Most rules compare with what Reno and CUBIC do in the same place; whose number a
    rule has stands beside it. What decides is a suite that anyone can run, read and change: sojourn suites rfc-9743.

    Exits with status 1 if a criterion fails.
    """
    from sojourn.cli.screen import out, print_json
    from sojourn.errors import UsageError
    from sojourn.evidence.evaluation import Campaign, Subject, judge, page, read

    document = read(against)
    if not words:
        raise UsageError("nothing is there to be evaluated", help="name a congestion control: --cc bbr3")
    own = plugins or ()
    campaigns = {
        word: Campaign.plan(document, Subject(word), engine=engine, seeds=seeds, plugins=own)
        for word in dict.fromkeys([*words, *document.beside])
    }
    stored = {} if fresh or engine != "sim" or seeds is not None else _stored(document)
    measured = _measured(campaigns, words, stored, threads=threads, folder=output)
    incumbents = [measured[word] for word in document.beside]
    beside = {word: judge(document, values, incumbents, {}) for word, values in stored.items()}
    found = {
        word: judge(document, measured[word], incumbents, campaigns[word].refused) for word in dict.fromkeys(words)
    }
    if output is not None:
        _keep(output, {word: page.markdown(document, word, rows, beside) for word, rows in found.items()})
    if as_json:
        print_json({"document": document.name, "evaluated": {word: page.json(rows) for word, rows in found.items()}})
    else:
        for word, rows in found.items():
            _show(document, word, rows, beside)
            if details:
                out().print(page.markdown(document, word, rows, {}), soft_wrap=True, markup=False)
    if any(row.verdict == "fail" for rows in found.values() for row in rows):
        sys.exit(1)


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
            raise UsageError(f"{file} cannot be written: {error.strerror}") from error
        say(f"{word}: {file}")


def _stored(document: "Document") -> "dict[str, Values]":
    from sojourn.evidence.evaluation import reference

    found = {word: reference.values(document, word) for word in reference.CONTROLS}
    return {word: values for word, values in found.items() if values is not None}


def _show(document: "Document", word: str, rows: "list[JudgedRow]", beside: "dict[str, list[JudgedRow]]") -> None:
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
    if beside:
        heads = ["criterion", *beside]
        marks = [
            [row.row.id, *(page.MARKS[own[index].verdict] for own in beside.values())] for index, row in enumerate(rows)
        ]
        out().print("The same of others, as it comes with this build:", soft_wrap=True, markup=False)
        print_table(heads, marks)
    for section, why in document.not_covered.items():
        out().print(f"not covered: §{section}: {why}", soft_wrap=True, markup=False)
