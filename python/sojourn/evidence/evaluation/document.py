"""Documents that say how something is to be evaluated, as they are written down.

A file has the document's ``name``, its ``title``, the kind of its subject (``of``: ``cc``, ``qdisc`` or ``media``),
``how`` its verdicts come about, the ``references`` with figures in the build (words by name), the ``incumbents`` among
them (``incumbents_origin`` is the origin of a rule by them), ``notes`` on references, its rows, and the demands that no
run can test (``not_covered``, by section). Runs on the Linux engine take longer, so ``linux`` chooses some:
``settings`` of every suite, and cells (labels by axis) by suite. Without that table, all are run.

A row has the ``section``, the ``level`` in the document's own word, the ``criterion`` in a line, the ``suite`` to run,
and figures. A figure has a ``name``, a ``metric`` (of several the least counts), a ``unit`` for people, its cells
(``only``: labels by axis) and one rule: a ``bound``, with the ``origin`` of its number; or ``pair``, a comparison with
the worse of the incumbents in the same cell with the same seed: ``less`` or ``more`` is better, and the more generous
of a ``factor`` and an allowance (``plus``, in the metric's own unit) counts; or none, and it is only reported.
``of_full`` limits a pair of waits or RTTs to the value with this share of the place's buffer full, or to the worse
incumbent's own value if that is greater. Without it, a queue that is always full would be no worse than 1.25 times one
that is full at times. With ``worst`` the worst seed decides: a bound that one of them breaks fails, and a missing value
breaks it.
"""

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from sojourn.errors import UsageError
from sojourn.evidence.judging import Bound

Kind = Literal["cc", "qdisc", "media"]
"""What a document asks of: a congestion control of TCP or QUIC, a queue discipline, or the control of a call."""

_FIGURE_KEYS: Final = frozenset(
    {"name", "metric", "unit", "bound", "origin", "pair", "factor", "plus", "of_full", "only", "worst"}
)


@dataclass(frozen=True, slots=True)
class Pair:
    """No worse than the worse incumbent."""

    better: Literal["less", "more"]
    factor: float
    """At least 1: a value up to this factor from the worse incumbent's is still no worse."""
    plus: float
    """So is a value up to this far from it, in the metric's own unit."""
    of_full: float = 0.0
    """The share of the buffer that limits the allowance; 0 for no such limit."""

    def limit(self, incumbents: Sequence[float], most: float = math.inf) -> float:
        """Return the last value that is no worse.

        >>> Pair("less", 1.25, 5.0).limit([10.0, 40.0]), Pair("more", 1.25, 0.0).limit([10.0, 40.0])
        (50.0, 8.0)
        >>> Pair("less", 1.25, 5.0).limit([40.0], most=48.0), Pair("less", 1.25, 5.0).limit([49.0], most=48.0)
        (48.0, 49.0)

        Args:
            incumbents: what those have that it is compared with.
            most: the limit's own limit, unless the worse incumbent is beyond it.
        """
        if self.better == "less":
            worst = max(incumbents)
            return max(worst, min(max(worst * self.factor, worst + self.plus), most))
        worst = min(incumbents)
        return min(worst / self.factor, worst - self.plus)

    def holds(self, value: float, limit: float) -> bool:
        """Return whether a value is no worse than the limit."""
        return value <= limit if self.better == "less" else value >= limit


@dataclass(frozen=True, slots=True)
class Figure:
    """Something that is measured, and the rule that judges it."""

    name: str
    metrics: tuple[str, ...]
    """Expressions; of several the least value counts."""
    unit: str
    rule: Bound | Pair | None
    """None where it is only reported."""
    origin: str
    """The origin of the rule's number; empty where there is none."""
    only: Mapping[str, tuple[str, ...]]
    """The cells that are meant, by axis; an axis that is not named is free."""
    worst: bool = False
    """Whether one seed that breaks the rule is enough to fail."""

    @property
    def of_full(self) -> float:
        """The share of the buffer that a pair's limit does not exceed; 0 where that does not count."""
        return self.rule.of_full if isinstance(self.rule, Pair) else 0.0

    def means(self, labels: Mapping[str, str]) -> bool:
        """Return whether a cell of these labels is meant."""
        return all(labels.get(axis) in wanted for axis, wanted in self.only.items())


@dataclass(frozen=True, slots=True)
class Row:
    """A criterion."""

    id: str
    section: str
    level: str
    criterion: str
    suite: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Linux:
    """The part of a document that is run on the Linux engine."""

    settings: tuple[str, ...]
    """Set in every suite."""
    cells: Mapping[str, Mapping[str, tuple[str, ...]]]
    """The labels that are run, by axis, by suite; a suite that is not here is not run."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a document asks."""

    name: str
    title: str
    about: str
    of: Kind
    how: str
    """How its verdicts come about, for pages."""
    references: Mapping[str, str]
    """Subjects with figures in the build: words by name."""
    incumbents: tuple[str, ...]
    """The incumbents, by the names of the references."""
    rows: tuple[Row, ...]
    not_covered: Mapping[str, str]
    """Why there is no row, by section."""
    linux: Linux | None = None
    """The part to run on the Linux engine; everything if None."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Remarks on references for tables that compare verdicts, by name."""

    @property
    def suites(self) -> list[str]:
        """The suites of its rows, each once."""
        return list(dict.fromkeys(row.suite for row in self.rows))


@functools.cache
def documents() -> Mapping[str, Path]:
    """Return the files of the documents that there are, by name."""
    folder = Path(str(files("sojourn.evidence.evaluation")))
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def read(name: str) -> Document:
    """Return the document of this name.

    Raises:
        UsageError: if there is none, with the nearest.
    """
    found = documents()
    if name not in found:
        raise UsageError.unknown("document", name, list(found))
    tree = tomllib.loads(found[name].read_text(encoding="utf-8"))
    return Document(
        tree["name"],
        tree["title"],
        tree["about"],
        tree["of"],
        tree["how"],
        tree["references"],
        tuple(tree["incumbents"]),
        tuple(_row(row, tree.get("incumbents_origin", "")) for row in tree["row"]),
        tree["not_covered"],
        _linux(tree["linux"]) if "linux" in tree else None,
        tree.get("notes", {}),
    )


def _linux(table: Mapping[str, Any]) -> Linux:
    cells = {
        suite: {axis: tuple(labels) for axis, labels in own.items()} for suite, own in table.get("cells", {}).items()
    }
    return Linux(tuple(table.get("settings", ())), cells)


def _row(row: Mapping[str, Any], incumbents_origin: str) -> Row:
    figures = tuple(_figure(figure, incumbents_origin) for figure in row["figure"])
    return Row(row["id"], row["section"], row["level"], row["criterion"], row["suite"], figures)


def _figure(figure: Mapping[str, Any], incumbents_origin: str) -> Figure:
    if unknown := figure.keys() - _FIGURE_KEYS:
        raise ValueError(f"{figure['name']}: there is no {', '.join(sorted(unknown))}")
    metric = figure["metric"]
    rule: Bound | Pair | None = None
    origin = figure.get("origin", "")
    if "bound" in figure:
        rule = Bound.parse(figure["bound"])
    elif "pair" in figure:
        rule = Pair(figure["pair"], figure.get("factor", 1.0), figure.get("plus", 0.0), figure.get("of_full", 0.0))
        origin = origin or incumbents_origin
    return Figure(
        figure["name"],
        (metric,) if isinstance(metric, str) else tuple(metric),
        figure.get("unit", ""),
        rule,
        origin,
        {axis: tuple(labels) for axis, labels in figure.get("only", {}).items()},
        figure.get("worst", False),
    )
