"""Distributions as curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.palette import FLOWS, flow_colour
from sojourn.plotting.draw.svg import render, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Curve:
    """A distribution."""

    panel: str
    name: str
    x: Sequence[float]
    """Values in order."""
    below: Sequence[float]
    """Which part is no greater, 0 to 1."""


_STYLES: Final = ("solid", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)))


def draw_cdf(curves: Sequence[Curve], title: str, *, tail: bool, logarithmic: bool, label: str) -> str:
    """Return the curves as an SVG element.

    Args:
        curves: in any number of panels.
        title: what the horizontal axis shows, with the unit.
        tail: show which part is above, on a logarithmic axis.
        logarithmic: whether the horizontal axis is.
        label: what the figure shows, for those who do not see it.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in styled()

    panels = ordered(curve.panel for curve in curves)
    names = ordered(curve.name for curve in curves)
    with styled():
        long = max(map(len, names))
        width = min(12.0, 4.2 * len(panels) + 0.09 * long + 0.6)
        figure = Figure(figsize=(width, 3.4), layout="constrained")
        row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        for axes, panel in zip(row, panels, strict=True):
            for curve in (c for c in curves if c.panel == panel):
                index = names.index(curve.name)
                share = [1 - part if tail else part for part in curve.below]
                # Each value holds from itself to the next; all are above what is less than the least.
                axes.plot(
                    [curve.x[0], *curve.x],
                    [1.0 if tail else 0.0, *share],
                    drawstyle="steps-post",
                    color=flow_colour(index),
                    linestyle=_STYLES[index // len(FLOWS) % len(_STYLES)],
                    label=curve.name,
                )
            axes.set_title(panel, fontweight="bold")
            axes.set_xlabel(title)
            _scales(axes, curves, tail=tail, logarithmic=logarithmic)
        row[0].set_ylabel("part of the packets above" if tail else "part of the packets")
        handles = {line.get_label(): line for axes in row for line in axes.get_lines()}
        figure.legend(handles=[handles[name] for name in names], loc="outside right center")
        return render(figure, label, f"{label} {names} {panels}")


def _scales(axes: "Axes", curves: Sequence[Curve], *, tail: bool, logarithmic: bool) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: PLC0415 - as in styled()

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    if logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
        most = max(curve.x[-1] for curve in curves)
        axes.set_xlim(max(min(curve.x[0] for curve in curves), most / _LONGEST), most * 1.3)
    else:
        axes.set_xlim(left=0)
    if tail:
        rarest = min((1 - part for curve in curves for part in curve.below if part < 1), default=0.1)
        axes.set_yscale("log")
        axes.set_ylim(10 ** -_decades(rarest), 1)
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, 1)


def _decades(part: float) -> int:
    """Return how many powers of ten below one hold a part; no more than six."""
    decades = 1
    while 10**-decades > part and decades < _MOST_DECADES:
        decades += 1
    return decades


_MOST_DECADES: Final = 6
_LONGEST: Final = 1e5
