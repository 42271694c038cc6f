"""Metrics of a results folder as a table: a row a cell, the mean over the seeds with their range."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sojourn.core import queues
from sojourn.core.cells import Cell, ordered
from sojourn.core.measured import parties, spreads_and_windows
from sojourn.core.queues import Queue
from sojourn.core.run import Run, Span
from sojourn.core.select import axes_of, cells_of, labelled, varied
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.views.summary import COLUMNS, tcp_flows
from sojourn.views.window import measured_said, spans_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric that is wanted of every cell."""

    title: str
    expression: str
    """``{flow}`` stands for each flow or group that carries data, ``{queue}`` for the bottleneck, or for
    each queue that matters if :attr:`queues`; ``{flows}`` for all flows that :attr:`several` compares."""
    scale: float = 1.0
    several: bool = False
    """Whether it says something only of more flows than one."""
    kinds: frozenset[str] | None = None
    """The kinds of flows that have it; all if None."""
    least: float = 0.0
    """Shown only if it is so much for some flow, in its unit after scaling."""
    queues: bool = False
    """Whether it is wanted of every queue that matters."""
    names_queue: bool = True
    """Whether its label names the queue, where data passes several."""

    def of(self, cell: Cell, matter: Sequence[Queue] | None = None) -> list[tuple[str, str]]:
        """Return its subject (a flow, a queue where data passes several, or nothing) and the expression to measure.

        Args:
            cell: the cell of the metric.
            matter: the queues that matter (default: those of this cell).
        """
        if self.several:
            flows = tcp_flows(cell.scenario)
            return [("", self.expression.replace("{flows}", ", ".join(flows)))] if len(flows) > 1 else []
        if "{queue}" in self.expression:
            return [
                (", ".join(filter(None, (of, name))), expression.replace("{queue}", queue.path))
                for queue, name in self._queues(cell, matter)
                for of, expression in self._parties(cell)
            ]
        return self._parties(cell)

    def _queues(self, cell: Cell, matter: Sequence[Queue] | None) -> list[tuple[Queue, str]]:
        """Return the queues that it is wanted of, each with its name where it is one of several."""
        main = queues.bottleneck(cell.scenario)
        found = [main] if main else []
        if self.queues:
            there = {queue.path for queue in queues.on_path(cell.scenario)}
            wanted = queues.that_matter(cell.runs) if matter is None else matter
            found = [queue for queue in wanted if queue.path in there] or found
        names = queues.names(cell.scenario, found)
        return [
            (queue, f"{name} queue" if name and self.names_queue else "")
            for queue, name in zip(found, names, strict=True)
        ]

    def _parties(self, cell: Cell) -> list[tuple[str, str]]:
        if "{flow}" not in self.expression:
            return [("", self.expression)]
        return [
            (party.name, self.expression.replace("{flow}", party.name))
            for party in parties(cell.scenario)
            # Only rates have a meaning for a group.
            if (self.kinds is None or party.kind in self.kinds)
            and (party.flows == 1 or self.expression.partition("(")[0] in _OF_GROUPS)
        ]


_OF_GROUPS: Final = frozenset(
    [
        *("delivery_rate", "goodput", "sum", "share"),
        *(f"{limit}_limited" for limit in ("rwnd", "sndbuf", "cwnd", "pacing", "app", "host")),
    ]
)
"""Metrics that have a meaning for a group of flows."""

USUAL: Final = tuple(
    Asked(
        f"{column.name}{f', {column.unit}' if column.unit else ''}",
        column.metric,
        column.scale,
        column.several,
        column.kinds,
        column.least,
        column.each_queue,
    )
    for column in COLUMNS
)
"""The default metrics: the summary of a run."""


@dataclass(frozen=True, slots=True)
class Row:
    """A cell, or all cells that differ only in the axis across the top."""

    labels: Mapping[str, str]
    values: Mapping[str, Spread]
    """By column."""
    windows: Mapping[str, Sequence[Span]]
    """Where each was measured, s."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why cells have no value of a metric that they could have had."""

    cell: str
    """The first of them."""
    why: UsageError
    everywhere: bool = True
    """Whether no cell has one."""

    def __str__(self) -> str:
        """Return it with its help, over two lines."""
        where = "" if self.everywhere or not self.cell else f"{self.cell}: "
        return f"{where}{self.why.render()}"


def _names_nearest(why: UsageError) -> bool:
    return (why.help or "").startswith("did you mean")


