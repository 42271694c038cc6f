"""A value over two axes: a field of colours, with the number in each square."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.sheet import Part
from sojourn.plotting.draw.style import INK, WIDTH
from sojourn.plotting.draw.text import harmless, short, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

COLOURS: Final = "cividis"
"""A palette with an order that any kind of colour vision sees, also in print (Nuñez, Anderton, Renslow, 2018)."""


@dataclass(frozen=True, slots=True)
class HeatChart:
    """Values over two axes, in panels that share the colours."""

    values: Mapping[tuple[str, str, str], float]
    """By panel, label along the horizontal and label along the vertical axis."""
    below: str
    side: str
    colour: str
    """The title of the colours, with the unit."""
    shows: str
    ends: tuple[float, float] | None = None
    """The ends of the colours (default: the least and the greatest value)."""
    logarithmic: bool = False

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        panels, _, down = self._grid
        return max(WIDTH, min(_WIDEST, 2.8 * len(panels) + 1)), max(2.6, 1.1 + 0.34 * len(down))

    def part(self, title: str = "") -> Part:
        """Return it as a part of a sheet, with a bar of its colours."""
        return Part(self, title)

    @property
    def _grid(self) -> tuple[list[str], list[str], list[str]]:
        panels, across, down = ([key[index] for key in self.values] for index in range(3))
        return ordered(panels), ordered(across), ordered(down)

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        from matplotlib import colormaps  # noqa: PLC0415 - as in styled()
        from matplotlib.cm import ScalarMappable  # noqa: PLC0415
        from matplotlib.colors import LogNorm, Normalize  # noqa: PLC0415

        panels, across, down = self._grid
        there = [v for v in self.values.values() if not math.isnan(v) and (v > 0 or not self.logarithmic)]
        low, high = self.ends or (min(there, default=0.0), max(there, default=1.0))
        norm = (LogNorm if self.logarithmic else Normalize)(low, high if high > low else low + (abs(low) or 1.0))
        row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        for axes, panel in zip(row, panels, strict=True):
            field = [[self.values.get((panel, x, y), math.nan) for x in across] for y in down]
            axes.pcolormesh(range(len(across) + 1), range(len(down) + 1), field, cmap=COLOURS, norm=norm)
            for j, values in enumerate(field):
                for i, value in enumerate(values):
                    said = "–" if math.isnan(value) else short(value)
                    # Letters that are seen on what is below them.
                    dark = not math.isnan(value) and _dark(colormaps[COLOURS](norm(value)))
                    axes.text(
                        i + 0.5, j + 0.5, said, ha="center", va="center", color=_letters(value, dark=dark), fontsize=8.5
                    )
            axes.grid(visible=False)
            axes.set_xticks([i + 0.5 for i in range(len(across))], [wrapped(label) for label in across])
            axes.set_yticks([j + 0.5 for j in range(len(down))], [harmless(label) for label in down])
            axes.tick_params(length=0)
            axes.set_title(panel, fontweight="bold")
            for side in axes.spines.values():
                side.set_visible(False)
        row[0].set_ylabel(self.side)
        figure.supxlabel(self.below, fontsize=9)
        bar = figure.colorbar(ScalarMappable(norm, COLOURS), ax=list(row), label=self.colour, pad=0.02)
        bar.outline.set_visible(False)


def _letters(value: float, *, dark: bool) -> str:
    if math.isnan(value):
        return INK
    return "#ffffff" if dark else "#000000"


def _dark(colour: Sequence[float]) -> bool:
    red, green, blue = colour[:3]
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5  # noqa: PLR2004 - half way to white


_WIDEST: Final = 12.5
