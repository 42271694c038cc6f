"""Metrics of cells against their axes: the axes for the horizontal axis, for colours, dashes and panels.

For the kinds that draw any metric. A metric of each flow (``{flow}``) has the axis ``flow`` besides those of the cells.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import polars as pl

from sojourn import _core
from sojourn.core import queues
from sojourn.core.cells import Cell, ordered
from sojourn.core.measured import seeds_said
from sojourn.core.select import axes_of, labelled
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.plotting import labels as naming
from sojourn.plotting.kind import Option, Options
from sojourn.plotting.labels import Label
from sojourn.views.summary_table import Asked

FLOW: Final = "flow"
"""The axis of a metric that each flow has."""

NONE: Final = "-"
"""Given as an axis: none."""

X: Final = Option("x", "the axis along the horizontal axis (default: the last that varies)")
COLOUR: Final = Option("colour", "the axis that colours tell; the flows, or the first left, if empty; none if it is -")
DASH: Final = Option("dash", "the axis that dashes and markers tell; the next left if empty; none if it is -")
PANEL: Final = Option("panel", "the axis with one panel per label (default: the remaining one; -: one panel)")
WINDOW: Final = Option(
    "window", "where to measure, in the words of metrics (over last 20s, during NAME); the default window if empty"
)
STATISTIC: Final = Option(
    "statistic",
    "what of the seeds is drawn; of fewer than ten the median, with a dot for each seed, else the mean, if empty",
    "",
    ("", "mean", "median"),
)
LOG: Final = Option("log", "which axes are logarithmic", "", ("", "x", "y", "xy"))


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric of a cell, or of one of its flows."""

    metric: str
    """As it was asked for."""
    cell: Cell
    labels: Mapping[str, str]
    """By axis, ``flow`` included."""
    values: Sequence[float]
    """By run, in the unit of :attr:`label`."""
    label: Label

    @property
    def spread(self) -> Spread:
        """Over the seeds."""
        return Spread.of(self.values)

    @property
    def there(self) -> list[float]:
        """The values that runs have."""
        return [value for value in self.values if not math.isnan(value)]

    @property
    def dots(self) -> list[float]:
        """The values of few seeds, which figures show one by one; none where there is one seed, or many."""
        return self.there if 1 < len(self.there) < FEW else []

    def drawn(self, statistic: str) -> float:
        """Return the value over the seeds for a figure, by :data:`STATISTIC`: one far out moves a mean of three."""
        if statistic == "median" or (not statistic and self.dots):
            return median(self.there) if self.there else math.nan
        return self.spread.mean


MOST: Final = 24
"""Panels of a figure: more cannot be read."""

FEW: Final = 10
"""Of fewer seeds a figure shows each, and the median."""


def of_seeds_said(found: Sequence[Measured], cells: Sequence[Cell], statistic: str) -> str:
    """Return in words what the values of a figure are (a median of ten seeds), and what dots and thin lines mean."""
    dots = any(one.dots for one in found)
    what = statistic or ("median" if dots else "mean")
    seeds = seeds_said(cells)
    of = seeds if seeds == "one seed" else f"{what} of {seeds}"
    ranges = any(one.spread.high > one.spread.low and not one.dots for one in found)
    notes = [*(["each dot is a seed"] if dots else []), *(["the thin lines span the seeds"] if ranges else [])]
    return "; ".join([of, *notes])


def metrics_of(option: str) -> list[str]:
    """Return the metrics of an option: with commas or semicolons between them, those within parentheses aside.

    >>> metrics_of("p99(srtt, {flow}), goodput({flow}); jain(goodput)")
    ['p99(srtt, {flow})', 'goodput({flow})', 'jain(goodput)']
    """
    found, depth, start = [], 0, 0
    for at, letter in enumerate(option):
        depth += (letter == "(") - (letter == ")")
        if letter in ",;" and depth == 0:
            found.append(option[start:at])
            start = at + 1
    return [text.strip() for text in [*found, option[start:]] if text.strip()]