@dataclass(frozen=True, slots=True)
class SummaryTable:
    """A table."""

    axes: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Row]
    missing: Mapping[str, "Missing"]
    """By expression, why cells have no value of it."""

    @classmethod
    def of(cls, runs: Sequence[Run], asked: Sequence[Asked] = USUAL, by: str = "") -> "SummaryTable":
        """Measure every cell.

        Args:
            runs: of any number of cells.
            asked: the metrics.
            by: an axis with its labels across the top; none if empty.

        Raises:
            UsageError: if the axis is not there, or a metric is wrong.
        """
        cells = cells_of(runs)
        axes = varied(cells)
        if by and by not in axes:
            raise UsageError.unknown("axis that varies", by, list(axes))
        rows: dict[tuple[str, ...], Row] = {}
        columns: dict[str, str] = {}
        least: dict[str, float] = {}
        missing: dict[str, Missing] = {}
        there: set[str] = set()
        names = [axis for axis in axes if axis != by]
        matter = (
            queues.that_matter([run for cell in cells for run in cell.runs]) if any(a.queues for a in asked) else []
        )
        for cell in cells:
            wanted = [(one, of, expression) for one in asked for of, expression in one.of(cell, matter)]
            found = spreads_and_windows(cell, [expression for _, _, expression in wanted])
            labels = axes_of(cell)
            key = tuple(labels.get(axis, "") for axis in names)
            row = rows.setdefault(key, Row(dict(zip(names, key, strict=True)), {}, {}))
            values, windows = dict(row.values), dict(row.windows)
            for (one, of, expression), (spread, spans) in zip(wanted, found, strict=True):
                if math.isnan(spread.mean) and (why := cell.runs[0].not_recorded(expression)):
                    known = missing.get(expression)
                    if known is None or _names_nearest(why) > _names_nearest(known.why):
                        missing[expression] = Missing(cell.title, why)
                elif not math.isnan(spread.mean):
                    there.add(expression)
                parts = (
                    labels[by] if by and (by in labels) else "",
                    _titled(one, of, alone=len(asked) == 1 and bool(by)),
                )
                name = ", ".join(part for part in parts if part)
                columns[name] = parts[0]
                values[name] = spread.scaled(one.scale)
                windows[name] = spans
                least[name] = one.least
            rows[key] = Row(row.labels, values, windows)
        order = ordered(columns.values())
        ranked = sorted(
            (name for name in columns if _is_worth_it(name, least[name], rows.values())),
            key=lambda name: order.index(columns[name]),
        )
        marked = {name: replace(own, everywhere=name not in there) for name, own in missing.items()}
        return cls(names, ranked, list(rows.values()), marked)

    def markdown(self) -> str:
        """Return it as Markdown: the mean, and the range where the seeds differ."""
        head = [*self.axes, *self.columns]
        lines = [_line(head), _line(["---"] * len(self.axes) + ["---:"] * len(self.columns))]
        where = f"\n{said}\n" if (said := self.measured()) else ""
        return "\n".join([*lines, *map(_line, self.cells())]) + "\n" + where

    def measured(self) -> str:
        """Return where its values were measured, in a sentence; empty if nothing was."""
        spans = {name: [s for row in self.rows for s in row.windows.get(name, ())] for name in self.columns}
        return measured_said(spans)

    def cells(self) -> list[list[str]]:
        """Return the texts of each row: its labels, then the mean of each column with the range over the seeds."""
        return [
            [
                *(row.labels[axis] for axis in self.axes),
                *(said(row.values[name]) if name in row.values else "" for name in self.columns),
            ]
            for row in self.rows
        ]

    def frame(self) -> "pl.DataFrame":
        """Return one row for each value: labels, column, mean, low, high, seeds, and where it was measured."""
        import polars as pl  # noqa: PLC0415 - reading answers needs no frames

        return pl.DataFrame(
            [
                labelled(
                    row.labels,
                    {
                        "metric": name,
                        "mean": s.mean,
                        "low": s.low,
                        "high": s.high,
                        "seeds": s.seeds,
                        "window_s": spans_text(row.windows[name]),
                    },
                )
                for row in self.rows
                for name, s in row.values.items()
                if name in self.columns
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
                        name: {
                            "mean": s.mean,
                            "low": s.low,
                            "high": s.high,
                            "seeds": s.seeds,
                            "window_s": [list(span) for span in row.windows[name]],
                        }
                        for name, s in row.values.items()
                        if name in self.columns
                    }
                },
            )
            for row in self.rows
        ]


def _is_worth_it(name: str, least: float, rows: Iterable[Row]) -> bool:
    """Whether a column is shown: always, or where a value of it is large enough."""
    return least <= 0 or any(name in row.values and row.values[name].high >= least for row in rows)


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
    # A title that is the expression itself gets the flow's name at its place.
    if asked.title == asked.expression and "{queue}" not in asked.expression:
        return asked.title.replace("{flow}", of)
    return f"{asked.title} of {of}" if of else asked.title


def said(spread: Spread) -> str:
    """Return the mean, and the range where the seeds differ."""
    mean, low, high = (number(value) for value in (spread.mean, spread.low, spread.high))
    return mean if low == high else f"{mean} ({low}–{high})"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
