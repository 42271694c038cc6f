"""The few numbers that say how a cell went: what tables at the end of a command and in reports show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.core import describe
from sojourn.core.cells import Cell
from sojourn.core.run import Run

_FLOWS_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the summary."""

    key: str
    """Its name where programs read it, unit included."""
    name: str
    short: str
    """Its name where there is little room."""
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


@dataclass(frozen=True, slots=True)
class Value:
    """A cell's value in a column."""

    text: str
    """The mean over the seeds, or one for each flow."""
    range: str
    """The least and the greatest over the seeds; empty where they are the same as shown."""


COLUMNS: Final = (
    Column("delivery_rate_mbps", "delivery rate", "rate", "Mbit/s", "delivery_rate({flow})", 1e-6, digits=2),
    Column("jain", "Jain's index", "Jain", "", "jain(delivery_rate)", digits=3, several=True),
    Column("utilisation_percent", "utilisation", "util.", "%", "utilisation({queue})", 100),
    Column("rtt_ms", "RTT", "RTT", "ms", "mean(rtt, {flow})", 1e3),
    Column("queue_delay_ms", "queue delay", "queue", "ms", "mean(queue_delay, {queue})", 1e3),
    Column("queue_delay_p99_ms", "queue delay, 99 %", "99 %", "ms", "p99(sojourn, {queue})", 1e3),
    Column("marks", "marks", "marks", "", "marks({queue})", digits=0),
    Column("drops", "drops", "drops", "", "drops({queue})", digits=0),
)
"""Of a cell: one row with everything."""

FLOW_COLUMNS: Final = (
    Column("delivery_rate_mbps", "delivery rate", "rate", "Mbit/s", "delivery_rate({flow})", 1e-6, digits=2),
    Column("share", "share", "share", "", "share(delivery_rate, {flow})", digits=3, several=True),
    Column("rtt_ms", "RTT", "RTT", "ms", "mean(rtt, {flow})", 1e3),
    Column("packet_rtt_p99_ms", "RTT, 99 %", "99 %", "ms", "p99(packet_rtt, {flow})", 1e3),
    Column("retransmits", "retransmits", "retrans.", "packets", "retransmits({flow})", digits=0),
    Column("ce_percent", "CE marks", "CE", "%", "ce_fraction({flow})", 100, digits=3),
)
"""Of each flow of a run: one row a flow."""

QUEUE_COLUMNS: Final = tuple(column for column in COLUMNS if "{queue}" in column.metric)
"""Of the bottleneck."""

_TABLES: Final = ("flows", "queues", "queue_signals", "histograms", "events")


def values_of(cell: Cell) -> list[Value]:
    """Return a cell's value in each of :data:`COLUMNS`."""
    by_run = [numbers_of(run) for run in cell.runs]
    return [_value(column, [run[index] for run in by_run]) for index, column in enumerate(COLUMNS)]


def numbers_of(run: Run, columns: Sequence[Column] = COLUMNS) -> list[list[float]]:
    """Return a run's numbers in each column: one, or one for each flow; in the column's unit."""
    queue = describe.bottleneck(run.scenario)
    flows = [flow["name"] for flow in describe.loads(run.scenario)]
    asked: list[list[str]] = []
    for column in columns:
        subjects = flows if column.each_flow else [""]
        if ("{queue}" in column.metric and queue is None) or (column.several and len(flows) < 2):  # noqa: PLR2004
            subjects = []
        path = queue[0] if queue else ""
        asked.append([column.metric.format(flow=flow, queue=path) for flow in subjects])
    values = iter(run.measure([expression for own in asked for expression in own], _TABLES))
    return [
        [next(values) * column.scale for _ in own] or [math.nan] * (len(flows) if column.each_flow else 1)
        for column, own in zip(columns, asked, strict=True)
    ]


def _value(column: Column, by_run: Sequence[Sequence[float]]) -> Value:
    by_flow = list(zip(*by_run, strict=True))
    shown = by_flow[:_FLOWS_SHOWN]
    more = f" … ({len(by_flow)})" if len(by_flow) > _FLOWS_SHOWN else ""
    text = " / ".join(number(math.fsum(own) / len(own), column.digits) for own in shown) + more
    ranges = [(number(min(own), column.digits), number(max(own), column.digits)) for own in shown]
    if all(low == high for low, high in ranges):
        return Value(text, "")
    return Value(text, " / ".join(f"{low}–{high}" for low, high in ranges))


def number(value: float, digits: int) -> str:
    """Return a number as tables show it; a dash for none."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