def measured_each(cells: Sequence[Cell], options: Options, kind: str) -> list[list[Measured]]:
    """Measure each metric that a kind's option ``y`` names, in its window.

    Raises:
        UsageError: if it names none, or as :func:`measured`.
    """
    wanted = metrics_of(options["y"])
    if not wanted:
        raise UsageError(f"{kind} needs a metric to draw", help="y=jain(goodput), for example")
    found = {expression: measured(cells, expression, options["window"]) for expression in dict.fromkeys(wanted)}
    own = naming.apart({expression: values[0].label for expression, values in found.items()})
    return [[replace(one, label=own[expression]) for one in values] for expression, values in found.items()]


def of_means_said(cells: Sequence[Cell], metrics: Iterable[str]) -> str:
    """Return a caption's note on metrics that look at means and not at packets; empty if none does."""
    return "".join(f" {said}." for metric in metrics if (said := naming.of_means(metric, interval_of(cells))))


def interval_of(cells: Sequence[Cell]) -> str:
    """Return the sample interval of these cells; empty if they differ in it."""
    found = {str(cell.scenario["sample_interval"]) for cell in cells}
    return found.pop() if len(found) == 1 else ""


def measured(cells: Sequence[Cell], expression: str, window: str = "") -> list[Measured]:
    """Measure a metric of every cell, once for each of its flows if it names ``{flow}``.

    Raises:
        UsageError: if it is wrong, or no run has a value for it, with what to write to have one.
    """
    label = naming.of_metric(expression, interval_of(cells))
    if "{queue}" in expression and (queue := _queue_said(cells)):
        label = replace(label, name=f"{label.name}: {queue}")
    asked = Asked(expression, expression, names_queue=False)
    found: list[Measured] = []
    for cell in cells:
        wanted = asked.of(cell)
        full = [f"{own} {window}".rstrip() for _, own in wanted]
        by_run = [run.measure(full) for run in cell.runs]
        for index, (of, _) in enumerate(wanted):
            named = {**axes_of(cell), **({FLOW: of} if of else {})}
            values = [run[index] * label.scale for run in by_run]
            found.append(Measured(expression, cell, named, values, label))
    if all(math.isnan(value) for one in found for value in one.values):
        first = cells[0].runs[0]
        for _, own in asked.of(cells[0]):
            if (why := first.not_recorded(f"{own} {window}".rstrip())) is not None:
                raise why
        raise UsageError(f"no run has a value of {expression}", help="`sojourn table DIR METRIC` shows what they have")
    return found


