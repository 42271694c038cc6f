"""Small line plots in the terminal, drawn with braille dots (two by four a character)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.ticks import nice_ceiling

_BRAILLE = 0x2800
# Bit of the dot at (column, row) within a character, as Unicode numbers them.
_DOT = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


@dataclass(frozen=True, slots=True)
class Line:
    """A named series; a NaN leaves a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class Canvas:
    """A grid of braille characters; each has the colour of the last dot set in it."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self._dots = [[0] * columns for _ in range(rows)]
        self._colours = [[""] * columns for _ in range(rows)]

    def dot(self, x: int, y: int, colour: str) -> None:
        """Set the dot ``x`` from the left and ``y`` from the bottom; outside the grid nothing happens."""
        column, row = x // 2, self.rows - 1 - y // 4
        if 0 <= column < self.columns and 0 <= row < self.rows:
            self._dots[row][column] |= _DOT[x % 2][3 - y % 4]
            self._colours[row][column] = colour

    def stroke(self, x0: int, y0: int, x1: int, y1: int, colour: str) -> None:
        """Set the dots on the straight line between two points."""
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(steps + 1):
            self.dot(round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps), colour)

    def row(self, index: int) -> Text:
        """Return one row as text, the top one first."""
        text = Text()
        for dots, colour in zip(self._dots[index], self._colours[index], strict=True):
            text.append(chr(_BRAILLE + dots) if dots else " ", style=colour)
        return text


def chart(lines: Sequence[Line], *, title: str, columns: int, rows: int, x_end: float) -> list[Text]:
    """Draw the lines over one another on axes that begin at zero.

    Args:
        lines: what to draw; each takes the colour of its place in the list.
        title: shown above, with the unit of the y axis.
        columns: width in characters, labels included.
        rows: height of the plot in characters, title and x axis not included.
        x_end: the end of the x axis, s.

    Returns:
        Rows of text, all of the same width.
    """
    top = nice_ceiling(max((y for line in lines for y in line.y if math.isfinite(y)), default=1.0))
    labels = {0: f"{top:g}", rows - 1: "0"}
    if rows % 2 == 0:
        labels[rows // 2] = f"{top / 2:g}"
    margin = max(map(len, labels.values()))
    width = max(8, columns - margin - 2)
    canvas = Canvas(width, rows)
    for index, line in enumerate(lines):
        colour = flow_colour(index)
        before: tuple[int, int] | None = None
        for x, y in zip(line.x, line.y, strict=True):
            if not math.isfinite(y):
                before = None
                continue
            here = (round(x / x_end * (2 * width - 1)), round(y / top * (4 * rows - 1)))
            canvas.stroke(*(before or here), *here, colour)
            before = here
    drawn = [Text(title.ljust(margin + 2 + width)[: margin + 2 + width], style="bold")]
    for index in range(rows):
        label = labels.get(index, "")
        drawn.append(Text(f"{label:>{margin}} {'┤' if label else '│'}") + canvas.row(index))
    end = f"{x_end:g} s"
    drawn.append(Text(f"{'':{margin}} └{'─' * width}"))
    drawn.append(Text(f"{'':{margin}}  0{end:>{width - 1}}"))
    return drawn


def legend(names: Sequence[str]) -> Text:
    """Name each line in its colour."""
    text = Text()
    for index, name in enumerate(names):
        text.append("━━ ", style=flow_colour(index))
        text.append(f"{name}   ")
    return text


def side_by_side(left: Sequence[Text], right: Sequence[Text], gap: int = 3) -> list[Text]:
    """Join two charts of the same height."""
    return [a + Text(" " * gap) + b for a, b in zip(left, right, strict=True)]
