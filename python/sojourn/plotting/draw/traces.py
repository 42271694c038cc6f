"""Lines over time on axes below one another, which share their time; the measuring window is shaded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn.plotting.draw.numbers import EVENT, HIGH, LOW, RANGE, SEED
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.style import INK, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

DASHED: Final = (0, (3, 1.6))
"""Of a second set of lines."""

_SHADE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Band:
    """A series over time with the range of the same series in other runs."""

    t: Sequence[float]
    """Seconds."""
    value: Sequence[float]
    low: Sequence[float] = ()
    """Empty where there is nothing to compare with."""
    high: Sequence[float] = ()
    others: Sequence[Sequence[float]] = ()
    """The series of the other runs that give the range; empty where it is not of other runs."""

    @property
    def tops(self) -> list[float]:
        """The numbers that decide how high its axis is; NaN, which is not drawn, left out."""
        return [v for v in (*self.value, *self.high) if not math.isnan(v)]


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its range."""

    band: Band
    colour: str
    name: str = ""
    """Written at the axes themselves; empty where the heading names it."""
    dashed: bool = False
    page_name: str = ""
    """Its name next to its values in a page, where the heading names it."""


@dataclass(frozen=True, slots=True)
class Strip:
    """One of the axes."""

    title: str
    """What its vertical axis shows, with the unit."""
    lines: Sequence[Line]
    axis: Axis
    height: float = 1.0
    """Relative to the others."""


@dataclass(frozen=True, slots=True)
class Traces:
    """The drawing of a cell."""

    shows: str
    strips: Sequence[Strip]
    seconds: float
    events: Sequence[tuple[float, str]] = ()
    """When something was changed (s), and what."""
    window: tuple[float, float] | None = None
    """Where metrics look (s), if it is to be shown."""

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        return WIDTH, 0.6 + 1.35 * sum(strip.height for strip in self.strips)

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        column = figure.subplots(
            len(self.strips), 1, sharex=True, squeeze=False, height_ratios=[strip.height for strip in self.strips]
        )[:, 0]
        for axes, strip in zip(column, self.strips, strict=True):
            if self.window is not None:
                axes.axvspan(*self.window, color=INK, alpha=_SHADE, linewidth=0, zorder=0)
            _strip(axes, strip)
            for at, _ in self.events:
                axes.axvline(at, color=INK, linewidth=0.8, linestyle=(0, (2, 2)), alpha=0.7)
        for at, text in self.events:
            column[0].annotate(
                text,
                (at, 1.0),
                xycoords=column[0].get_xaxis_transform(),
                xytext=(2, 1),
                textcoords="offset points",
                fontsize=8,
                gid=EVENT,
            )
        column[-1].set_xlim(0, self.seconds)
        column[-1].set_xlabel("Time (s)")
        figure.align_ylabels(list(column))


def _strip(axes: "Axes", strip: Strip) -> None:
    dashed_colours = {line.colour for line in strip.lines if line.dashed}
    for line in strip.lines:
        band = line.band
        label = line.name or line.page_name
        if band.low:
            axes.fill_between(
                band.t, band.low, band.high, color=line.colour, alpha=0.25, linewidth=0, label=label, gid=RANGE
            )
            unseen = [(LOW, band.low), (HIGH, band.high)] if not band.others else []
            for role, values in [*unseen, *((SEED, own) for own in band.others)]:
                # In no picture: a page's script reads it.
                axes.plot(band.t, values, color=line.colour, label=label, gid=role, visible=False)
        style = DASHED if line.dashed else "solid"
        # Paler below the dashes of the same colour, so that both are seen where they run along one another.
        strength = 0.5 if line.colour in dashed_colours and not line.dashed else 0.9
        axes.plot(band.t, band.value, color=line.colour, linestyle=style, linewidth=1.2, alpha=strength, label=label)
    strip.axis.apply(axes)
    axes.set_ylabel(strip.title.replace(" (", "\n("))
    named = [line for line in strip.lines if line.name]
    for number, line in enumerate(named):
        # To the right of the data, where nothing is drawn.
        axes.annotate(
            line.name,
            (1, 1 - (number + 0.5) / max(len(named), 4)),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=line.colour,
            fontsize=8.5,
        )
