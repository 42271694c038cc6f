"""Distributions as curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.palette import flow_colour, line_style
from sojourn.plotting.draw.scale import log_floor, plain
from sojourn.plotting.draw.sheet import Key, Part
from sojourn.plotting.draw.style import WIDTH, wrapped_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


@dataclass(frozen=True, slots=True)
class Curve:
    """A distribution."""

    panel: str
    colour: str
    """The label that its colour tells; of all curves of that label."""
    dash: str
    """The label that its line's style tells."""
    x: Sequence[float]
    """Values in order."""
    below: Sequence[float]
    """Which part is no greater, 0 to 1."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Distributions in panels that share their axes."""

    curves: Sequence[Curve]
    title: str
    """The title of the horizontal axis, with the unit."""
    side: str
    """The title of the vertical axis."""
    shows: str
    tail: bool = False
    """Whether to show which part is above, on a logarithmic axis."""
    logarithmic: bool = False
    """Whether the horizontal axis is."""

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        columns, rows = wrapped_panels(len(self._panels))
        return max(WIDTH, 3.2 * columns), 3.6 if rows == 1 else 0.4 + 2.6 * rows

    def part(self, title: str = "") -> Part:
        """Return it with what its colours and dashes mean."""
        colours, dashes = self._order
        keys = [Key(name, flow_colour(index)) for index, name in enumerate(colours) if name]
        if len(dashes) > 1:
            keys += [Key(name, line=line_style(index)) for index, name in enumerate(dashes)]
        return Part(self, title, keys)

    @property
    def _panels(self) -> list[str]:
        return ordered(curve.panel for curve in self.curves)

    @property
    def _order(self) -> tuple[list[str], list[str]]:
        return ordered(curve.colour for curve in self.curves), ordered(curve.dash for curve in self.curves)

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        panels = self._panels
        colours, dashes = self._order
        columns, rows = wrapped_panels(len(panels))
        every = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in every.flat[len(panels) :]:
            axes.set_visible(False)
        for place, (axes, panel) in enumerate(zip(every.flat, panels, strict=False)):
            for curve in (c for c in self.curves if c.panel == panel):
                share = [1 - part if self.tail else part for part in curve.below]
                # Each value holds from itself to the next; all are above what is less than the least.
                axes.plot(
                    [curve.x[0], *curve.x],
                    [1.0 if self.tail else 0.0, *share],
                    drawstyle="steps-post",
                    color=flow_colour(colours.index(curve.colour)),
                    linestyle=line_style(dashes.index(curve.dash)),
                    label=", ".join(filter(None, (curve.colour, curve.dash))),
                )
            axes.set_title(panel, fontweight="bold")
            # Below the last panel of each column, which has numbers there.
            if place + columns >= len(panels):
                axes.set_xlabel(self.title)
                axes.tick_params(axis="x", labelbottom=True)
            if place % columns == 0:
                axes.set_ylabel(self.side)
            self._scale(axes)

    def _scale(self, axes: "Axes") -> None:
        if self.logarithmic:
            axes.set_xscale("log")
            most = max(curve.x[-1] for curve in self.curves)
            least = min((value for curve in self.curves for value in curve.x if value > 0), default=most / 10 or 0.1)
            low = log_floor(least, most or 1.0)
            plain(axes.xaxis, low, most * 1.3)
            axes.set_xlim(low, (most or 1.0) * 1.3)
        else:
            # Both ends: with one end set, shared axes keep the other as the first panel has it, and cut later curves.
            low, high = min(0.0, *(curve.x[0] for curve in self.curves)), max(curve.x[-1] for curve in self.curves)
            axes.set_xlim(low, high + 0.03 * ((high - low) or 1.0))
        if self.tail:
            rarest = min((1 - part for curve in self.curves for part in curve.below if part < 1), default=0.1)
            axes.set_yscale("log")
            axes.set_ylim(10 ** -_decades(rarest), 1)
            plain(axes.yaxis, 10 ** -_decades(rarest), 1e6)
        else:
            axes.set_ylim(0, 1)


def _decades(part: float) -> int:
    """Return how many powers of ten below one hold a part; no more than six."""
    decades = 1
    while 10**-decades > part * (1 + 1e-9) and decades < _MOST_DECADES:
        decades += 1
    return decades


_MOST_DECADES: Final = 6
