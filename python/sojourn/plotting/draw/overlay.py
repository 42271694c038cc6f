"""The same experiment on two engines, line upon line on the same axes: rate, window, RTT and queue delay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.svg import render, styled
from sojourn.plotting.draw.ticks import nice_ceiling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH: Final = 7.6
"""Inches."""
HEIGHT: Final = 5.2
ROWS: Final = (("delivery rate,\nMbit/s", "rate"), ("window,\npackets", "cwnd"), ("RTT, ms", "rtt"))
"""Label and column of what is drawn for each flow."""
_QUEUE: Final = "#6f7780"
_OTHER: Final = (0, (2.2, 1.3))


@dataclass(frozen=True, slots=True)
class Line:
    """A series over time."""

    t: Sequence[float]
    """Seconds."""
    value: Sequence[float]


@dataclass(frozen=True, slots=True)
class Traces:
    """One engine's run."""

    flows: Sequence[dict[str, Line]]
    """For each flow its lines, by column."""
    queue: Line
    """The bottleneck's mean sojourn time, ms."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Two runs of one scenario."""

    key: str
    """What tells it from the other pictures of a page."""
    title: str
    seconds: float
    first: Traces
    """Drawn solid, and below."""
    second: Traces
    """Drawn dashed."""
    names: tuple[str, str]
    """What the two are called."""


def draw(overlay: Overlay) -> str:
    """Return both runs as an SVG element."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in styled()

    with styled():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        rows = figure.subplots(len(ROWS) + 1, 1, sharex=True)
        for axes, (label, column) in zip(rows, ROWS, strict=False):
            for traces, dashes in ((overlay.first, None), (overlay.second, _OTHER)):
                for index, flow in enumerate(traces.flows):
                    _line(axes, flow[column], flow_colour(index), dashes)
            axes.set_ylabel(label)
        for traces, dashes in ((overlay.first, None), (overlay.second, _OTHER)):
            _line(rows[-1], traces.queue, _QUEUE, dashes)
        rows[-1].set_ylabel("queue delay,\nms")
        for axes in rows:
            axes.set_ylim(0, nice_ceiling(max(axes.dataLim.y1, 1e-3)))
        rows[-1].set_xlim(0, overlay.seconds)
        rows[-1].set_xlabel(f"time, s; {overlay.names[0]} solid, {overlay.names[1]} dashed")
        figure.align_ylabels(rows)
        return render(figure, f"{overlay.title}: rate, window, RTT and queue delay on both engines", overlay.key)


def _line(axes: "Axes", line: Line, colour: str, dashes: tuple[float, tuple[float, float]] | None) -> None:
    if dashes is None:
        axes.plot(line.t, line.value, color=colour, linewidth=1.5, alpha=0.55)
    else:
        axes.plot(line.t, line.value, color=colour, linewidth=1.0, linestyle=dashes)
