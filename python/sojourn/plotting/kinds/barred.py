"""Metrics of cells as bars: the common part of the kinds that draw bars."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from sojourn.core.cells import Cell, ordered
from sojourn.core.measured import spreads
from sojourn.core.select import axes_of, labelled
from sojourn.core.spread import Spread
from sojourn.plotting.draw.bars import Bar
from sojourn.plotting.kind import Option
from sojourn.plotting.kinds.grid import Grid

WINDOW: Final = Option(
    "window", "where to measure, in the words of metrics (over last 20s, during NAME); the steady window if empty"
)
"""Of every kind that measures in a window."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A bar that is wanted."""

    series: str
    expression: str
    note: str = ""
    peak: str = ""
    """Another metric, drawn as a mark above the bar; empty for none."""
    scale: float = 1.0
    """The factor of the metrics."""


def barred(
    cells: Sequence[Cell], asked: Callable[[Cell], Sequence[Asked]], grid: Grid, names: tuple[str, str]
) -> tuple[list[Bar], pl.DataFrame]:
    """Measure the bars of each cell; return them with the table of their numbers.

    Args:
        cells: the cells to measure.
        asked: the bars of a cell.
        grid: where its bars go.
        names: of the two columns, units included; the second is for the marks, and left out if it is empty.
    """
    bars: list[Bar] = []
    rows: list[dict[str, object]] = []
    for cell in cells:
        wanted = asked(cell)
        expressions = [expression for bar in wanted for expression in (bar.expression, bar.peak) if expression]
        found = iter(spreads(cell, expressions))
        row, column, group = grid.place(cell)
        for bar in wanted:
            spread = next(found).scaled(bar.scale)
            peak = next(found).scaled(bar.scale) if bar.peak else Spread.of([])
            bars.append(Bar(row, column, group, bar.series, spread.mean, spread.low, spread.high, bar.note, peak.mean))
            own = {"of": bar.series, **spread.columns(names[0]), **(peak.columns(names[1]) if names[1] else {})}
            rows.append(labelled(axes_of(cell), own))
    return bars, pl.DataFrame(rows, infer_schema_length=None)


def by_series(bars: Sequence[Bar]) -> list[Bar]:
    """Return the bars in the order of their series, which each group then has too; empty ones first."""
    order = ordered(bar.series for bar in bars)
    return sorted(bars, key=lambda bar: order.index(bar.series))


def ranges_said(bars: Sequence[Bar]) -> str:
    """Return words about the thin lines, where there are any."""
    return "; the thin lines span the seeds." if any(bar.high > bar.low for bar in bars) else "."


def nothing(bars: Sequence[Bar]) -> bool:
    """Whether no bar has a value."""
    return all(math.isnan(bar.value) for bar in bars)
