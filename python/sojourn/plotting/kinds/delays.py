"""Queue delays of whole runs as bars on a logarithmic axis, with the 99th percentile; each class of a queue apart.

The queue delays of the overload results.
"""

from collections.abc import Sequence
from typing import Final

from sojourn.core import describe
from sojourn.core.cells import Cell
from sojourn.core.measured import mean_said
from sojourn.core.run import Run
from sojourn.core.select import cells_of
from sojourn.errors import UsageError
from sojourn.plotting.draw.bars import BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.draw.style import QUEUE
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.barred import Asked, barred, nothing, ranges_said
from sojourn.plotting.kinds.grid import GRID, Grid
from sojourn.plotting.labels import QUEUE_DELAY


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    grid = Grid.of(cells, options)
    tail = options.number("percentile")
    bars, data = barred(
        cells,
        lambda cell: [
            Asked(
                _NAMES.get(name, name),
                f"mean({quantity}, {queue})",
                peak=f"percentile({quantity}, {queue}, {tail:g})",
                scale=1e3,
            )
            for name, quantity, queue in _queues(cell)
        ],
        grid,
        ("mean_ms", f"p{tail:g}_ms"),
    )
    if not bars or nothing(bars):
        raise UsageError("these runs have no histogram of a queue's delay", help="results of others have none")
    chart = BarChart(
        bars,
        QUEUE_DELAY,
        f"queue delays by {grid.x}",
        grid.below,
        logarithmic=True,
        values=False,
        peak=f"{tail:g}th percentile",
        colours={"queue": QUEUE, "C queue": "#0072B2", "L queue": "#D55E00"},
    )
    caption = (
        f"Queue delay of every packet at the bottleneck: mean (bars) and {tail:g}th percentile (marks), "
        f"of whole runs; {mean_said(cells)}{ranges_said(bars)}"
    )
    return Drawn(Sheet([chart.part()]), data, caption)


_NAMES: Final = {"c": "C queue", "l": "L queue"}


def _queues(cell: Cell) -> list[tuple[str, str, str]]:
    """Return name, quantity and queue of each class of the bottleneck's packets; of all of them if it has none."""
    found = describe.bottleneck(cell.scenario)
    if found is None or "histograms" not in cell.runs[0].tables:
        return []
    table = cell.runs[0].table("histograms")
    own = table.filter(table["subject"].cast(str) == found[0])["quantity"].cast(str).unique().sort()
    classes = [quantity for quantity in own if quantity.startswith("sojourn.")]
    return [(q.removeprefix("sojourn."), q, found[0]) for q in classes] or [
        ("queue", q, found[0]) for q in own if q == "sojourn"
    ]


KIND = Kind(
    "delays",
    "Queue delays on a logarithmic axis: mean and 99th percentile of every packet, each class of a queue apart.",
    (
        "Overload results, figure 3: mean and 99th percentile on a logarithmic axis. PI2, which is not in it, stands "
        "beside."
    ),
    _make,
    (Option("percentile", "which percentile the marks show, %", "99"), *GRID),
)
"""The kind."""
