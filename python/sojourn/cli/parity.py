"""``sojourn parity``: the same experiments on two engines, and where they differ."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import complete
from sojourn.cli.options import AsJson, Only, Quiet, Verbose
from sojourn.errors import UsageError

if TYPE_CHECKING:
    from sojourn.core.run import Run
    from sojourn.evidence.parity import Divided, Line, Pair
    from sojourn.evidence.parity.columns import Columns
    from sojourn.runner import Campaign


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(parity)


def parity(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="SUITE|FILE...",
            help="Suites or experiment files: [b]parity[/b].",
            autocompletion=complete.runnable,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Directory for both engines' runs, in one subdirectory per engine and version.",
        ),
    ],
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds per cell (default: the file's).")] = None,
    only: Only = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only N cells, sampled evenly with --sample-seed.")
    ] = None,
    sample_seed: Annotated[
        int, typer.Option(metavar="S", help="Seed of the sample: the same number selects the same cells.")
    ] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Parallel runs (default: the number of cores).")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change a setting (repeatable).")
    ] = None,
    engines: Annotated[
        str,
        typer.Option(
            metavar="A,B[,C]",
            help="The engines; differences are A minus B. With your own kernel: [b]sim,linux:NAME[/b], or two "
            "kernels: [b]linux,linux:NAME[/b]. Three engines get one table with a column for each.",
        ),
    ] = "sim,linux",
    parts: Annotated[
        bool,
        typer.Option(
            "--parts",
            help="Run on the second engine alone, with queue and hosts each by the kernel or by Sojourn, and assign "
            "each difference to the queue or to the senders: for [b]parity/queues-by[/b].",
        ),
    ] = False,
    cells: Annotated[bool, typer.Option(help="Print every cell that differs.")] = True,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the tables to this file, as Markdown.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run experiments on several engines (default: simulator and Linux), and show the differences.

    The page DIR/parity.html has both engines' runs of every cell on the same axes. --parts and three engines have no
    page.

    Exits with status 0 if two engines are equivalent in nine of ten of the cells where shares, sums and mean queue
    delays are decided, and half of the cells are; three engines if shares (0.05) and mean queue delays (10 % or
    0.3 ms) agree in nine of ten cells. Otherwise exits with 1.

    docs/howto/which-check.md compares checks, compare, claims, validate and parity.
    """
    from sojourn import runner
    from sojourn.cli.progress import interruptible, watching_to_the_end
    from sojourn.cli.run import run_keys
    from sojourn.evidence import parity

    del quiet, verbose
    campaigns: list[Campaign] = []
    names = parity.engine_names(engines)
    if parts and len(names) > 2:  # noqa: PLR2004 - more than a pair
        raise UsageError(
            f'--parts takes two engines, and "{engines}" names {len(names)}', help="write --engines sim,linux"
        )
    for engine in names[1:2] if parts else names:
        keys = run_keys(what, engine=engine, seeds=seeds, settings=settings or [], only=only, yes=False)
        campaign = runner.Campaign(
            keys=keys if sample is None else parity.sample(keys, sample, sample_seed),
            engine=engine,
            folder=_place(output, engine),
            threads=threads or runner.cores(),
            command=shlex.join(["sojourn", *sys.argv[1:]]),
        )
        campaign.refuse()
        campaign.refuse_what_cannot_fit()
        campaigns.append(campaign)
    runs = []
    for campaign in campaigns:
        with interruptible(campaign):
            runs.append(campaign.run(watching_to_the_end(f"{campaign.engine}: ")))
    _say_what_does_not_count(names[1:2] if parts else names, runs)
    shown = _Shown(output, markdown, as_json=as_json, cells=cells, threads=threads or runner.cores())
    if parts:
        holds = _report_parts(runs[0], shown)
    elif len(names) > 2:  # noqa: PLR2004 - more than a pair
        holds = _report_columns(names, runs, shown)
    else:
        holds = _report_pair(names, runs, shown)
    if not holds:
        raise typer.Exit(1)


def _say_what_does_not_count(names: Sequence[str], runs: Sequence[Sequence["Run"]]) -> None:
    from sojourn.cli.screen import say

    for name, own in zip(names, runs, strict=True):
        if lost := sum(not run.valid for run in own):
            say(f"warning: runs on {name} that are not valid and do not count: {lost} of {len(own)} (docs/live.md)")


@dataclass(frozen=True, slots=True)
class _Shown:
    """Where the answer goes, and how much of it."""

    output: Path
    markdown: Path | None
    as_json: bool
    cells: bool
    threads: int

    def write(self, markdown: str) -> None:
        from sojourn.core.store.atomic import write_file

        if self.markdown is not None:
            write_file(self.markdown, markdown.encode())


def _report_pair(names: Sequence[str], runs: Sequence[Sequence["Run"]], shown: _Shown) -> bool:
    from sojourn.cli.screen import print_json, say
    from sojourn.evidence import parity
    from sojourn.reporting.report import parity as pictures

    both = parity.both(*runs)
    pairs = parity.compare(both, parity.Engines(*names))
    lines = parity.summary(pairs)
    shown.write(parity.markdown(pairs, lines))
    page = shown.output / "parity.html"
    pictures.write(page, both, pairs, processes=shown.threads)
    say(f"both engines' runs, overlaid: {page}")
    if shown.as_json:
        print_json(parity.as_json(pairs, lines))
    else:
        _show(pairs, lines, cells=shown.cells)
    return parity.holds(lines)


