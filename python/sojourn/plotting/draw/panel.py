"""One run as a picture: delivery rate and RTT over time on two axes, queue delay below."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.svg import render, styled
from sojourn.plotting.draw.ticks import nice_ceiling, nice_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH: Final = 7.6
"""Inches."""
HEIGHT: Final = 3.7


@dataclass(frozen=True, slots=True)
class Band:
    """A series over time with the range of the same series in other runs."""

    t: Sequence[float]
    """Seconds."""
    value: Sequence[float]
    low: Sequence[float] = ()
    """Empty where there is nothing to compare with."""
    high: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class FlowLines:
    """A flow's lines."""

    name: str
    rate: Band
    """Delivery rate, Mbit/s."""
    rtt: Band
    """RTT, ms."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A vertical axis that several panels share."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, panels: Sequence[Sequence[float]], *, room: float = 1.0) -> "Axis":
        """Return the smallest round axis that holds the values of every panel.

        Where the panels' greatest values lie too far apart for one linear axis to show them all, it is logarithmic.

        Args:
            panels: the values in each panel.
            room: how much more than the greatest value the axis holds.
        """
        tops = [max(values) for values in panels if values]
        if not tops:
            return cls(0, 1, logarithmic=False)
        high = nice_ceiling(max(tops) * room)
        if max(tops) < _FAR_APART * min(tops) or min(tops) <= 0:
            return cls(0, high, logarithmic=False)
        usual = min(statistics.median(values) for values in panels if values)
        low = max(usual / 2, high / _LONGEST_AXIS)
        return cls(nice_floor(low), high, logarithmic=True)

    def apply(self, axes: "Axes") -> None:
        """Give it to the axes of a figure."""
        if self.logarithmic:
            from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: PLC0415 - as in styled()

            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(self.low, self.high)


_FAR_APART: Final = 8
_LONGEST_AXIS: Final = 1e5


@dataclass(frozen=True, slots=True)
class Scales:
    """The axes that the panels of a scenario share."""

    seconds: float
    rate: Axis
    """Mbit/s."""
    rtt: Axis
    """ms."""
    queue: Axis
    """ms."""

    @classmethod
    def over(cls, panels: Sequence["Panel"]) -> "Scales":
        """Return the smallest round scales that hold every panel."""
        rates = [max((v for f in p.flows for v in _all(f.rate)), default=1.0) for p in panels]
        return cls(
            max(p.seconds for p in panels),
            Axis(0, nice_ceiling(max(rates)), logarithmic=False),
            # Room above the RTT keeps its lines below most of the rates.
            Axis.over([[v for f in p.flows for v in _all(f.rtt)] for p in panels], room=1.6),
            Axis.over([_all(p.queue) for p in panels]),
        )


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn of a run."""

    key: str
    """What tells it from the other panels of a page."""
    title: str
    seconds: float
    """How long the run is."""
    flows: Sequence[FlowLines]
    queue: Band
    """The bottleneck's sojourn time, ms: mean, and the range within each step."""
    events: Sequence[tuple[float, str]] = field(default=())
    """When something was changed (s), and what."""


def draw(panel: Panel, scales: Scales) -> str:
    """Return the panel as an SVG element."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in styled()

    with styled():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.4, 1])
        right = above.twinx()
        _draw_flows(above, right, panel, scales)
        _draw_queue(below, panel, scales)
        for at, text in panel.events:
            for axes in (above, below):
                axes.axvline(at, color="#010101", linewidth=0.8, linestyle=(0, (2, 2)), alpha=0.7)
            above.annotate(
                text,
                (at, 1.0),
                xycoords=above.get_xaxis_transform(),
                xytext=(2, 1),
                textcoords="offset points",
                fontsize=7.5,
            )
        below.set_xlim(0, scales.seconds)
        below.set_xlabel("time, s")
        figure.align_ylabels([above, below])
        return render(figure, f"{panel.title}: delivery rate, RTT and queue delay over time", panel.key)


def _draw_flows(left: "Axes", right: "Axes", panel: Panel, scales: Scales) -> None:
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    for index, flow in enumerate(panel.flows):
        colour = flow_colour(index)
        _band(left, flow.rate, colour)
        left.plot(flow.rate.t, flow.rate.value, color=colour, label=flow.name)
        right.plot(flow.rtt.t, flow.rtt.value, color=colour, linewidth=1.2, linestyle=(0, (1, 1.4)))
    scales.rate.apply(left)
    scales.rtt.apply(right)
    left.set_ylabel("delivery rate, Mbit/s\n(solid)")
    right.set_ylabel("RTT, ms\n(dotted)")


def _draw_queue(axes: "Axes", panel: Panel, scales: Scales) -> None:
    colour = "#6f7780"
    _band(axes, panel.queue, colour, strength=0.35)
    axes.plot(panel.queue.t, panel.queue.value, color=colour)
    scales.queue.apply(axes)
    axes.set_ylabel("queue delay,\nms")


def _band(axes: "Axes", band: Band, colour: str, strength: float = 0.18) -> None:
    if band.low:
        axes.fill_between(band.t, band.low, band.high, color=colour, alpha=strength, linewidth=0)


def _all(band: Band) -> list[float]:
    """Return every number of a band that is drawn at the top; NaN, which is not drawn, left out."""
    return [v for v in (*band.value, *band.high) if not math.isnan(v)]