def _queue_said(cells: Sequence[Cell]) -> str:
    """Return which queue is the bottleneck of these cells, if data passes several of them and it is the same in all."""
    said = set()
    for cell in cells:
        main = queues.bottleneck(cell.scenario)
        said.update(queues.names(cell.scenario, [main]) if main else [""])
    return said.pop() if len(said) == 1 else ""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which axis is where; an empty name is none."""

    x: str
    colour: str
    dash: str
    panels: Sequence[str]

    @classmethod
    def of(cls, labels: Sequence[Mapping[str, str]], options: Mapping[str, str], taken: Sequence[str] = ()) -> "Roles":
        """Return the roles of the axes.

        Args:
            labels: by axis, of everything that is drawn.
            options: those of ``x``, ``colour``, ``dash`` and ``panel`` that the kind has.
            taken: axes that are shown otherwise.

        Raises:
            UsageError: if an option names an axis that is not there.
        """
        every = list(dict.fromkeys(axis for own in labels for axis in own))
        for option in ("x", "colour", "dash", "panel"):
            named = options.get(option, "")
            if named not in {"", NONE, *every}:
                raise UsageError.unknown(f"axis for {option}", named, every)
        said = {options[option] for option in ("x", "colour", "dash", "panel") if option in options}
        varied = [a for a in every if len({own.get(a, "") for own in labels}) > 1 and a not in taken]
        left = [a for a in varied if a not in said]
        x = ""
        if "x" in options:
            usual = [a for a in left if a not in {FLOW, "scenario", "engine"}] or left
            numbers = [a for a in usual if Places.of([own[a] for own in labels if a in own], a).numbers]
            x = options["x"] or next(reversed(numbers or usual), "")
            left = [a for a in left if a != x]
        left.sort(key=lambda axis: axis != FLOW)  # flows first: everywhere else they have the colours
        colour = cls._taken("colour", options, left)
        dash = cls._taken("dash", options, left)
        panel = options.get("panel", "")
        if panel == NONE and left:
            raise UsageError(
                f"{', '.join(left)} would be indistinguishable in one panel",
                help="choose some cells with --cell",
            )
        panels = [panel, *left] if panel not in {"", NONE} else left
        return cls("" if x == NONE else x, colour, dash, panels)

    @staticmethod
    def _taken(role: str, options: Mapping[str, str], left: list[str]) -> str:
        """Return the axis of a role; the first that is left if none is named."""
        if role not in options or options[role] == NONE:
            return ""
        named = options[role] or (left[0] if left else "")
        if named in left:
            left.remove(named)
        return named

    def in_panels(self, labels: Iterable[Mapping[str, str]]) -> "Roles":
        """Return these roles, if a figure can show as many panels as they make of these labels.

        Raises:
            UsageError: if they are more than :data:`MOST`, with what folds them.
        """
        panels = {self.panel(own) for own in labels}
        if len(panels) > MOST:
            raise UsageError(
                f"these are {len(panels)} panels ({', '.join(self.panels)}), and a figure shows up to {MOST}",
                help="choose cells with --cell, or give an axis colours or dashes: colour=AXIS, dash=AXIS",
            )
        return self

    def series(self, labels: Mapping[str, str]) -> tuple[str, str]:
        """Return the labels that its colour and its dashes show."""
        return titled(self.colour, labels), titled(self.dash, labels)

    def panel(self, labels: Mapping[str, str]) -> str:
        """Return the name of the panel that something belongs to."""
        return ", ".join(text for axis in self.panels if (text := titled(axis, labels)))


def titled(axis: str, labels: Mapping[str, str]) -> str:
    """Return a label for keys and titles: a number gets the name of its axis.

    >>> titled("buffer", {"buffer": "0.5"}), titled("queue", {"queue": "pie"}), titled("rtt", {})
    ('buffer 0.5', 'pie', '')
    """
    label = labels.get(axis, "")
    return f"{axis} {label}" if label[:1].isdigit() else label


@dataclass(frozen=True, slots=True)
class Places:
    """Where labels are along the horizontal axis: at their numbers, or side by side."""

    title: str
    at: Mapping[str, float]
    ticks: Sequence[str] = ()
    """The labels in order; empty where they are numbers."""

    @property
    def numbers(self) -> bool:
        """Whether they are at their numbers."""
        return not self.ticks

    @classmethod
    def of(cls, labels: Iterable[str], axis: str) -> "Places":
        """Return where these labels of an axis are.

        >>> Places.of(["500kbit", "10mbit"], "rate")
        Places(title='rate (Mbit/s)', at={'10mbit': 10.0, '500kbit': 0.5}, ticks=())
        >>> Places.of(["pie", "codel"], "queue").ticks
        ['codel', 'pie']
        """
        own = ordered(labels)
        for unit, scale, read in _READERS:
            try:
                at = {label: read(label) * scale for label in own}
            except ValueError:
                continue
            if len(set(at.values())) == len(own) > 1:
                return cls(f"{axis} ({unit})" if unit else axis, at)
        return cls(axis, {label: float(index) for index, label in enumerate(own)}, own)


def _number(label: str) -> float:
    if not _PLAIN.fullmatch(label):
        raise ValueError(label)
    return float(label)


def _bdp(label: str) -> float:
    return _number(label.lower().removesuffix("bdp")) if label.lower().endswith("bdp") else _number("")


_PLAIN: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?")

_READERS: Final = (
    ("", 1.0, _number),
    ("BDP", 1.0, _bdp),
    ("ms", 1e3, _core.parse_span),
    ("Mbit/s", 1e-6, _core.parse_rate),
)
"""Unit, factor of a number in base units, and the parser of labels of that kind."""


def rows_of(found: Iterable[Measured]) -> pl.DataFrame:
    """Return the values as the figure's table: labels, the metric, its unit, mean, range, seeds."""
    rows = []
    for one in found:
        spread = one.spread
        own = {
            "metric": one.metric,
            "unit": one.label.unit,
            "mean": spread.mean,
            "median": median(one.there) if one.there else math.nan,
            "low": spread.low,
            "high": spread.high,
            "seeds": spread.seeds,
        }
        rows.append(labelled(one.labels, own))
    return pl.DataFrame(rows, infer_schema_length=None)
