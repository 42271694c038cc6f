"""The few numbers that say how a cell went: what tables at the end of a command and in reports show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn import describe
from sojourn.cells import Cell
from sojourn.run import Run

_FLOWS_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the summary."""

    name: str
    unit: str
    metric: str
    """The metric's expression; ``{flow}`` and ``{queue}`` stand for a flow's name and the bottleneck's path."""
    scale: float = 1.0
    """What the metric, which is in base units, is multiplied by."""
    digits: int = 1
    several: bool = False
    """Whether it says something only of more flows than one."""

    @property
    def each_flow(self) -> bool:
        """Whether there is a value for each flow."""
        return "{flow}" in self.metric

    @property
    def heading(self) -> str:
        """Name and unit in one line."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


@dataclass(frozen=True, slots=True)
class Value:
    """A cell's value in a column."""

    text: str
    """The mean over the seeds, or one for each flow."""
    range: str
    """The least and the greatest over the seeds; empty where there is one seed."""


COLUMNS: Final = (
    Column("delivery rate", "Mbit/s", "delivery_rate({flow})", 1e-6, digits=2),
    Column("Jain's index", "", "jain(delivery_rate)", digits=3, several=True),
    Column("utilisation", "%", "utilisation({queue})", 100),
    Column("RTT", "ms", "mean(rtt, {flow})", 1e3),
    Column("queue delay", "ms", "mean(queue_delay, {queue})", 1e3),
    Column("99 % of packets", "ms", "p99(sojourn, {queue})", 1e3),
    Column("marks", "", "marks({queue})", digits=0),
    Column("drops", "", "drops({queue})", digits=0),
)
_TABLES: Final = ("flows", "queues", "queue_signals", "histograms", "happenings")


def values_of(cell: Cell) -> list[Value]:
    """Return a cell's value in each of :data:`COLUMNS`."""
    by_run = [numbers_of(run) for run in cell.runs]
    return [_value(column, [run[index] for run in by_run]) for index, column in enumerate(COLUMNS)]


def numbers_of(run: Run) -> list[list[float]]:
    """Return a run's numbers in each of :data:`COLUMNS`: one, or one for each flow; in the column's unit."""
    queue = describe.bottleneck(run.scenario)
    flows = [flow["name"] for flow in describe.loads(run.scenario)]
    asked: list[list[str]] = []
    for column in COLUMNS:
        if ("{queue}" in column.metric and queue is None) or (column.several and len(flows) < 2):  # noqa: PLR2004
            asked.append([])
            continue
        path = queue[0] if queue else ""
        subjects = flows if column.each_flow else [""]
        asked.append([column.metric.format(flow=flow, queue=path) for flow in subjects])
    values = iter(run.measure([expression for own in asked for expression in own], _TABLES))
    return [
        [next(values) * column.scale for _ in own] or [math.nan] for column, own in zip(COLUMNS, asked, strict=True)
    ]


def _value(column: Column, by_run: Sequence[Sequence[float]]) -> Value:
    by_flow = list(zip(*by_run, strict=True))
    shown = by_flow[:_FLOWS_SHOWN]
    more = f" … ({len(by_flow)})" if len(by_flow) > _FLOWS_SHOWN else ""
    text = " / ".join(_number(math.fsum(own) / len(own), column.digits) for own in shown) + more
    if len(by_run) == 1 or all(math.isnan(v) for own in by_flow for v in own):
        return Value(text, "")
    ranges = (f"{_number(min(own), column.digits)}–{_number(max(own), column.digits)}" for own in shown)
    return Value(text, " / ".join(ranges))


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
