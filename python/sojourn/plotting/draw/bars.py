"""Bars in groups on a grid of panels with one scale, with the range of each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.scale import log_floor, plain
from sojourn.plotting.draw.sheet import Key, Part
from sojourn.plotting.draw.style import INK, WIDTH
from sojourn.plotting.draw.text import short, wrapped
from sojourn.plotting.draw.ticks import nice_ceiling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, or a part of a stack of bars."""

    row: str
    column: str
    """Of the panel in the grid."""
    group: str
    """Where on the horizontal axis; bars of one group stand side by side, or on one another."""
    series: str
    """What its colour tells."""
    value: float
    low: float = math.nan
    high: float = math.nan
    """Range over seeds."""
    note: str = ""
    """Written below it."""
    peak: float = math.nan
    """A second value, drawn as a mark above it."""
    seeds: Sequence[float] = ()
    """The value of each seed, where they are few: dots on it."""


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars with axes, colours and texts."""

    bars: Sequence[Bar]
    unit: str
    """The title of the vertical axis."""
    shows: str
    """A description for readers who do not see it."""
    below: str = ""
    """The title of the horizontal axis."""
    stacked: bool = False
    logarithmic: bool = False
    low: float | None = None
    high: float | None = None
    """Ends of the vertical axis (default: round numbers around the values)."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """Of series (default: the palette's in order)."""
    values: bool = True
    """Whether to write each value above its bar where there is room."""
    peak: str = ""
    """The name of the marks above the bars."""

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for: a page's whole width, or more if there are many bars."""
        rows, columns, groups = self._grid
        asked = 1.1 + sum(self._wide(column, groups[column], rows) for column in columns)
        return max(WIDTH, min(_WIDEST, asked)), (0.75 if self.below else 0.5) + (1.95 if len(rows) > 1 else 2.4) * len(
            rows
        )

    def part(self, title: str = "") -> Part:
        """Return it with what its colours and marks mean."""
        keys = [Key(name, colour, line="", area=True) for name, colour in self._colours.items() if name]
        if self.peak:
            keys.append(Key(self.peak))
        return Part(self, title, keys)

    @property
    def _colours(self) -> dict[str, str]:
        series = dict.fromkeys(bar.series for bar in self.bars)
        return {name: self.colours.get(name, flow_colour(index)) for index, name in enumerate(series)}

    @property
    def _grid(self) -> tuple[list[str], list[str], dict[str, list[str]]]:
        columns = ordered(bar.column for bar in self.bars)
        groups = {column: ordered(bar.group for bar in self.bars if bar.column == column) for column in columns}
        return ordered(bar.row for bar in self.bars), columns, groups

    def _wide(self, column: str, groups: Sequence[str], rows: Sequence[str]) -> float:
        """Return the best width of a panel: room for its bars and for the text below them."""
        counts: dict[tuple[str, str], int] = {}
        for bar in self.bars:
            if bar.column == column:
                counts[bar.row, bar.group] = counts.get((bar.row, bar.group), 0) + 1
        most = 1 if self.stacked else max((counts.get((row, group), 0) for row in rows for group in groups), default=1)
        return (
            sum(max(0.3 * most + 0.16, 0.068 * max(map(len, wrapped(group).split("\n"))) + 0.1) for group in groups)
            + 0.35
        )

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        rows, columns, groups = self._grid
        colours = self._colours
        # Panels as wide as their content, so that bars are about as wide everywhere.
        ratios = [self._wide(column, groups[column], rows) for column in columns]
        grid = figure.subplots(len(rows), len(columns), sharey=True, squeeze=False, width_ratios=ratios)
        ends = _ends(self)
        for r, row in enumerate(rows):
            for c, column in enumerate(columns):
                axes = grid[r][c]
                own = [bar for bar in self.bars if (bar.row, bar.column) == (row, column)]
                _panel(axes, self, own, groups[column], colours, ends)
                if r == 0 and column:
                    axes.set_title(column, fontweight="bold")
                if c == 0:
                    axes.set_ylabel(f"{row}\n{self.unit}" if row else self.unit)
        if self.below:
            figure.supxlabel(self.below, fontsize=9)


_WIDEST: Final = 12.5
"""Inches: on a page's frame its letters are just large enough."""


def _panel(
    axes: "Axes",
    chart: BarChart,
    bars: Sequence[Bar],
    groups: Sequence[str],
    colours: Mapping[str, str],
    ends: tuple[float, float],
) -> None:
    if chart.logarithmic:
        axes.set_yscale("log")
        plain(axes.yaxis, *ends)
    axes.set_ylim(*ends)
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    notes = []
    room = len(groups) <= _CROWDED
    for position, group in enumerate(groups):
        own = [bar for bar in bars if bar.group == group]
        wide = 0.74 if chart.stacked else 0.82 / max(1, len(own))
        foot = 0.0
        for index, bar in enumerate(own):
            x = position if chart.stacked else position - 0.41 + (index + 0.5) * wide
            if math.isnan(bar.value) or (chart.logarithmic and bar.value < ends[0]):
                # No bar below the floor of the axis: its number is written there instead.
                _instead(axes, x, ends[0], bar.value)
                notes.append((x, bar.note))
                continue
            bottom = ends[0] if chart.logarithmic else foot
            height = bar.value - (ends[0] if chart.logarithmic else 0)
            [drawn] = axes.bar(x, height, wide * 0.9, bottom=bottom, color=colours[bar.series])
            drawn.set_label(bar.series)
            if bar.high > bar.low:
                # In a stack the ranges are side by side, since those of two parts may overlap.
                shift = wide * 0.72 * ((index + 0.5) / len(own) - 0.5) if chart.stacked else 0.0
                axes.vlines(x + shift, foot + bar.low, foot + bar.high, color=INK, linewidth=0.9)
            if bar.seeds:
                axes.plot([x] * len(bar.seeds), bar.seeds, color=INK, linestyle="", marker=".", markersize=3.5)
            if chart.stacked:
                foot += bar.value
            if not math.isnan(bar.peak):
                axes.plot([x - 0.42 * wide, x + 0.42 * wide], [bar.peak] * 2, color=colours[bar.series], linewidth=1.6)
            if chart.values and not chart.stacked and room:
                _value(axes, x, bar)
            notes.append((x, bar.note))
    _below(axes, groups, notes)


def _below(axes: "Axes", groups: Sequence[str], notes: Sequence[tuple[float, str]]) -> None:
    """Write the text below the bars: the note of each bar, the label of each group."""
    axes.set_xticks(range(len(groups)), [wrapped(group) for group in groups])
    axes.tick_params(axis="x", length=0, pad=11 if any(note for _, note in notes) else 3)
    for x, note in notes:
        axes.annotate(
            note,
            (x, 0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, -2.5),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=_SMALL,
        )
    axes.set_xlim(-0.55, len(groups) - 0.45)


def _instead(axes: "Axes", x: float, floor: float, value: float) -> None:
    said = "–" if math.isnan(value) else short(value)
    axes.annotate(said, (x, floor), xytext=(0, 1.5), textcoords="offset points", ha="center", fontsize=_SMALL)


def _value(axes: "Axes", x: float, bar: Bar) -> None:
    top = max(v for v in (bar.value, bar.high, bar.peak, *bar.seeds) if not math.isnan(v))
    axes.annotate(
        short(bar.value),
        (x, top),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=_SMALL,
    )


def _ends(chart: BarChart) -> tuple[float, float]:
    """Return both ends of the vertical axis."""
    if chart.stacked:
        stacks: dict[tuple[str, str, str], float] = {}
        for bar in chart.bars:
            key = (bar.row, bar.column, bar.group)
            stacks[key] = stacks.get(key, 0.0) + (0.0 if math.isnan(bar.value) else bar.value)
        values = list(stacks.values())
    else:
        values = [v for bar in chart.bars for v in (bar.value, bar.high, bar.peak, *bar.seeds) if not math.isnan(v)]
    top = max(values, default=1.0)
    if chart.logarithmic:
        least = min((v for bar in chart.bars for v in (bar.value, bar.low) if v > 0), default=0.1)
        return (chart.low or log_floor(least / 1.2, top), chart.high or nice_ceiling(top * 1.2))
    return (chart.low or 0.0, chart.high or nice_ceiling(top * (1.0 if chart.stacked else 1.07)))


_CROWDED: Final = 14
_SMALL: Final = 8.0
"""Size of the text at bars, points."""
