"""What the runs of a document's suites measured, by subject, suite, cell, metric and seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.run import Run
from sojourn.evidence.evaluation import reach
from sojourn.evidence.evaluation.document import Document

Cell = tuple[tuple[str, str], ...]
"""(axis, label), in the suite's order."""


@dataclass(slots=True)
class Values:
    """Values of one subject. A metric without a value in a run is NaN."""

    by_place: dict[tuple[str, Cell, str], dict[int, float]] = field(default_factory=dict)
    """Values by seed, of (suite, cell, metric)."""

    def add(self, suite: str, cell: Cell, metric: str, seed: int, value: float) -> None:
        """Take note of a value."""
        self.by_place.setdefault((suite, cell, metric), {})[seed] = value

    def json(self) -> list[Any]:
        """Return them as lists; a value has six digits."""
        return [
            [suite, [list(label) for label in cell], metric, {str(seed): _digits(value) for seed, value in own.items()}]
            for (suite, cell, metric), own in self.by_place.items()
        ]

    @classmethod
    def from_json(cls, lists: Iterable[Any]) -> "Values":
        """Return what :meth:`json` gave."""
        values = cls()
        for suite, cell, metric, own in lists:
            for seed, value in own.items():
                labels = tuple((axis, label) for axis, label in cell)
                values.add(suite, labels, metric, int(seed), math.nan if value is None else value)
        return values

    def most(self, suite: str, cell: Cell, metric: str, seed: int) -> float:
        """Return what a limit of a metric does not exceed there; infinity if nothing says."""
        value = self.by_place.get((suite, cell, most_of(metric)), {}).get(seed, math.nan)
        return math.inf if math.isnan(value) else value

    def cells(self, suite: str) -> list[Cell]:
        """Return the suite's cells, in the order in which they were met."""
        return list(dict.fromkeys(cell for own, cell, _ in self.by_place if own == suite))

    def least(self, suite: str, cell: Cell, metrics: Sequence[str]) -> Mapping[int, float]:
        """Return the least of the metrics' values by seed; NaN where one of them has none."""
        of = [self.by_place.get((suite, cell, metric), {}) for metric in metrics]
        seeds = dict.fromkeys(seed for values in of for seed in values)
        return {seed: _least([values.get(seed, math.nan) for values in of]) for seed in seeds}


def _digits(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.6g}")


def _least(values: Sequence[float]) -> float:
    return math.nan if any(math.isnan(value) for value in values) else min(values)


def measure(into: Values, document: Document, suite: str, runs: Iterable[Run]) -> None:
    """Add what the runs of a suite say to what is known: each figure of the document in the cells that it means."""
    figures = [figure for row in document.rows if row.suite == suite for figure in row.figures]
    for run in runs:
        cell = run.scenario.labels
        metrics = [metric for figure in figures if figure.means(dict(cell)) for metric in figure.metrics]
        metrics = list(dict.fromkeys(metrics))
        for metric, value in zip(metrics, run.measure(metrics), strict=True):
            into.add(suite, cell, metric, run.seed, value)
        for figure in figures:
            if figure.of_full and figure.means(dict(cell)):
                value = reach.most(figure.metrics[0], run.scenario, of_full=figure.of_full)
                into.add(suite, cell, most_of(figure.metrics[0]), run.seed, math.nan if math.isinf(value) else value)


def most_of(metric: str) -> str:
    """Return the name under which values keep what a limit of this metric does not exceed.

    >>> most_of("median(srtt, other)")
    'most median(srtt, other)'
    """
    return f"most {metric}"
