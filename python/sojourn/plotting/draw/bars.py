"""Bars in groups on a grid of panels with one scale, with the range of each."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.svg import render, styled
from sojourn.plotting.draw.ticks import nice_ceiling, nice_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK: Final = "#010101"
"""The page's text colour, see :mod:`sojourn.plotting.draw.svg`."""


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


@dataclass(frozen=True, slots=True)
class BarChart:
    """What is drawn around the bars."""

    bars: Sequence[Bar]
    unit: str
    """What the vertical axis shows."""
    below: str = ""
    """What the horizontal axis shows."""
    stacked: bool = False
    logarithmic: bool = False
    low: float | None = None
    high: float | None = None
    """Ends of the vertical axis; round numbers around the values unless given."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """Of series; the palette's in order unless given."""
    values: bool = True
    """Whether to write each value above its bar where there is room."""
    peak: str = ""
    """What the marks above the bars are."""


def draw(chart: BarChart, label: str) -> str:
    """Return the chart as an SVG element; ``label`` says what it shows to those who do not see it."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - as in styled()

    rows = ordered(bar.row for bar in chart.bars)
    columns = ordered(bar.column for bar in chart.bars)
    series = list(dict.fromkeys(bar.series for bar in chart.bars))
    colours = {name: chart.colours.get(name, flow_colour(index)) for index, name in enumerate(series)}
    groups = {column: ordered(bar.group for bar in chart.bars if bar.column == column) for column in columns}
    with styled():
        width = max(5.2, min(13.0, 1.1 + sum(_inches(chart, column, groups[column], rows) for column in columns)))
        figure = Figure(figsize=(width, 0.75 + 1.95 * len(rows)), layout="constrained")
        grid = figure.subplots(
            len(rows),
            len(columns),
            sharey=True,
            squeeze=False,
            width_ratios=[max(1, len(groups[column])) for column in columns],
        )
        low, high = _ends(chart)
        for r, row in enumerate(rows):
            for c, column in enumerate(columns):
                axes = grid[r][c]
                own = [bar for bar in chart.bars if (bar.row, bar.column) == (row, column)]
                _panel(axes, chart, own, groups[column], colours, (low, high))
                if r == 0 and column:
                    axes.set_title(column, fontweight="bold")
                if c == 0:
                    axes.set_ylabel(f"{row}\n{chart.unit}" if row else chart.unit)
        if chart.below:
            figure.supxlabel(chart.below, fontsize=9)
        _legend(figure, chart, colours)
        return render(figure, label, label)


def _inches(chart: BarChart, column: str, groups: Sequence[str], rows: Sequence[str]) -> float:
    """Return how wide a panel had better be: room for its bars and for what is written below them."""
    most = (
        1
        if chart.stacked
        else max(
            sum(1 for b in chart.bars if (b.row, b.column, b.group) == (row, column, group))
            for row in rows
            for group in groups
        )
    )
    return (
        sum(max(0.3 * most + 0.16, 0.068 * max(map(len, wrapped(group).split("\n"))) + 0.1) for group in groups) + 0.35
    )


def _panel(
    axes: "Axes",
    chart: BarChart,
    bars: Sequence[Bar],
    groups: Sequence[str],
    colours: Mapping[str, str],
    ends: tuple[float, float],
) -> None:
    if chart.logarithmic:
        _logarithmic(axes, ends)
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
            if math.isnan(bar.value):
                axes.annotate("–", (x, ends[0]), ha="center", va="bottom", fontsize=7)
                continue
            bottom = ends[0] if chart.logarithmic else foot
            axes.bar(
                x,
                bar.value - (ends[0] if chart.logarithmic else 0),
                wide * 0.9,
                bottom=bottom,
                color=colours[bar.series],
            )
            if chart.stacked:
                foot += bar.value
            elif bar.high > bar.low:
                axes.vlines(x, bar.low, bar.high, color=INK, linewidth=0.9)
            if not math.isnan(bar.peak):
                axes.plot([x - 0.42 * wide, x + 0.42 * wide], [bar.peak] * 2, color=colours[bar.series], linewidth=1.6)
            if chart.values and not chart.stacked and room:
                _value(axes, x, bar)
            notes.append((x, bar.note))
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
            fontsize=6.5,
        )
    axes.set_xlim(-0.55, len(groups) - 0.45)


def _value(axes: "Axes", x: float, bar: Bar) -> None:
    top = max(v for v in (bar.value, bar.high, bar.peak) if not math.isnan(v))
    axes.annotate(
        short(bar.value),
        (x, top),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=6.5,
    )


def _logarithmic(axes: "Axes", ends: tuple[float, float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - as in styled()

    axes.set_yscale("log")
    if ends[1] < _DECADES * ends[0]:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _ends(chart: BarChart) -> tuple[float, float]:
    """Return both ends of the vertical axis."""
    if chart.stacked:
        stacks: dict[tuple[str, str, str], float] = {}
        for bar in chart.bars:
            key = (bar.row, bar.column, bar.group)
            stacks[key] = stacks.get(key, 0.0) + (0.0 if math.isnan(bar.value) else bar.value)
        values = list(stacks.values())
    else:
        values = [v for bar in chart.bars for v in (bar.value, bar.high, bar.peak) if not math.isnan(v)]
    top = max(values, default=1.0)
    if chart.logarithmic:
        least = min((v for bar in chart.bars for v in (bar.value, bar.low) if v > 0), default=0.1)
        return (chart.low or nice_floor(least / 1.2), chart.high or nice_ceiling(top * 1.2))
    return (chart.low or 0.0, chart.high or nice_ceiling(top * (1.0 if chart.stacked else 1.07)))


def _legend(figure: "Figure", chart: BarChart, colours: Mapping[str, str]) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - as in styled()
    from matplotlib.patches import Patch  # noqa: PLC0415

    handles: list[Patch | Line2D] = [Patch(color=colour, label=name) for name, colour in colours.items() if name]
    if chart.peak:
        handles.append(Line2D([], [], color=INK, linewidth=1.6, label=chart.peak))
    if handles:
        figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), handlelength=1.1, borderpad=0.1)


def short(value: float) -> str:
    """Return a number with as many digits as a reader of a bar wants.

    >>> short(47.82), short(0.0042), short(3.14159), short(812.3)
    ('48', '0.0042', '3.1', '812')
    """
    return f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"  # noqa: PLR2004 - two digits up to there


def wrapped(label: str) -> str:
    r"""Return a label in two lines where it is long and has a place to break nearest its middle.

    >>> wrapped("cubic-prague"), wrapped("dualpi2")
    ('cubic-\nprague', 'dualpi2')
    """
    places = [match.end() for match in re.finditer(r"[-, ]+", label)]
    if len(label) <= _LONG or not places:
        return label
    at = min(places, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:at].rstrip(' ')}\n{label[at:]}"


_LONG: Final = 9
_CROWDED: Final = 14
_DECADES: Final = 1000