def _report_columns(names: Sequence[str], runs: Sequence[Sequence["Run"]], shown: _Shown) -> bool:
    from sojourn.cli.screen import print_json
    from sojourn.evidence import parity

    found = parity.columns(names, runs)
    shown.write(parity.columns_markdown(found))
    if shown.as_json:
        print_json(parity.columns_json(found))
    else:
        _show_columns(found, cells=shown.cells)
    return found.holds


def _report_parts(runs: Sequence["Run"], shown: _Shown) -> bool:
    from sojourn.cli.screen import print_json
    from sojourn.evidence import parity

    divided = parity.divide(runs)
    shown.write(parity.divided_markdown(divided))
    if shown.as_json:
        print_json(parity.divided_json(divided))
    else:
        _show_parts(divided, cells=shown.cells)
    return all(parity.holds(lines) for lines in parity.lines_of(divided).values())


def _place(output: Path, engine: str) -> Path:
    """Return where an engine's runs are: a version of its code has a folder of its own, so that nothing is lost.

    A new simulator leaves the runs on Linux as they are, and these take the longest.
    """
    from sojourn import _core
    from sojourn.core.store import Folder

    name = engine.replace(":", "-")
    place, version = output / name, _core.version(engine)
    if (place / "manifest.json").exists() and Folder.open(place).version != version:
        return output / f"{name}-{version.partition('+')[2]}"
    return place


def _show(pairs: Sequence["Pair"], lines: Sequence["Line"], *, cells: bool) -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.parity import DECIDED, ENOUGH, HEADINGS, HEADLINES, cells_of, holds

    rows = [list(cells_of(line)) for line in lines if line.by == "all" or line.metric in HEADLINES]
    heads = [heading.replace(" ", "\n") for heading in HEADINGS]
    print_table(heads, rows, right=range(3, len(HEADINGS)), prose=(1,))
    if cells:
        _print_differing(pairs)
    said = "agree" if holds(lines) else "do not agree"
    out().print(
        Text(
            f"the engines {said}: asked is that {', '.join(HEADLINES)} are decided in {DECIDED:.0%} of the cells, "
            f"and equivalent in {ENOUGH:.0%} of those"
        )
    )


def _show_columns(found: "Columns", *, cells: bool) -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.parity import PAIR_HEADS, Agreement, column_heads, column_rows, pair_rows

    print_table(list(PAIR_HEADS), pair_rows(found), right=range(2, 5), prose=(0,))
    if cells:
        print_table(column_heads(found.names), column_rows(found), prose=(0, 1))
    for key in dict.fromkeys(row.metric.key for row in found.rows):
        agree, differ = (found.count(key, which) for which in (Agreement.AGREE, Agreement.DIFFER))
        out().print(Text(f"{key}: all engines agree in {agree} of {found.count(key)} cells and differ in {differ}"))
    if found.left_out:
        out().print(Text(f"cells left out, without a valid run on one of the engines: {found.left_out}"))


def _show_parts(divided: Sequence["Divided"], *, cells: bool) -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.parity import DIVIDED, HEADINGS, HEADLINES, cells_of, divided_rows, lines_of

    heads = [heading.replace(" ", "\n") for heading in HEADINGS]
    for part, lines in lines_of(divided).items():
        rows = [list(cells_of(line)) for line in lines if line.by == "all" or line.metric in HEADLINES]
        out().print(Text(f"differences by the {part}" if part != "whole" else "both together", style="bold"))
        print_table(heads, rows, right=range(3, len(HEADINGS)), prose=(1,))
    if cells:
        out().print(Text("headline metrics, and what a part changes beyond chance", style="bold"))
        print_table(list(DIVIDED), [list(row) for row in divided_rows(divided, headlines=True)], prose=(0, 1))


def _print_differing(pairs: Sequence["Pair"]) -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.parity import USUAL, Verdict, named

    first, second = (pairs[0].engines if pairs else USUAL).heads
    rows = []
    for pair in pairs:
        for c in pair.comparisons:
            if c.verdict is not Verdict.DIFFERENT:
                continue
            percent = "" if c.metric.several or c.relative != c.relative else f" ({100 * c.relative:+.0f} %)"
            rows.append(
                [
                    pair.title,
                    named(c),
                    f"{c.first.mean:.3f}",
                    f"{c.first.low:.3f}–{c.first.high:.3f}",
                    f"{c.second.mean:.3f}",
                    f"{c.second.low:.3f}–{c.second.high:.3f}",
                    f"{c.difference:+.3f}{percent}",
                ]
            )
    out().print(Text("what differs", style="bold"))
    heads = ["cell", "metric", first, f"{first},\nrange", second, f"{second},\nrange", "difference"]
    print_table(heads, rows, right=range(2, 7), prose=(0, 1))
