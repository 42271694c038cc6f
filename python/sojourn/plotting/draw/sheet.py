"""A drawing before it has a size or a format: charts below one another, each under a heading and its keys.

A chart is data and a way to paint them into a part of a figure. The sheet lays charts out and is the only one that
writes names of lines: above their chart, from the left, on as many rows as they need, so that no legend ever covers
a title or over data.
"""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from sojourn.errors import UsageError
from sojourn.plotting.draw.numbers import numbers_of
from sojourn.plotting.draw.style import INK, WIDTH, Ground, styled
from sojourn.plotting.draw.svg import slim
from sojourn.plotting.draw.text import harmless

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

FORMATS: Final = ("svg", "pdf", "png")
"""The formats of a written sheet."""

_POINTS: Final = 72
_ROW: Final = 0.19
"""Height of a row of the heading, inches."""
_LEFT: Final = 6.0
"""Where headings begin, points."""
_SAMPLE: Final = 17.0
"""Length of the sample of a line, points."""
_LETTERS: Final = 9.0
_DPI: Final = 200
"""Of PNG without a size in pixels."""


class Chart(Protocol):
    """Data with a way to paint them. It is plain data itself, so that another process can be given it."""

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        ...

    @property
    def shows(self) -> str:
        """A description for readers who do not see it."""
        ...

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure, or a part of one, that has nothing in it yet."""
        ...


@dataclass(frozen=True, slots=True)
class Key:
    """A name, and the look of its line or mark."""

    name: str
    colour: str = INK
    line: object = "solid"
    """The style of the line, as matplotlib has it; empty for none."""
    marker: str = ""
    area: bool = False
    """Whether it is a filled area: a bar, a band."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chart under a heading."""

    chart: Chart
    title: str = ""
    keys: Sequence[Key] = ()


@dataclass(frozen=True, slots=True)
class Size:
    """How large a picture is to be."""

    width: float
    """Inches."""
    height: float | None = None
    """Inches; as the width asks for if it is None."""
    dots: int = _DPI
    """A dot is a pixel of PNG: how many make an inch."""

    @classmethod
    def of(cls, text: str) -> "Size | None":
        """Return the size that a text says: ``160x90mm``, ``3.5in``, ``1200x800px``; None if it is empty.

        A pixel is 1/96 of an inch, as on web pages, and a PNG has as many as were asked for.

        >>> Size.of("254x127mm")
        Size(width=10.0, height=5.0, dots=200)
        >>> Size.of("960px")
        Size(width=10.0, height=None, dots=96)

        Raises:
            UsageError: if it is no size, or one that nothing can be drawn in.
        """
        if not text:
            return None
        found = _SIZE.fullmatch(text.strip().lower())
        if found is None:
            raise UsageError(
                f'"{text}" is not a size', help="write 160x90mm, 3.5x2in, 1200x800px, or a width alone: 88mm"
            )
        unit = _UNITS[found[3]]
        width, height = float(found[1]) / unit, float(found[2]) / unit if found[2] else None
        for side in (width, height):
            if side is not None and not _LEAST <= side <= _MOST:
                raise UsageError(f'"{text}" is not a size of a figure', help="each side is from 25mm to 2500mm")
        return cls(width, height, 96 if found[3] == "px" else _DPI)


_SIZE: Final = re.compile(r"([0-9.]*[0-9])(?:[x×]([0-9.]*[0-9]))?(mm|cm|in|px)")
_UNITS: Final = {"mm": 25.4, "cm": 2.54, "in": 1.0, "px": 96.0}
_LEAST: Final = 25 / 25.4
_MOST: Final = 2500 / 25.4


