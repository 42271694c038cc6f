"""Axes: linear from zero, or logarithmic over no more decades than tell something."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sojourn.plotting.draw.ticks import nice_ceiling, nice_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as MatplotlibAxis

Way = Literal["x", "y"]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that several panels share."""

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
        # A queue that is empty more often than not has no place on a logarithmic axis but its bursts have.
        usual = min(statistics.median(value for value in values if value > 0) for values in panels if values)
        return cls(log_floor(usual / 2, high), high, logarithmic=True)

    @classmethod
    def of(cls, values: Sequence[float], *, logarithmic: bool = False) -> "Axis":
        """Return the smallest round axis that holds these values, from zero or from less if some are less."""
        there = [value for value in values if math.isfinite(value) and (value > 0 or not logarithmic)]
        if not there:
            return cls(0.1 if logarithmic else 0.0, 1.0, logarithmic)
        top = max(there)
        if logarithmic:
            return cls(log_floor(min(there) / 1.2, top), nice_ceiling(top * 1.2), logarithmic=True)
        low = min(there)
        return cls(-nice_ceiling(-low * 1.05) if low < 0 else 0.0, nice_ceiling(top * 1.05), logarithmic=False)

    def apply(self, axes: "Axes", way: Way = "y") -> None:
        """Give it to the axes of a figure."""
        if self.logarithmic:
            (axes.set_yscale if way == "y" else axes.set_xscale)("log")
            plain(axes.yaxis if way == "y" else axes.xaxis, self.low, self.high)
        (axes.set_ylim if way == "y" else axes.set_xlim)(self.low, self.high)


def plain(axis: "MatplotlibAxis", low: float, high: float) -> None:
    """Write a logarithmic axis' numbers as people write them: 0.1, 1, 10; between decades where there are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - as in styled()

    if high < _FEW_DECADES * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    axis.set_minor_formatter(NullFormatter())


def written(value: float) -> str:
    """Return a number of an axis without powers of ten.

    >>> written(0.00001), written(200.0), written(0.5)
    ('0.00001', '200', '0.5')
    """
    return f"{value:.9f}".rstrip("0").rstrip(".")


def log_floor(least: float, top: float) -> float:
    """Return where a logarithmic axis begins: at the least value, but no more than three decades below the greatest.

    What is less than that is drawn at the floor. A queue that is empty most of the time would else stretch the axis to
    the microseconds that a packet takes to be sent, and press what matters into its upper half.

    >>> log_floor(0.004, 50), log_floor(3.0, 50)
    (0.05, 2.0)
    """
    return max(nice_floor(least), nice_floor(top / _LONGEST))


_FAR_APART: Final = 8
_FEW_DECADES: Final = 300
_LONGEST: Final = 1e3
