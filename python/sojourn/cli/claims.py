"""``sojourn claims``: whether our runs reproduce the claims of published reports."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sojourn.evidence.claims import ClaimVerdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(claims)


def claims(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.")],
    ids: Annotated[
        list[str] | None,
        typer.Option("--claim", metavar="ID", help="Only this claim (repeatable; default: all)."),
    ] = None,
    run_only: Annotated[bool, typer.Option("--run", help="Omit claims with missing runs.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Include claims on scenarios that the folder lacks.")] = False,
    details: Annotated[bool, typer.Option("--details", help="Print every part and cell.")] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="The claims that must be reproduced (default: the project's list)."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the table with the reasons to this file, as Markdown.")
    ] = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="Count runs of this engine.")] = "sim",
    seeds: Annotated[
        int,
        typer.Option(help="Seeds per cell at the first look, fixed in advance; others do not count."),
    ] = 10,
    threads: Annotated[int | None, typer.Option(min=1, help="Runs to read in parallel.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the runs of a folder with every published claim.

    Exits with status 1 if a claim of the baseline is no longer reproduced, or has become inconclusive. Claims
    with missing runs are listed as 'not run' and do not fail.

    docs/howto/which-check.md compares checks, compare, claims, validate and parity.
    """
    from sojourn.cli.screen import err, out, print_json, say
    from sojourn.core.store.atomic import write_file
    from sojourn.errors import UsageError
    from sojourn.evidence import claims as published
    from sojourn.evidence.claims import page
    from sojourn.views.results import results

    wanted = _wanted(ids or [])
    expected = published.baseline() if baseline is None else published.read_baseline(baseline)
    runs = results(folder)
    with err().status("reading") as status:
        verdicts = published.evaluate(
            wanted,
            runs,
            engine=engine,
            seeds=seeds,
            threads=threads,
            watcher=lambda done, of: status.update(f"{done} of {of} runs read"),
        )
    if run_only:
        verdicts = [own for own in verdicts if own.verdict is not published.Verdict.NOT_RUN]
    if as_json:
        print_json([_json(verdict) for verdict in verdicts])
    else:
        here = {run.scenario.experiment for run in runs}
        shown = [own for own in verdicts if every or ids or not here.isdisjoint(own.claim.experiments)]
        _show(shown, details=details)
        for line in page.summary(shown):
            out().print(line, soft_wrap=True, markup=False)
        if len(shown) < len(verdicts):
            others = len(verdicts) - len(shown)
            out().print(f"{others} claims on other scenarios: --all", soft_wrap=True, markup=False)
    if markdown is not None:
        try:
            write_file(markdown, page.markdown(verdicts).encode())
        except OSError as error:
            raise UsageError(f"cannot write {markdown}: {error.strerror}") from error
    lost = page.regressions(verdicts, expected)
    if lost:
        say(f"no longer reproduced, and in the baseline: {', '.join(lost)}")
        sys.exit(1)


def _wanted(ids: Sequence[str]) -> list[Any]:
    from sojourn.errors import UsageError
    from sojourn.evidence.claims import registry

    everything = registry()
    known = [claim.id for claim in everything]
    for name in ids:
        if name not in known:
            raise UsageError.unknown("claim", name, known)
    return [claim for claim in everything if not ids or claim.id in ids]


def _show(verdicts: Sequence["ClaimVerdict"], *, details: bool) -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.claims import Verdict, page

    colours = {
        Verdict.REPRODUCED: "green",
        Verdict.NOT_REPRODUCED: "red",
        Verdict.INCONCLUSIVE: "yellow",
        Verdict.NOT_RUN: "dim",
    }
    rows: list[list[str | Text]] = []
    for own in verdicts:
        verdict = Text(own.verdict, style=colours[own.verdict])
        rows.append([own.claim.id, verdict, own.claim.finding, own.claim.published, page.ours(own), page.runs(own)])
    heads = ["claim", "verdict", "finding", "published", "our result, in the deciding cell", "runs"]
    print_table(heads, rows, prose=(0, 2, 3, 4, 5))
    for own in verdicts if details else ():
        for line in page.details(own):
            out().print(line, soft_wrap=True, markup=False)


def _json(own: "ClaimVerdict") -> dict[str, Any]:
    from sojourn.evidence.claims import page

    telling = own.telling
    cell = telling.telling
    bound = telling.part.bound
    return {
        "id": own.claim.id,
        "verdict": own.verdict.value,
        "published": own.claim.published,
        "ours": None if cell is None else cell.ours / bound.scale,
        "low": None if cell is None else cell.low / bound.scale,
        "high": None if cell is None else cell.high / bound.scale,
        "unit": bound.unit,
        "bound": bound.text,
        "what": telling.part.what,
        "at": "" if cell is None else cell.title,
        "cause": own.cause.value,
        "finding": own.claim.finding,
        "source": f"{own.claim.source}: {own.claim.where}",
        "remark": own.claim.remark,
        "witness": own.claim.witness,
        "witness_data": own.claim.witness_data,
        "missing": dataclasses.asdict(own.claim.missing) if own.claim.missing else None,
        "seeds": own.seeds,
        "advice": own.advice,
        "runs": [run.key.name for run in own.runs],
        "parts": [page.part_json(part) for part in own.parts],
    }
