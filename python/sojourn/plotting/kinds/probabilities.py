"""Which part of each kind of traffic is dropped, and which is marked.

The drop probabilities of the overload results.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.measured import mean_said, parties
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled
from sojourn.core.spread import Spread
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.barred import WINDOW, ranges_said
from sojourn.plotting.kinds.grid import GRID, Grid
from sojourn.views.window import window_said

_FLOOR: Final = 0.001
"""Per cent: where the logarithmic axis begins."""


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    grid = Grid.of(cells, options)
    log = options["log"] == "yes"
    bars, rows = [], []
    for cell in cells:
        row, column, group = grid.place(cell)
        for name, dropped, marked in _fractions(cell, options["window"]):
            bars.append(Bar(row, column, group, name, dropped.mean, dropped.low, dropped.high, peak=marked.mean))
            own = {"of": name, **dropped.columns("dropped_percent"), **marked.columns("marked_percent")}
            rows.append(labelled(axes_of(cell), own))
    chart = BarChart(
        bars,
        "Dropped (bars),\nmarked (ticks) (%)",
        f"drop and mark probabilities by {grid.x}",
        grid.below,
        logarithmic=log,
        values=False,
        low=_FLOOR if log else None,
        high=100,
        peak="marked",
    )
    caption = (
        "Part of each kind of traffic that was dropped (bars) and marked (ticks), "
        f"{window_said(cells, options['window'])}: {mean_said(cells)}; of a group the mean of its flows"
        f"{ranges_said(bars)}"
    )
    return Drawn(Sheet([chart.part()]), pl.DataFrame(rows, infer_schema_length=None), caption)


def _fractions(cell: Cell, window: str) -> list[tuple[str, Spread, Spread]]:
    """Return each party's drops and marks in per cent; of a group the mean of its flows."""
    found = []
    for party in sorted(parties(cell.scenario), key=lambda p: p.sender != "udp"):
        flows = [f["name"] for f in cell.scenario.loads if party.name in {f.get("group"), f["name"]}]
        spreads = []
        for metric in ("loss_rate", "ce_fraction"):
            by_run = [run.measure([f"{metric}({flow}) {window}".rstrip() for flow in flows]) for run in cell.runs]
            spreads.append(Spread.of([Spread.of(values).mean for values in by_run]).scaled(100))
        found.append((party.name, spreads[0], spreads[1]))
    return found


KIND = Kind(
    "probabilities",
    "Drop and mark probabilities of each kind of traffic, for each load and label.",
    "Overload results, figure 8.",
    _make,
    (Option("log", "whether the axis is logarithmic", "no", ("no", "yes")), WINDOW, *GRID),
)
"""The kind."""
