"""One run as a picture: delivery rate and RTT over time on two axes, queue delay below."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sojourn.plots.palette import flow_colour
from sojourn.plots.svg import render, styled
from sojourn.plots.ticks import nice_ceiling

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
class Scales:
    """The upper ends of the axes, shared by every panel of a scenario."""

    seconds: float
    rate: float
    """Mbit/s."""
    rtt: float
    """ms."""
    queue: float
    """ms."""

    @classmethod
    def over(cls, panels: Sequence["Panel"]) -> "Scales":
        """Return the smallest round scales that hold every panel."""
        rate = max((v for p in panels for f in p.flows for v in _all(f.rate)), default=1.0)
        rtt = max((v for p in panels for f in p.flows for v in _all(f.rtt)), default=1.0)
        queue = max((v for p in panels for v in _all(p.queue)), default=1.0)
        # Room above the RTT keeps its lines below most of the rates.
        return cls(max(p.seconds for p in panels), nice_ceiling(rate), nice_ceiling(rtt * 1.6), nice_ceiling(queue))


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn of a run."""

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
        return render(figure, f"{panel.title}: delivery rate, RTT and queue delay over time")


def _draw_flows(left: "Axes", right: "Axes", panel: Panel, scales: Scales) -> None:
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    for index, flow in enumerate(panel.flows):
        colour = flow_colour(index)
        _band(left, flow.rate, colour)
        left.plot(flow.rate.t, flow.rate.value, color=colour, label=flow.name)
        right.plot(flow.rtt.t, flow.rtt.value, color=colour, linewidth=0.9, linestyle=(0, (1, 1.2)))
    left.set_ylim(0, scales.rate)
    right.set_ylim(0, scales.rtt)
    left.set_ylabel("delivery rate, Mbit/s\n(solid)")
    right.set_ylabel("RTT, ms\n(dotted)")


def _draw_queue(axes: "Axes", panel: Panel, scales: Scales) -> None:
    colour = "#6f7780"
    _band(axes, panel.queue, colour, strength=0.35)
    axes.plot(panel.queue.t, panel.queue.value, color=colour)
    axes.set_ylim(0, scales.queue)
    axes.set_ylabel("queue delay,\nms")


def _band(axes: "Axes", band: Band, colour: str, strength: float = 0.18) -> None:
    if band.low:
        axes.fill_between(band.t, band.low, band.high, color=colour, alpha=strength, linewidth=0)


def _all(band: Band) -> list[float]:
    return [v for v in (*band.value, *band.high) if v == v]  # noqa: PLR0124 - leaves NaN out
