"""Which axis of the cells goes where in a figure: along the horizontal axis, across panels, down the rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.select import axes_of, varied
from sojourn.errors import UsageError
from sojourn.plotting.kind import Option, Options

GRID: Final = (
    Option("x", "the axis along the horizontal axis (default: the last that varies)"),
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
    unit: str
    """The unit that all labels of ``x`` end with; it is written once, below."""

    @classmethod
    def of(cls, cells: Sequence[Cell], options: Options, taken: str = "") -> "Grid":
        """Return the layout of these cells.

        Args:
            cells: the cells to lay out.
            options: with those of :data:`GRID`.
            taken: the axis that is shown otherwise, by colours.

        Raises:
            UsageError: if an option names an axis that they do not have.
        """
        names = [name for name in varied(cells) if name != taken]
        every = list(dict.fromkeys(axis for cell in cells for axis in axes_of(cell)))
        for option in ("x", "panel"):
            if options[option] not in {"", "-", *every}:
                raise UsageError.unknown("axis", options[option], every)
        panel = options["panel"]
        x = options["x"] or next((name for name in reversed(names) if name != panel), "")
        left = [name for name in names if name != x]
        if not panel:
            panel = left[0] if left else ""
        labels = varied(cells).get(x, [])
        units = {found[1] if (found := _NUMBER.fullmatch(label)) else "" for label in labels}
        rows = [name for name in left if name != panel]
        return cls(x, "" if panel == "-" else panel, rows, units.pop() if len(units) == 1 else "")

    @property
    def below(self) -> str:
        """The title of the horizontal axis."""
        return f"{self.x} ({_UNITS.get(self.unit, self.unit)})" if self.unit else self.x

    def place(self, cell: Cell) -> tuple[str, str, str]:
        """Return the row, the panel and the place along the horizontal axis of a cell."""
        labels = axes_of(cell)
        row = ", ".join(f"{name}: {labels[name]}" for name in self.rows if name in labels)
        group = labels.get(self.x, "").removesuffix(self.unit) if self.x else cell.title
        return row, labels.get(self.panel, ""), group


def without(table: pl.DataFrame, column: str, axis: str) -> pl.DataFrame:
    """Return the table without a column that only repeats an axis."""
    return table.drop(column) if axis in table.columns and table[column].equals(table[axis]) else table


_NUMBER: Final = re.compile(r"[0-9.]+([a-z]+)")
_UNITS: Final = {"mbit": "Mbit/s", "kbit": "kbit/s", "gbit": "Gbit/s"}
