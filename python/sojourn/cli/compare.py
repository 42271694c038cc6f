"""``sojourn compare``: which metrics of two result sets differ beyond the ranges of their seeds."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sojourn.cli import complete

Better = Literal["more", "less"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.core.spread import Spread
    from sojourn.evidence.by_seed import Difference
    from sojourn.evidence.comparison import Comparison, Line


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Results folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The results folder to compare with.")],
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--metric",
            metavar="METRIC",
            help="A metric instead of the usual ones: [b]'p99(srtt, {flow})'[/b] (repeatable).",
            autocompletion=complete.metrics,
        ),
    ] = None,
    cell: Annotated[str, typer.Option(metavar="PATTERN", help="Only these runs of both.")] = "",
    tolerance: Annotated[
        float, typer.Option(min=0, metavar="PERCENT", help="Ignore gaps between ranges up to this.")
    ] = 0.0,
    harm: Annotated[
        Better | None,
        typer.Option(
            metavar="BETTER",
            help="Also print the harm that B's rivals do to each metric, relative to A without them: "
            "0 is none, 1 is all. BETTER is [b]more[/b] or [b]less[/b].",
        ),
    ] = None,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired",
            help="Compare runs of the same seed: the median difference with a distribution-free 95 % interval. "
            "Needs at least six seeds, and detects smaller differences.",
        ),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Include values that do not differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two result sets cell by cell: means, ranges over the seeds, and differences.

    Exits with status 1 if anything differs beyond the ranges. With one seed each, any inequality is a difference. With
    --paired a value differs if the interval of the median difference excludes zero.

    docs/howto/which-check.md compares checks, compare, claims, validate and parity.
    """
    from sojourn.cli.screen import print_json
    from sojourn.evidence.comparison import compare as held
    from sojourn.plotting import figures
    from sojourn.views.results import results
    from sojourn.views.summary_table import USUAL, Asked

    asked = [Asked(text, text) for text in metrics or []] or USUAL
    one, other = (figures.select(results(folder), cell) for folder in (first, second))
    found = held(one, other, asked, tolerance / 100, by_seed=paired)
    if as_json:
        print_json(_as_json(found, harm))
    else:
        _print(found, found.lines if every else found.differing, harm)
    sys.exit(1 if found.differing else 0)


def _print(found: "Comparison", lines: "Sequence[Line]", better: "Better | None") -> None:
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out
    from sojourn.evidence.by_seed import FEWEST
    from sojourn.views.summary_table import said

    if lines:
        rows = [
            [
                line.cell,
                f"{line.metric} of {line.of}" if line.of else line.metric,
                said(line.first),
                said(line.second),
                f"{100 * line.change:+.1f} %" if line.change == line.change else "–",
                *([said(line.difference.spread())] if line.difference else []),
                *([_harm_said(line, better)] if better else []),
                "differs" if line.differs else "",
            ]
            for line in lines
        ]
        heads = ["cell", "metric", "A", "B", "change"]
        heads += ["B less A, median"] if lines[0].difference else []
        heads += ["harm"] if better else []
        right = tuple(place for place, head in enumerate(heads) if head in ("change", "harm"))
        prose = tuple(place for place in range(len(heads)) if place not in right)
        print_table([*heads, "verdict"], rows, right=right, prose=prose)
    cells = len({line.cell for line in found.lines})
    console = out()
    paired = [line.difference for line in found.lines if line.difference]
    by = "seed by seed" if paired else "beyond the ranges of the seeds"
    console.print(f"{len(found.differing)} of {len(found.lines)} values in {cells} cells differ {by}", soft_wrap=True)
    if paired:
        few = [difference for difference in paired if difference.seeds < FEWEST]
        if few:
            least = min(difference.seeds for difference in few)
            console.print(
                f"{len(few)} have too few common seeds ({least} or more; an interval needs {FEWEST})",
                soft_wrap=True,
            )
        tested = len(paired) - len(few)
        if tested:
            console.print(
                f"95 % intervals: of {tested} equal values, {tested / 20:.0f} would differ by chance",
                soft_wrap=True,
            )
    for name, only in (("A", found.only_first), ("B", found.only_second)):
        if only:
            shown = ", ".join(only[:5]) + (f" and {len(only) - 5} more" if len(only) > 5 else "")  # noqa: PLR2004
            console.print(f"only in {name}: {shown}", soft_wrap=True, markup=False)


def _harm_said(line: "Line", better: "Better") -> str:
    harm = line.harm(better)
    return "–" if math.isnan(harm) else f"{harm:.3f}"


def _difference(of: "Difference") -> dict[str, Any]:
    return {"median": of.median, "low": of.low, "high": of.high, "seeds": of.seeds}


def _as_json(found: "Comparison", better: "Better | None") -> dict[str, Any]:
    def spread(of: "Spread") -> dict[str, Any]:
        return {"mean": of.mean, "low": of.low, "high": of.high, "seeds": of.seeds}

    return {
        "compared": len(found.lines),
        "differ": len(found.differing),
        "only_in_a": list(found.only_first),
        "only_in_b": list(found.only_second),
        "values": [
            {
                "cell": line.cell,
                "metric": line.metric,
                "of": line.of,
                "a": spread(line.first),
                "b": spread(line.second),
                "change": line.change,
                **({"difference": _difference(line.difference)} if line.difference else {}),
                **({"harm": line.harm(better)} if better else {}),
                "differs": line.differs,
            }
            for line in found.lines
        ],
    }
