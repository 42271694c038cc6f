"""Values against an axis: lines with the range of each point, or scattered points with ellipses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sojourn.core.cells import ordered
from sojourn.plotting.draw.palette import LINES, flow_colour, line_style, marker
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.sheet import Key, Part
from sojourn.plotting.draw.style import QUEUE, WIDTH, wrapped_panels
from sojourn.plotting.draw.text import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


@dataclass(frozen=True, slots=True)
class Point:
    """A value over the seeds of a cell."""

    row: str
    """The title of the vertical axis of its row of panels."""
    panel: str
    colour: str
    """The label that its colour tells."""
    dash: str
    """The label that its marker and the dashes of its line tell."""
    x: float
    """Where; a number along the axis, or the place of its label."""
    mean: float
    low: float
    high: float
    x_low: float = math.nan
    x_high: float = math.nan
    """Range of where, if that is measured too."""
    seeds: Sequence[float] = ()
    """The value of each seed, where they are few: dots next to it."""


@dataclass(frozen=True, slots=True)
class Ellipse:
    """Where the runs of a cell lie: one standard deviation of the Gaussian that fits them best."""

    x: float
    y: float
    long: float
    """Half of its longer axis, in the units of both axes."""
    short: float
    angle: float
    """Of the longer axis, radians."""

    @classmethod
    def around(cls, points: Sequence[tuple[float, float]]) -> "Ellipse | None":
        """Return the contour of one standard deviation; None of fewer than three points, which have none.

        The covariance is that of greatest likelihood, divided by n (Winstein, Balakrishnan: TCP ex Machina, 2013).

        >>> Ellipse.around([(-1.0, 0.0), (1.0, 0.0), (0.0, 2.0), (0.0, -2.0)]).short
        0.7071067811865476
        """
        if len(points) < _FEWEST:
            return None
        n = len(points)
        mx, my = math.fsum(x for x, _ in points) / n, math.fsum(y for _, y in points) / n
        xx = math.fsum((x - mx) ** 2 for x, _ in points) / n
        yy = math.fsum((y - my) ** 2 for _, y in points) / n
        xy = math.fsum((x - mx) * (y - my) for x, y in points) / n
        middle, spread = (xx + yy) / 2, math.hypot((xx - yy) / 2, xy)
        angle = 0.5 * math.atan2(2 * xy, xx - yy)
        return cls(mx, my, math.sqrt(middle + spread), math.sqrt(max(middle - spread, 0.0)), angle)

    def outline(self) -> tuple[list[float], list[float]]:
        """Return its points in order; a path keeps its shape on any axis."""
        turns = [2 * math.pi * step / _STEPS for step in range(_STEPS + 1)]
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        along = [(self.long * math.cos(t), self.short * math.sin(t)) for t in turns]
        return [self.x + a * cos - b * sin for a, b in along], [self.y + a * sin + b * cos for a, b in along]


_FEWEST: Final = 3
_STEPS: Final = 72


@dataclass(frozen=True, slots=True)
class PointChart:
    """Points on a grid of panels: a row for each thing that is shown, a column for each label of the panels' axis."""

    points: Sequence[Point]
    below: str
    """The title of the horizontal axis."""
    shows: str
    ticks: Sequence[str] = ()
    """The labels along the horizontal axis, at 0, 1, 2, …; numbers are there if it is empty."""
    joined: bool = True
    """Whether lines join the points."""
    ellipses: Sequence[tuple[str, str, str, Ellipse]] = field(default=())
    """Each with the row, the panel and the colour that it is of."""
    log: str = ""
    """Which axes are logarithmic: ``x``, ``y``, ``xy``."""
    reversed: bool = False
    """Whether the horizontal axis runs to the left."""
    tops: Mapping[str, float] = field(default_factory=dict)
    """Where vertical axes end, by row, if that is known."""

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        rows, _ = self._grid
        columns, lines = self._lines
        return max(WIDTH, min(_WIDEST, 2.6 * columns)), 0.5 + (2.6 if lines == len(rows) == 1 else 2.0) * lines

    def part(self, title: str = "") -> Part:
        """Return it with what its colours and markers mean."""
        colours, dashes = self._order
        plain = len(dashes) < 2  # noqa: PLR2004 - nothing to tell
        line = "solid" if self.joined else ""
        keys = [Key(name, self._colour(name), line, "o" if plain else "") for name in colours if name]
        if not plain:
            keys = [Key(name, self._colour(name), line="", area=True) for name in colours if name]
            keys += [Key(name, line=line and line_style(i), marker=marker(i)) for i, name in enumerate(dashes)]
        return Part(self, title, keys)

    @property
    def _grid(self) -> tuple[list[str], list[str]]:
        return list(dict.fromkeys(p.row for p in self.points)), ordered(p.panel for p in self.points)

    @property
    def _lines(self) -> tuple[int, int]:
        """Columns and rows of panels: those of one metric are wrapped, each of several has a row."""
        rows, panels = self._grid
        return wrapped_panels(len(panels)) if len(rows) == 1 else (len(panels), len(rows))

    @property
    def _order(self) -> tuple[list[str], list[str]]:
        return ordered(p.colour for p in self.points), ordered(p.dash for p in self.points)

    def _colour(self, label: str) -> str:
        """Return the colour of a label; without a label it is grey if other points have one."""
        named = [colour for colour in self._order[0] if colour]
        if not label:
            return QUEUE if named else flow_colour(0)
        return flow_colour(named.index(label))

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        rows, panels = self._grid
        columns, lines = self._lines
        grid = figure.subplots(lines, columns, sharex=True, sharey="row" if lines == len(rows) else True, squeeze=False)
        for axes in grid.flat[len(rows) * len(panels) :]:
            axes.set_visible(False)
        across = self._across()
        for r, row in enumerate(rows):
            own = [p for p in self.points if p.row == row]
            outlines = [v for of, _, _, e in self.ellipses if of == row for v in e.outline()[1]]
            values = [v for p in own for v in (p.mean, p.low, p.high, *p.seeds)]
            tall = Axis.of(values + outlines, logarithmic="y" in self.log)
            tall = Axis(tall.low, self.tops.get(row, tall.high), tall.logarithmic)
            for c, panel in enumerate(panels):
                place = c if len(rows) == 1 else r * len(panels) + c
                axes = grid.flat[place]
                self._panel(axes, [p for p in own if p.panel == panel])
                self._ellipses(axes, row, panel)
                tall.apply(axes)
                across.apply(axes, "x")
                if self.reversed:
                    axes.set_xlim(across.high, across.low)
                if self.ticks:
                    axes.set_xticks(range(len(self.ticks)), [wrapped(tick) for tick in self.ticks])
                if r == 0:
                    axes.set_title(panel, fontweight="bold")
                if place + columns >= len(rows) * len(panels):
                    axes.tick_params(axis="x", labelbottom=True)
                if place % columns == 0:
                    axes.set_ylabel(row if len(rows) == 1 else row.replace(" (", "\n("))
        figure.supxlabel(self.below, fontsize=9)
        figure.align_ylabels(list(grid[:, 0]))

    def _across(self) -> Axis:
        if self.ticks:
            return Axis(-0.3, len(self.ticks) - 0.7, logarithmic=False)
        values = [v for p in self.points for v in (p.x, p.x_low, p.x_high)]
        values += [v for *_, e in self.ellipses for v in e.outline()[0]]
        return Axis.of(values, logarithmic="x" in self.log)

    def _panel(self, axes: "Axes", points: Sequence[Point]) -> None:
        colours, dashes = self._order
        for colour in colours:
            for j, dash in enumerate(dashes):
                own = [p for p in points if (p.colour, p.dash) == (colour, dash) and not math.isnan(p.mean)]
                if self.joined:
                    own.sort(key=lambda p: p.x)
                if not own:
                    continue
                shown = self._colour(colour)
                if any(p.high > p.low for p in own):
                    ranges = [[max(p.mean - p.low, 0) for p in own], [max(p.high - p.mean, 0) for p in own]]
                    self._bars(axes, own, shown, y=ranges)
                if any(p.x_high > p.x_low for p in own):
                    along = [[max(p.x - p.x_low, 0) for p in own], [max(p.x_high - p.x, 0) for p in own]]
                    self._bars(axes, own, shown, x=along)
                axes.plot(
                    [p.x for p in own for _ in p.seeds],
                    [value for p in own for value in p.seeds],
                    color=shown,
                    linestyle="",
                    marker=".",
                    markersize=3.5,
                    alpha=0.55,
                )
                axes.plot(
                    [p.x for p in own],
                    [p.mean for p in own],
                    color=shown,
                    linestyle=line_style(j) if self.joined else "",
                    marker=marker(j % len(LINES) if self.joined else j),
                    markersize=4.5 if self.joined else 5.5,
                    label=", ".join(filter(None, (colour, dash))),
                )

    @staticmethod
    def _bars(
        axes: "Axes",
        points: Sequence[Point],
        colour: str,
        *,
        x: Sequence[Sequence[float]] | None = None,
        y: Sequence[Sequence[float]] | None = None,
    ) -> None:
        axes.errorbar(
            [p.x for p in points],
            [p.mean for p in points],
            xerr=x,
            yerr=y,
            color=colour,
            linestyle="",
            capsize=2.5,
            elinewidth=1.0,
        )

    def _ellipses(self, axes: "Axes", row: str, panel: str) -> None:
        for of, where, colour, ellipse in self.ellipses:
            if (of, where) == (row, panel):
                x, y = ellipse.outline()
                shown = self._colour(colour)
                axes.fill(x, y, facecolor=shown, alpha=0.15, linewidth=0)
                axes.plot(x, y, color=shown, linewidth=0.9)


_WIDEST: Final = 12.5