@dataclass(frozen=True, slots=True)
class Sheet:
    """Charts below one another."""

    parts: Sequence[Part] = field(default=())

    def svg(self, size: Size | None = None) -> str:
        """Return it as an SVG element for a page, in the page's colours."""
        with self._figure("page", size) as figure:
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        return slim(buffer.getvalue(), self._shows)

    def answering(self) -> tuple[str, str]:
        """Return it as :meth:`svg`, and its numbers for the script of a page (:mod:`sojourn.plotting.draw.numbers`)."""
        with self._figure("page", None) as figure:
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
            numbers = numbers_of(figure)
        return slim(buffer.getvalue(), self._shows), numbers

    @property
    def _shows(self) -> str:
        return "; ".join(dict.fromkeys(part.chart.shows for part in self.parts))

    def file(self, form: str, size: Size | None = None) -> bytes:
        """Return it as a PDF or PNG file on white paper; fonts are embedded.

        Args:
            form: ``pdf`` or ``png``.
            size: width and height (default: the charts' own).
        """
        with self._figure("paper", size) as figure:
            buffer = io.BytesIO()
            # The same figure gives the same file.
            fixed = (
                {"CreationDate": None, "Creator": "Sojourn", "Producer": None} if form == "pdf" else {"Software": None}
            )
            figure.savefig(buffer, format=form, dpi=size.dots if size else _DPI, metadata=fixed)
        return buffer.getvalue()

    @contextmanager
    def _figure(self, ground: Ground, size: Size | None) -> Iterator["Figure"]:
        """Lend the figure in the style that it is to be saved in."""
        from matplotlib.figure import Figure  # noqa: PLC0415 - as in styled()
        from matplotlib.text import Text  # noqa: PLC0415

        with styled(ground), warnings.catch_warnings():
            # A letter that matplotlib's own font lacks is there in the fonts of whoever reads the SVG.
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            width = size.width if size else max((part.chart.inches[0] for part in self.parts), default=WIDTH)
            heads = [_rows(part, width * _POINTS) for part in self.parts]
            bodies = [self._tall(part.chart, width) for part in self.parts]
            total = sum(bodies) + sum(_ROW * len(rows) for rows in heads)
            if size and size.height:
                # Headings keep their height; the charts get the rest.
                left = max(size.height - (total - sum(bodies)), size.height / 2)
                bodies = [body * left / sum(bodies) for body in bodies]
            total = sum(bodies) + sum(_ROW * len(rows) for rows in heads)
            figure = Figure(figsize=(width, size.height if size and size.height else total), layout="constrained")
            boxes = [box for rows, body in zip(heads, bodies, strict=True) for box in (_ROW * len(rows), body) if box]
            places = iter(figure.subfigures(len(boxes), 1, height_ratios=boxes, hspace=0, squeeze=False)[:, 0])
            for part, rows in zip(self.parts, heads, strict=True):
                if rows:
                    _write(next(places), rows, width * _POINTS)
                part.chart.paint(next(places))
            for text in figure.findobj(Text):
                text.set_text(harmless(text.get_text()))
            yield figure

    @staticmethod
    def _tall(chart: Chart, width: float) -> float:
        """Return how tall a chart is in a sheet of this width: letters keep their size, so a narrow one is taller."""
        own, tall = chart.inches
        return tall if width >= own else max(tall * (width / own) ** 0.5, min(tall, width * 0.6))


_Item = Key | str


def _rows(part: Part, width: float) -> list[list[_Item]]:
    """Return the heading by rows: the title, then the keys, as many in a row as there is room for."""
    rows: list[list[_Item]] = [[part.title]] if part.title else []
    row: list[_Item] = []
    used = _LEFT
    for key in part.keys:
        wide = _key_width(key)
        if row and used + wide > width:
            rows.append(row)
            row, used = [], _LEFT
        row.append(key)
        used += wide
    return [*rows, row] if row else rows


def _key_width(key: Key) -> float:
    return _SAMPLE + 4 + text_width(key.name, _LETTERS) + 12


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide a text is, points; in matplotlib's own font, which is wider than most."""
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - as in styled()
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    return max(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in text.split("\n"))


def _write(figure: "FigureBase", rows: Sequence[Sequence[_Item]], width: float) -> None:
    """Write a heading into a part of a figure that is exactly as tall as its rows."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - as in styled()
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    where = figure.transSubfigure  # type: ignore[attr-defined] # it is a part
    for number, row in enumerate(rows):
        y = 1 - (number + 0.55) / len(rows)
        x = _LEFT
        for item in row:
            if isinstance(item, str):
                room = (width - 2 * _LEFT) / text_width(item, _LETTERS, bold=True)
                size = _LETTERS * min(1.0, max(room, 0.75))
                figure.text(x / width, y, item, fontsize=size, fontweight="bold", va="center_baseline")
                continue
            ends = [x / width, (x + _SAMPLE) / width]
            if item.area:
                side = 7.0 / (_ROW * _POINTS * len(rows))
                figure.add_artist(
                    Rectangle(
                        ((x + 4) / width, y - side / 2),
                        9 / width,
                        side,
                        color=item.colour,
                        transform=where,
                        linewidth=0,
                    )
                )
            if item.line:
                figure.add_artist(
                    Line2D(ends, [y, y], color=item.colour, linestyle=item.line, linewidth=1.8, transform=where)  # type: ignore[arg-type] # as given
                )
            if item.marker:
                middle = [sum(ends) / 2]
                figure.add_artist(
                    Line2D(
                        middle, [y], color=item.colour, linestyle="", marker=item.marker, markersize=5, transform=where
                    )
                )
            figure.text((x + _SAMPLE + 4) / width, y, item.name, fontsize=_LETTERS, va="center_baseline")
            x += _key_width(item)
