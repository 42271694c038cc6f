"""Distributions as boxes: quartiles, whiskers from the 1st to the 99th percentile or over all values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.sheet import Key, Part
from sojourn.plotting.draw.style import INK, WIDTH
from sojourn.plotting.draw.text import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


@dataclass(frozen=True, slots=True)
class Box:
    """A distribution in five numbers."""

    panel: str
    group: str
    series: str
    low: float
    """End of the lower whisker."""
    first: float
    """First quartile."""
    median: float
    third: float
    """Third quartile."""
    high: float
    """End of the upper whisker."""


@dataclass(frozen=True, slots=True)
class BoxChart:
    """Boxes in groups, in panels with one scale."""

    boxes: Sequence[Box]
    side: str
    below: str
    shows: str
    logarithmic: bool = False

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        panels, series = ordered(box.panel for box in self.boxes), ordered(box.series for box in self.boxes)
        groups = ordered(box.group for box in self.boxes)
        return max(WIDTH, min(_WIDEST, 1 + len(panels) * (0.3 * len(series) + 0.25) * len(groups))), 3.3

    def part(self, title: str = "") -> Part:
        """Return it with what its colours mean."""
        series = ordered(box.series for box in self.boxes)
        return Part(self, title, [Key(name, flow_colour(i), "", area=True) for i, name in enumerate(series) if name])

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        panels = ordered(box.panel for box in self.boxes)
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        scale = Axis.of([v for box in self.boxes for v in (box.low, box.high)], logarithmic=self.logarithmic)
        for axes, panel in zip(row, panels, strict=True):
            self._panel(axes, [box for box in self.boxes if box.panel == panel])
            scale.apply(axes)
            axes.set_title(panel, fontweight="bold")
        row[0].set_ylabel(self.side)
        figure.supxlabel(self.below, fontsize=9)

    def _panel(self, axes: "Axes", boxes: Sequence[Box]) -> None:
        groups, series = ordered(box.group for box in boxes), ordered(box.series for box in self.boxes)
        wide = 0.8 / len(series)
        for box in boxes:
            if math.isnan(box.median):
                continue
            at = groups.index(box.group) - 0.4 + (series.index(box.series) + 0.5) * wide
            drawn = {
                "whislo": box.low,
                "q1": box.first,
                "med": box.median,
                "q3": box.third,
                "whishi": box.high,
                "fliers": [],
            }
            colour = flow_colour(series.index(box.series))
            axes.bxp(
                [drawn],
                positions=[at],
                widths=wide * 0.75,
                patch_artist=True,
                showfliers=False,
                manage_ticks=False,
                boxprops={"facecolor": colour, "alpha": 0.55, "linewidth": 0.8},
                medianprops={"color": INK, "linewidth": 1.6},
                whiskerprops={"linewidth": 0.9, "color": INK},
                capprops={"linewidth": 0.9, "color": INK},
            )
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(groups)), [wrapped(group) for group in groups])
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.55, len(groups) - 0.45)


_WIDEST: Final = 12.5
