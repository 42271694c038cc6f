"""Who gets the link under overload: stacked shares of what arrived, for each load; the unresponsive traffic lowest.

The rate shares of the overload results, and their zoom at 99 to 100 %.
"""

import math
from collections.abc import Sequence

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.measured import Party, mean_said, parties
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.barred import WINDOW, ranges_said
from sojourn.plotting.kinds.grid import GRID, Grid
from sojourn.views.window import window_said


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    grid = Grid.of(cells, options)
    zoom = options.number("zoom") or 0.0
    if not 0 <= zoom < 100:  # noqa: PLR2004 - per cent
        raise UsageError("zoom of shares is a percentage from 0 to below 100")
    bars, rows = [], []
    for cell in cells:
        place = grid.place(cell)
        for party, spread in _shares(cell, options["window"]):
            bars.append(Bar(*place, party.name, spread.mean, spread.low, spread.high))
            rows.append(labelled(axes_of(cell), {"of": party.name, **spread.columns("share_percent")}))
    chart = BarChart(
        bars, "Share of rate (%)", f"rate shares by {grid.x}", grid.below, stacked=True, low=zoom, high=100
    )
    caption = (
        "Share of each kind of traffic in all payload that arrived, "
        f"{window_said(cells, options['window'])}: {mean_said(cells)}{ranges_said(bars).rstrip('.')}"
        + (f"; the axis begins at {zoom:g} %." if zoom else ".")
    )
    return Drawn(Sheet([chart.part()]), pl.DataFrame(rows, infer_schema_length=None), caption)


def _shares(cell: Cell, window: str) -> list[tuple[Party, Spread]]:
    """Return each party's share in per cent, the unresponsive first."""
    own = sorted(parties(cell.scenario), key=lambda party: party.sender != "udp")
    by_run = []
    for run in cell.runs:
        rates = run.measure([f"goodput({party.name}) {window}".rstrip() for party in own])
        total = math.fsum(rate for rate in rates if not math.isnan(rate))
        by_run.append([100 * rate / total if total else math.nan for rate in rates])
    return [(party, Spread.of([shares[index] for shares in by_run])) for index, party in enumerate(own)]


KIND = Kind(
    "shares",
    "Who gets the link: stacked shares of the rate for each load and label, the unresponsive traffic lowest.",
    "Overload results, figure 1; with `zoom=99` figure 2.",
    _make,
    (Option("zoom", "where the vertical axis begins, %: 99 shows what is left of the others", "0"), WINDOW, *GRID),
)
"""The kind."""
