"""Lines over time on axes below one another, which share their time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.plotting.draw.panel import Axis, Band
from sojourn.plotting.draw.svg import render, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 7.6
"""Inches."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its range."""

    band: Band
    colour: str
    name: str = ""
    """In the axes' own legend; empty where the heading names it."""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """One of the axes."""

    title: str
    """What its vertical axis shows, with the unit."""
    lines: Sequence[Line]
    axis: Axis
    height: float = 1.0
    """Beside those of the others."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What is drawn of a cell."""

    key: str
    """What tells it from the other pictures of a page."""
    strips: Sequence[Strip]
    seconds: float
    events: Sequence[tuple[float, str]] = ()
    """When something was changed (s), and what."""


def draw(traces: Traces, label: str) -> str:
    """Return the traces as an SVG element; ``label`` says what it shows to those who do not see it."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in styled()

    with styled():
        inches = 0.6 + 1.35 * sum(strip.height for strip in traces.strips)
        figure = Figure(figsize=(WIDTH, inches), layout="constrained")
        column = figure.subplots(
            len(traces.strips), 1, sharex=True, squeeze=False, height_ratios=[strip.height for strip in traces.strips]
        )[:, 0]
        for axes, strip in zip(column, traces.strips, strict=True):
            _strip(axes, strip)
            for at, _ in traces.events:
                axes.axvline(at, color="#010101", linewidth=0.8, linestyle=(0, (2, 2)), alpha=0.7)
        for at, text in traces.events:
            column[0].annotate(
                text,
                (at, 1.0),
                xycoords=column[0].get_xaxis_transform(),
                xytext=(2, 1),
                textcoords="offset points",
                fontsize=7.5,
            )
        column[-1].set_xlim(0, traces.seconds)
        column[-1].set_xlabel("time, s")
        figure.align_ylabels(list(column))
        return render(figure, label, traces.key)


def _strip(axes: "Axes", strip: Strip) -> None:
    for line in strip.lines:
        band = line.band
        if band.low:
            axes.fill_between(band.t, band.low, band.high, color=line.colour, alpha=0.22, linewidth=0)
        style = (0, (3, 1.6)) if line.dashed else "solid"
        axes.plot(band.t, band.value, color=line.colour, linestyle=style, linewidth=1.1, label=line.name or None)
    strip.axis.apply(axes)
    axes.set_ylabel(strip.title)
    if any(line.name for line in strip.lines):
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1, 0.97),
            ncols=len(strip.lines),
            handlelength=1.6,
            borderpad=0.1,
            fontsize=8,
        )
