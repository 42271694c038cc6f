"""Queue delay over time: the mean of each step, and the range within it, of each queue that matters.

The queue delays over time of the overload results, which average over seconds.
"""

from collections.abc import Sequence

import polars as pl

from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, select
from sojourn.errors import UsageError
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.panel import queue_title
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import events_of, queue_lines
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.draw.traces import Line, Strip, Traces
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.bands import ONLY, band_table, few, shaded
from sojourn.plotting.labels import QUEUE_DELAY


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    step = options.number("step") or 1.0
    cells = few(cells_of(select(runs, options["only"])))
    every = cells_of(runs)
    bands = {c.key: queue_lines(c.runs, step) for c in every}
    if not any(band.t for own in bands.values() for _, band in own):
        raise UsageError("these runs have no delay of a queue", help="imported results have none")
    axis = Axis.over([band.tops for own in bands.values() for _, band in own])
    if options["common"] == "no":
        axis = Axis(0, 0, logarithmic=False)
    parts, frames = [], []
    for cell in cells:
        lines = bands[cell.key]
        own = axis if axis.high else Axis.over([band.tops for _, band in lines])
        title = next(c.title for c in every if c.key == cell.key)
        strips = [Strip(queue_title(name), [Line(band, flow_colour(0))], own, height=1.3) for name, band in lines]
        run = cell.runs[0]
        shows = f"{cell.title}: queue delay over time"
        seconds = cell.scenario.seconds
        parts.append(Part(Traces(shows, strips, seconds, events_of(run), run.window()), title))
        frames.append(band_table([(name, QUEUE_DELAY, band) for name, band in lines], axes_of(cell)))
    caption = (
        f"Delay of each queue that matters: means over {step:g} s (line), and the least and the greatest of each "
        f"packet in them (lighter); of one run of each cell.{shaded(cells[0].runs[0].window())}"
    )
    return Drawn(Sheet(parts), pl.concat(frames, how="diagonal"), caption)


KIND = Kind(
    "queue-delay",
    "Queue delay over time: the mean of each second, and the range within it.",
    "Overload results, figures 4 to 7: the mean of each second, in a lighter colour the range within it.",
    _make,
    (
        Option("step", "what is averaged over, s; no less than the sample interval", "1"),
        Option("common", "whether the cells share a scale", "yes", ("yes", "no")),
        ONLY,
    ),
)
"""The kind."""
