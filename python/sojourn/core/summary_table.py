"""Metrics of a results folder as a table: a row a cell, the mean over the seeds with their range."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from sojourn.core import describe
from sojourn.core.cells import Cell, ordered
from sojourn.core.measured import parties, spreads
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled, varied
from sojourn.core.spread import Spread
from sojourn.core.summary import COLUMNS, TCP, kind_of
from sojourn.errors import UsageError


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric that is wanted of every cell."""

    title: str
    expression: str
    """``{flow}`` stands for each flow or group that carries data, ``{queue}`` for the bottleneck."""
    scale: float = 1.0
    several: bool = False
    """Whether it says something only of more flows than one."""
    kinds: frozenset[str] | None = None
    """The kinds of flows that have it; all if None."""

    def of(self, cell: Cell) -> list[tuple[str, str]]:
        """Return what it is of (a flow, or nothing) and the expression to measure."""
        own = parties(cell.scenario)
        found = describe.bottleneck(cell.scenario)
        if "{queue}" in self.expression and found is None:
            return []
        if self.several and sum(kind_of(flow) in TCP for flow in describe.loads(cell.scenario)) < 2:  # noqa: PLR2004
            return []
        queue = found[0] if found else ""
        if "{flow}" not in self.expression:
            return [("", self.expression.replace("{queue}", queue))]
        return [
            (party.name, self.expression.replace("{flow}", party.name).replace("{queue}", queue))
            for party in own
            # Only rates have a meaning for a group.
            if (self.kinds is None or party.kind in self.kinds)
            and (party.flows == 1 or self.expression.startswith(("delivery_rate", "goodput", "sum", "share")))
        ]


USUAL: Final = tuple(
    Asked(
        f"{column.name}{f', {column.unit}' if column.unit else ''}",
        column.metric,
        column.scale,
        column.several,
        column.kinds,
    )
    for column in COLUMNS
)
"""What is measured unless something is asked for: the summary of a run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A cell, or all cells that differ only in the axis across the top."""

    labels: Mapping[str, str]
    values: Mapping[str, Spread]
    """By column."""


@dataclass(frozen=True, slots=True)
class SummaryTable:
    """A table."""

    axes: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Row]
    missing: Mapping[str, UsageError]
    """By expression, what was not recorded, with what to write to have it."""

    @classmethod
    def of(cls, runs: Sequence[Run], asked: Sequence[Asked] = USUAL, by: str = "") -> "SummaryTable":
        """Measure every cell.

        Args:
            runs: of any number of cells.
            asked: the metrics.
            by: an axis whose labels stand across the top; none if empty.

        Raises:
            UsageError: if the axis is not there, or a metric is wrong.
        """
        cells = cells_of(runs)
        axes = varied(cells)
        if by and by not in axes:
            raise UsageError.unknown("axis that varies", by, list(axes))
        rows: dict[tuple[str, ...], Row] = {}
        columns: dict[str, str] = {}
        missing: dict[str, UsageError] = {}
        names = [axis for axis in axes if axis != by]
        for cell in cells:
            wanted = [(one, of, expression) for one in asked for of, expression in one.of(cell)]
            found = spreads(cell, [expression for _, _, expression in wanted])
            labels = axes_of(cell)
            key = tuple(labels.get(axis, "") for axis in names)
            row = rows.setdefault(key, Row(dict(zip(names, key, strict=True)), {}))
            values = dict(row.values)
            for (one, of, expression), spread in zip(wanted, found, strict=True):
                if math.isnan(spread.mean) and (why := cell.runs[0].not_recorded(expression)):
                    missing.setdefault(expression, why)
                parts = (
                    labels[by] if by and (by in labels) else "",
                    _titled(one, of, alone=len(asked) == 1 and bool(by)),
                )
                name = ", ".join(part for part in parts if part)
                columns[name] = parts[0]
                values[name] = spread.scaled(one.scale)
            rows[key] = Row(row.labels, values)
        order = ordered(columns.values())
        ranked = sorted(columns, key=lambda name: order.index(columns[name]))
        return cls(names, ranked, list(rows.values()), missing)

    def markdown(self) -> str:
        """Return it as Markdown: the mean, and the range where the seeds differ."""
        head = [*self.axes, *self.columns]
        lines = [_line(head), _line(["---"] * len(self.axes) + ["---:"] * len(self.columns))]
        return "\n".join([*lines, *map(_line, self.cells())]) + "\n"

    def cells(self) -> list[list[str]]:
        """Return the texts of each row: its labels, then the mean of each column with the range over the seeds."""
        return [
            [
                *(row.labels[axis] for axis in self.axes),
                *(said(row.values[name]) if name in row.values else "" for name in self.columns),
            ]
            for row in self.rows
        ]

    def frame(self) -> pl.DataFrame:
        """Return one row for each value: labels, column, mean, low, high, seeds."""
        return pl.DataFrame(
            [
                labelled(row.labels, {"metric": name, "mean": s.mean, "low": s.low, "high": s.high, "seeds": s.seeds})
                for row in self.rows
                for name, s in row.values.items()
            ],
            infer_schema_length=None,
        )

    def json(self) -> list[dict[str, Any]]:
        """Return one object a row."""
        return [
            labelled(
                row.labels,
                {
                    "metrics": {
                        name: {"mean": s.mean, "low": s.low, "high": s.high, "seeds": s.seeds}
                        for name, s in row.values.items()
                    }
                },
            )
            for row in self.rows
        ]


def number(value: float) -> str:
    """Return a number in four digits, with M and k where it is large.

    >>> number(47820000.0), number(0.01234567), number(1500.0), number(12345.0), number(float("nan"))
    ('47.82M', '0.01235', '1500', '12.35k', '–')
    """
    if math.isnan(value):
        return "–"
    for least, size, sign in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / size:.4g}{sign}"
    return f"{value:.4g}"


def _titled(asked: Asked, of: str, *, alone: bool) -> str:
    if alone:
        return of
    return f"{asked.title} of {of}" if of and asked.title != asked.expression else asked.title.replace("{flow}", of)


def said(spread: Spread) -> str:
    """Return the mean, and the range where the seeds differ."""
    mean, low, high = (number(value) for value in (spread.mean, spread.low, spread.high))
    return mean if low == high else f"{mean} ({low}–{high})"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
