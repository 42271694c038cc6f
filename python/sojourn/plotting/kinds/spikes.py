"""RTT spikes after a step: how high above a level, and for how long.

The rate reductions of l4s-tests: a queue that signals too little lets the RTT grow until the sender has slowed down.
"""

from collections.abc import Sequence

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.measured import mean_said, parties
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, varied
from sojourn.errors import UsageError
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.barred import Asked, barred, by_series, ranges_said
from sojourn.plotting.kinds.grid import GRID, Grid, without


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    axes = varied(cells)
    by = options["by"] or ("cc" if "cc" in axes else next(iter(axes), ""))
    grid = Grid.of(cells, options, taken=by)
    above = options.number("above")
    if above is None or above < 0:
        raise UsageError("above of spikes is a time in ms, 0 or more")

    def asked(cell: Cell, metric: str) -> list[Asked]:
        own = parties(cell.scenario)
        of = next((party for party in own if party.name == options["of"]), None if options["of"] else own[0])
        if of is None:
            raise UsageError.unknown(f"flow of {cell.runs[0].label}", options["of"], [party.name for party in own])
        series = axes_of(cell).get(by, of.name)
        level = f"{of.rtt_ms + above:g}ms"
        scale = 1e3 if metric == "spike" else 1.0
        return [Asked(series, f"{metric}(srtt, {of.name}, {level}) {_window(cell)}", scale=scale)]

    heights, table = barred(cells, lambda cell: asked(cell, "spike"), grid, ("height_ms", ""))
    lengths, more = barred(cells, lambda cell: asked(cell, "longest_above"), grid, ("length_s", ""))
    data = pl.concat([without(table, "of", by), more.select(pl.selectors.starts_with("length_s"))], how="horizontal")
    log = options["log"] == "yes"
    parts = [
        _chart(heights, "Height (ms)", "height of RTT spikes", grid, log=log).part(),
        # The same colours: they are named once.
        Part(_chart(lengths, "Length (s)", "length of RTT spikes", grid, log=log)),
    ]
    caption = (
        f"Smoothed RTT after the step: how far it rises above its base RTT plus {above:g} ms (above), and the longest "
        f"time that it stays there (below): {mean_said(cells)}{ranges_said([*heights, *lengths])}"
    )
    return Drawn(Sheet(parts), data, caption)


def _chart(bars: Sequence[Bar], title: str, shows: str, grid: Grid, *, log: bool) -> BarChart:
    return BarChart(by_series(bars), title, shows, grid.below, logarithmic=log)


def _window(cell: Cell) -> str:
    """Return the window from the run's first event to its end."""
    happened = cell.runs[0].events.filter(pl.col("what").cast(pl.String) == "event")["t_s"]
    if happened.is_empty():
        raise UsageError(f"no event changes anything in {cell.runs[0].label}: spikes follow an event")
    return f"over last {cell.scenario.seconds - float(happened[0]):.6f}s"


KIND = Kind(
    "spikes",
    "RTT spikes after a step: height and length above a level, with the range over seeds.",
    (
        "L4S tests, figures 10 to 13, which show the spikes over time (`delivery` does); here their heights and "
        "lengths side by side."
    ),
    _make,
    (
        Option("above", "how far above the flow's base RTT the level is, ms", "20"),
        Option("of", "which flow; the first that carries data if empty"),
        Option("by", "the axis with one colour per label (default: cc, or the first that varies)"),
        Option("log", "whether the axes are logarithmic", "no", ("no", "yes")),
        *GRID,
    ),
)
"""The kind."""
