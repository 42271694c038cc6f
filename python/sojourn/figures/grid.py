"""Which axis of the cells goes where in a figure: along the horizontal axis, across panels, down the rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.cells import Cell
from sojourn.errors import UsageError
from sojourn.figures.kind import Option, Options
from sojourn.figures.select import axes_of, varied

GRID: Final = (
    Option("x", "the axis whose labels stand along the horizontal axis; the last that varies if empty"),
    Option("panel", "the axis with a panel for each label; the first that varies if empty, one panel if it is -"),
)
"""The options of kinds that lay cells out; the other axes that vary share the rows."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where cells go."""

    x: str
    """The axis along the horizontal axis; empty if nothing varies."""
    panel: str
    rows: Sequence[str]

    @classmethod
    def of(cls, cells: Sequence[Cell], options: Options) -> "Grid":
        """Return the layout of these cells.

        Raises:
            UsageError: if an option names an axis that they do not have.
        """
        names = list(varied(cells))
        every = list(dict.fromkeys(axis for cell in cells for axis in axes_of(cell)))
        for option in ("x", "panel"):
            if options[option] not in {"", "-", *every}:
                raise UsageError.unknown("axis", options[option], every)
        panel = options["panel"]
        x = options["x"] or next((name for name in reversed(names) if name != panel), "")
        left = [name for name in names if name != x]
        if not panel:
            panel = left[0] if left else ""
        return cls(x, "" if panel == "-" else panel, [name for name in left if name != panel])

    def place(self, cell: Cell) -> tuple[str, str, str]:
        """Return the row, the panel and the place along the horizontal axis of a cell."""
        labels = axes_of(cell)
        row = ", ".join(labels.get(name, "") for name in self.rows)
        group = labels.get(self.x, "") if self.x else cell.title
        return row, labels.get(self.panel, ""), group
