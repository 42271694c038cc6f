"""Bars of a flow's goodput, one colour for each disturber: the goodput next to a video call of l4s-tests.

The disturber is an axis of the experiment, with one label for none.
"""

from collections.abc import Sequence

from sojourn.core.cells import Cell
from sojourn.core.measured import mean_said, parties
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, varied
from sojourn.errors import UsageError
from sojourn.plotting import labels
from sojourn.plotting.draw.bars import BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.barred import WINDOW, Asked, barred, by_series, ranges_said
from sojourn.plotting.kinds.grid import GRID, Grid, without
from sojourn.views.window import window_said


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    axes = varied(cells)
    by = options["by"] or next(reversed(axes), "")
    if options["by"] and options["by"] not in axes:
        raise UsageError.unknown("axis that varies", options["by"], list(axes))
    grid = Grid.of(cells, options, taken=by)

    def asked(cell: Cell) -> list[Asked]:
        own = [party.name for party in parties(cell.scenario)]
        of = options["of"] or own[0]
        if of not in own:
            raise UsageError.unknown(f"flow of {cell.runs[0].label}", of, own)
        series = axes_of(cell).get(by, of)
        return [Asked(series, f"goodput({of}) {options['window']}".rstrip(), scale=1e-6)]

    bars, data = barred(cells, asked, grid, ("goodput_mbps", ""))
    data = without(data, "of", by)
    chart = BarChart(
        by_series(bars), str(labels.of_metric("goodput({flow})")), f"goodput by {by or 'cell'}", grid.below
    )
    caption = (
        f"Goodput of {options['of'] or 'the first flow'} by {by or 'cell'}, "
        f"{window_said(cells, options['window'])}: "
        f"{mean_said(cells)}{ranges_said(bars)}"
    )
    return Drawn(Sheet([chart.part()]), data, caption)


KIND = Kind(
    "goodput",
    "Goodput of a flow with and without a disturber: bars side by side, with the range over seeds.",
    (
        "L4S tests, figure 6: goodput alone, and with a video call in L or in C. Its line of the greatest possible "
        "goodput is left out."
    ),
    _make,
    (
        Option("of", "which flow; the first that carries data if empty"),
        Option("by", "the axis of the disturber, with one colour per label (default: the last that varies)"),
        WINDOW,
        *GRID,
    ),
)
"""The kind."""
