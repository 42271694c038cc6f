"""Parity of three engines or more: one table with a column for each, and the comparison of every two.

A cell agrees in a metric if the means of every two engines differ by no more than the metric's margin. It differs if
two means are further apart, and their 95 % interval excludes zero. Otherwise the runs do not decide.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from sojourn.core.cells import group
from sojourn.core.run import Run
from sojourn.core.spread import Spread
from sojourn.evidence.parity.engines import Engines, title_of
from sojourn.evidence.parity.pairs import (
    ENOUGH,
    METRICS,
    Comparison,
    Line,
    Metric,
    Pair,
    both,
    compare,
    difference,
    interval,
    named,
    summary,
)

_BY_KEY: Final = {metric.key: metric for metric in METRICS}
COMPARED: Final = (
    replace(_BY_KEY["share"], absolute=0.05),
    replace(_BY_KEY["queue_delay_mean"], absolute=0.3, relative=0.1),
)
"""The metrics of these tables and their margins: 0.05 of the share; a tenth of the mean queue delay, or 0.3 ms."""


class Agreement(enum.StrEnum):
    """Whether all engines agree in one metric of one cell."""

    AGREE = "agree"
    DIFFER = "differ"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one cell on every engine."""

    title: str
    metric: Metric
    values: Sequence[Spread]
    """In the order of the engines."""
    comparisons: Sequence[Comparison]
    """Of every two engines, in the order of :attr:`Columns.engines`."""

    @property
    def agreement(self) -> Agreement:
        """Whether all engines agree."""
        apart = [c for c in self.comparisons if abs(c.difference) > c.margin]
        if not apart:
            return Agreement.AGREE
        return Agreement.DIFFER if any(c.estimate.significant for c in apart) else Agreement.NOT_DECIDED


@dataclass(frozen=True, slots=True)
class Columns:
    """All cells that every engine ran."""

    names: Sequence[str]
    engines: Sequence[Engines]
    """Every two."""
    rows: Sequence[Row]
    lines: Sequence[Sequence[Line]]
    """For every two engines their metrics over all cells, by discipline and by senders."""
    left_out: int
    """The number of cells without a valid run on one of the engines."""

    def count(self, metric: str, agreement: Agreement | None = None) -> int:
        """Return the number of cells, or of those with this agreement."""
        return sum(row.metric.key == metric and agreement in {None, row.agreement} for row in self.rows)

    @property
    def holds(self) -> bool:
        """Whether all engines agree in nine of ten cells, in each metric. Nothing holds without a cell."""
        keys = {row.metric.key for row in self.rows}
        return bool(keys) and all(self.count(key, Agreement.AGREE) >= ENOUGH * self.count(key) for key in keys)


def columns(names: Sequence[str], runs: Sequence[Sequence[Run]]) -> Columns:
    """Compare every two of these engines.

    Args:
        names: the engines.
        runs: the runs of each.
    """
    pairs: dict[tuple[str, str], dict[tuple[str, str], Pair]] = {}
    engines = [Engines(first, second) for first, second in combinations(names, 2)]
    by_name = dict(zip(names, runs, strict=True))
    for own in engines:
        found = compare(both(by_name[own.first], by_name[own.second]), own, COMPARED)
        pairs[own.names] = {(pair.experiment, pair.title): pair for pair in found}
    first, *rest = pairs.values()
    everywhere = [place for place in first if all(place in other for other in rest)]
    rows = [
        row for place in everywhere for row in _rows(place[1], names, {key: own[place] for key, own in pairs.items()})
    ]
    lines = [summary([own[place] for place in everywhere]) for own in pairs.values()]
    left_out = max(len(group(own)) for own in runs) - len(everywhere)
    return Columns(names, engines, rows, lines, left_out)


def _rows(title: str, names: Sequence[str], pairs: Mapping[tuple[str, str], Pair]) -> list[Row]:
    found = []
    for compared in zip(*(pair.comparisons for pair in pairs.values()), strict=True):
        values: dict[str, Spread] = {}
        for (first, second), c in zip(pairs, compared, strict=True):
            values |= {first: c.first, second: c.second}
        if all(own.seeds for own in values.values()):
            found.append(Row(title, compared[0].metric, [values[name] for name in names], compared))
    return found


def column_heads(names: Sequence[str]) -> list[str]:
    """Return the headings of :func:`column_rows`."""
    return [
        "cell",
        "metric",
        *(title_of(name).removeprefix("the ") for name in names),
        "largest difference",
        "agreement",
    ]


def column_rows(found: Columns) -> list[list[str]]:
    """Return each metric of each cell: mean and range on every engine, the largest difference, the verdict."""
    table = []
    for row in found.rows:
        worst = max(row.comparisons, key=lambda c: abs(c.shown))
        digits = 3 if row.metric.several else 2
        values = [f"{own.mean:.{digits}f} ({own.low:.{digits}f}–{own.high:.{digits}f})" for own in row.values]
        shown = difference(row.metric.key, worst.shown)
        table.append([row.title, named(row.comparisons[0]), *values, shown, row.agreement.value])
    return table


PAIR_HEADS: Final = (
    "engines",
    "metric",
    "cells",
    "within the margin",
    "beyond chance",
    "mean difference",
    "its 95 % interval",
)


def pair_rows(found: Columns) -> list[list[str]]:
    """Return for every two engines how many cells are within the margin, and the mean difference."""
    table = []
    for place, (engines, lines) in enumerate(zip(found.engines, found.lines, strict=True)):
        for line in lines:
            if line.by != "all":
                continue
            own = [row.comparisons[place] for row in found.rows if row.metric.key == line.metric]
            within = sum(abs(c.difference) <= c.margin for c in own)
            mean = difference(line.metric, line.mean)
            heads = " and ".join(engines.heads)
            significant = str(line.significant)
            table.append([heads, line.metric, str(len(own)), str(within), significant, mean, interval(line)])
    return table


def columns_markdown(found: Columns) -> str:
    """Return both tables as Markdown."""

    def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]

    both_tables = [*table(PAIR_HEADS, pair_rows(found)), "", *table(column_heads(found.names), column_rows(found))]
    return "\n".join(both_tables) + "\n"


def columns_json(found: Columns) -> list[Mapping[str, Any]]:
    """Return every metric of every cell, with keys that name their units."""
    return [
        {
            "cell": row.title,
            "metric": row.metric.key,
            "unit": row.metric.unit,
            "engines": {
                name: {"mean": own.mean, "low": own.low, "high": own.high, "runs": own.seeds}
                for name, own in zip(found.names, row.values, strict=True)
            },
            "differences": [
                {
                    "engines": engines.names,
                    "difference": c.difference,
                    "margin": c.margin,
                    "significant": c.estimate.significant,
                    "verdict": c.verdict.value,
                }
                for engines, c in zip(found.engines, row.comparisons, strict=True)
            ],
            "agreement": row.agreement.value,
        }
        for row in found.rows
    ]
