"""Queue delays of whole runs as bars on a logarithmic axis, with the 99th percentile; each class of a queue apart.

The queue delays of the overload results.
"""

from collections.abc import Sequence
from typing import Final

from sojourn.core import queues
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
                name,
                f"mean({quantity}, {queue}) over all",
                peak=f"percentile({quantity}, {queue}, {tail:g}) over all",
                scale=1e3,
            )
            for name, quantity, queue in _queues(cell)
        ],
        grid,
        ("mean_ms", f"p{tail:g}_ms"),
    )
    if not bars or nothing(bars):
        raise UsageError("these runs have no histogram of a queue's delay", help="imported results have none")
    chart = BarChart(
        bars,
        f"{QUEUE_DELAY}, whole run",
        f"queue delays by {grid.x}",
        grid.below,
        logarithmic=True,
        values=False,
        peak=f"{tail:g}th percentile",
        colours={"queue": QUEUE, "C queue": "#0072B2", "L queue": "#D55E00"},
    )
    caption = (
        f"Delay of every packet in each queue that matters: mean (bars) and {tail:g}th percentile (marks), "
        f"of whole runs; {mean_said(cells)}{ranges_said(bars)}"
    )
    return Drawn(Sheet([chart.part()]), data, caption)


_NAMES: Final = {"": "queue", "c": "C queue", "l": "L queue"}


def _queues(cell: Cell) -> list[tuple[str, str, str]]:
    """Return name, quantity and path of each class of the packets of the queues that matter; of all if it has none."""
    if "histograms" not in cell.runs[0].tables:
        return []
    table = cell.runs[0].table("histograms")
    found = []
    matter = queues.that_matter(cell.runs)
    for queue, name in zip(matter, queues.names(cell.scenario, matter), strict=True):
        own = table.filter(table["subject"].cast(str) == queue.path)["quantity"].cast(str).unique().sort()
        quantities = [q for q in own if q.startswith("sojourn.")] or [q for q in own if q == "sojourn"]
        for quantity in quantities:
            of = quantity.removeprefix("sojourn").removeprefix(".")
            found.append((" ".join(filter(None, (name, _NAMES.get(of, of)))), quantity, queue.path))
    return found


KIND = Kind(
    "delays",
    "Queue delays on a logarithmic axis: mean and 99th percentile of every packet, each class of a queue apart.",
    "Overload results, figure 3: mean and 99th percentile on a logarithmic axis. We add PI2, which is not in it.",
    _make,
    (Option("percentile", "which percentile the marks show, %", "99"), *GRID),
)
"""The kind."""
