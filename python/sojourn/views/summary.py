"""The few numbers that say how a cell went: what tables at the end of a command and in reports show."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn import _core
from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.core.queues import Queue
from sojourn.core.run import Run, Span
from sojourn.core.run import columns as values_in
from sojourn.core.scenario import Scenario
from sojourn.views.window import measured_said

_FLOWS_SHOWN: Final = 4

TCP: Final = frozenset({"tcp", "streaming", "on_off tcp", "quic", "tcp_stack"})
"""Flows of one connection that lasts, those of implementations too: they have an RTT, and most a delivery rate."""
PROGRAMS: Final = frozenset({"program"})
"""Programs of the machine: a flow each, whatever connections they make."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the summary; ``crates/store`` states each."""

    key: str
    """Its name where programs read it, unit included."""
    name: str
    short: str
    """Its name where there is little room."""
    unit: str
    metric: str
    """The metric's expression; ``{flow}`` and ``{queue}`` stand for a flow's name and a queue's path, ``{flows}`` for
    the names of all that :func:`tcp_flows` returns."""
    scale: float
    """Multiplies the metric, which is in base units."""
    digits: int
    several: bool
    """Whether it says something only of two flows or more."""
    kinds: frozenset[str]
    """The kinds of flows (:attr:`.Flow.kind`) that have it, for a column with a value for each flow."""
    meaning: str
    """A legend's words; may be empty."""
    least: float
    """A table has it only if it is at least this for some flow, in its unit; always if 0."""

    @property
    def each_flow(self) -> bool:
        """Whether there is a value for each flow."""
        return "{flow}" in self.metric

    @property
    def each_queue(self) -> bool:
        """Whether there is a value for each queue that matters."""
        return "{queue}" in self.metric

    def flows(self, scenario: Scenario) -> list[str]:
        """Return the flows of a run that have it."""
        return [flow["name"] for flow in scenario.flows if flow.kind in self.kinds] if self.each_flow else []

    def asked(self, scenario: Scenario, of: Sequence[Queue] = ()) -> list[str]:
        """Return the expressions to measure; none if it says nothing there.

        Args:
            scenario: of the run.
            of: the queues to measure. A column of queues has an expression for each of these, one of flows for each of
                :meth:`flows`, another but one.
        """
        if self.each_queue:
            return [self.metric.format(queue=queue.path) for queue in of]
        if self.each_flow:
            return [self.metric.format(flow=flow) for flow in self.flows(scenario)]
        if self.several:
            ways = [flow["direction"] for flow in scenario.loads if flow.kind in TCP]
            # A download and an upload have no link to share.
            if len(ways) < 2 or len(set(ways)) > 1:  # noqa: PLR2004 - two
                return []
            return [self.metric.format(flows=", ".join(tcp_flows(scenario)))]
        return [self.metric]


@dataclass(frozen=True, slots=True)
class Headed:
    """A column of a table of cells."""

    column: Column
    names: Sequence[str] = ()
    """The flows or queues with values side by side in each row; empty where rows differ in it and name them, and where
    it needs no saying."""
    queues: Sequence[Queue] = ()
    """Those that matter in one of the cells, in the order in which their values stand."""
    plain: bool = False
    """Whether there is but one queue that its values can be of, so that it needs no saying."""

    @property
    def of(self) -> str:
        """What its values are of, as a head says it: ``one / two``; empty if that needs no saying."""
        shown = list(self.names[:_FLOWS_SHOWN])
        return " / ".join([*shown, *(["…"] if len(self.names) > _FLOWS_SHOWN else [])]) if self.names else ""

    def queues_of(self, cell: Cell) -> list[Queue]:
        """Return the queues of a cell that it has values of."""
        return _there(cell, self.queues) if self.column.each_queue else []

    @property
    def heading(self) -> str:
        """Its name with its unit and its flows."""
        name = f"{self.column.name}{f', {self.column.unit}' if self.column.unit else ''}"
        return f"{name}: {self.of}" if self.of else name


@dataclass(frozen=True, slots=True)
class Value:
    """A cell's value in a column."""

    text: str
    """The mean over the seeds, or one for each flow; empty where the column says nothing of this cell."""
    range: str
    """The least and the greatest over the seeds; empty where they are the same as shown."""


def _columns(of: str) -> tuple[Column, ...]:
    return tuple(Column(**{**own, "kinds": frozenset(own["kinds"])}) for own in _STATED[of])


_STATED: Final = json.loads(_core.summary_columns())

COLUMNS: Final = _columns("cell")
"""Of a cell: one row with everything. A table has those of them that say something of one of its cells."""

FLOW_COLUMNS: Final = _columns("flow")
"""Of each flow of a run: one row a flow, one table a kind of flows."""

QUEUE_COLUMNS: Final = _columns("queue")
"""Of a queue."""


def tcp_flows(scenario: Scenario) -> list[str]:
    """Return the names of the flows of one lasting connection each: those that a column of several compares."""
    return [flow["name"] for flow in scenario.loads if flow.kind in TCP]


def columns_of(cells: Iterable[Cell], columns: Sequence[Column] = COLUMNS) -> list[Headed]:
    """Return the columns with values of one of these cells, with the flows or queues of the values.

    Those of queues have a value for each queue that matters in one of the cells, so that cells can be compared.
    """
    members = list(cells)
    matter = queues.that_matter([run for cell in members for run in cell.runs]) if _of_queues(columns) else []
    by_cell = [_there(cell, matter) for cell in members]
    plain = all(len(queues.candidates(cell.scenario)) <= 1 for cell in members) and all(len(q) <= 1 for q in by_cell)
    found = []
    worth = _worth_showing(members, columns)
    for column in columns:
        asked = any(column.asked(cell.scenario, own) for cell, own in zip(members, by_cell, strict=True))
        if column not in worth or not asked:
            continue
        if column.each_queue:
            names = [() if plain else _named(own) for own in by_cell]
        else:
            names = [tuple(column.flows(cell.scenario)) for cell in members]
        differing = {own for own in names if own}
        found.append(Headed(column, differing.pop() if len(differing) == 1 else (), matter, plain))
    return found


def _worth_showing(cells: Sequence[Cell], columns: Sequence[Column]) -> set[Column]:
    """Return the columns that have a value large enough to be shown; those that are always shown among them."""
    worth = {column for column in columns if column.least <= 0}
    for cell in cells:
        open_still = [column for column in columns if column not in worth]
        asked = [(column, text) for column in open_still for text in column.asked(cell.scenario)]
        for (column, _), found in zip(asked, values_in(cell.runs, [text for _, text in asked]), strict=True):
            if any(value * column.scale >= column.least for value in found.numbers):
                worth.add(column)
    return worth


def windows_of(cell: Cell, columns: Sequence[Column]) -> dict[str, list[Span]]:
    """Return where the values of a cell's first run are measured, s: by the column's key, each place once."""
    run = cell.runs[0]
    of = queues.that_matter(cell.runs) if _of_queues(columns) else []
    asked = [(column.key, text) for column in columns for text in column.asked(run.scenario, of)]
    found: dict[str, list[Span]] = {}
    for (key, _), measured in zip(asked, run.measured([text for _, text in asked]), strict=True):
        own = found.setdefault(key, [])
        own.extend(span for span in measured.windows if span not in own)
    return found


def where_measured(cells: Iterable[Cell], columns: Sequence[Headed]) -> str:
    """Return where the values of cells in these columns are measured, in a sentence: of the first run of each."""
    found: dict[str, list[Span]] = {}
    names = {own.column.key: own.column.name for own in columns}
    for cell in cells:
        for key, spans in windows_of(cell, [own.column for own in columns]).items():
            found.setdefault(names[key], []).extend(spans)
    return measured_said(found)


def queues_said(cells: Iterable[Cell]) -> str:
    """Return which queues a table of these cells is of, in words; empty if that needs no saying.

    ``bottleneck upload: pfifo limit 1000; bottleneck download: fq_codel``
    """
    members = list(cells)
    columns = columns_of(members, [column for column in COLUMNS if column.each_queue])
    own = next((headed for headed in columns if not headed.plain), None)
    if own is None:
        return ""
    said: dict[str, list[str]] = {}
    for cell in members:
        for queue in own.queues_of(cell):
            said.setdefault(f"{queue.hop} {queue.way}", []).append(queue.words)
    return "; ".join(
        f"{name}: {', '.join(different)}" if len(different := list(dict.fromkeys(words))) <= _FLOWS_SHOWN else name
        for name, words in said.items()
    )


def _of_queues(columns: Iterable[Column]) -> bool:
    return any(column.each_queue for column in columns)


def _there(cell: Cell, matter: Sequence[Queue]) -> list[Queue]:
    """Return which of these queues a cell has, with its own words; its bottleneck if it has none of them."""
    own = {queue.path: queue for queue in queues.on_path(cell.scenario)}
    found = [own[queue.path] for queue in matter if queue.path in own]
    main = queues.bottleneck(cell.scenario)
    return found or ([main] if main else [])


def _named(own: Sequence[Queue]) -> tuple[str, ...]:
    return tuple(queue.named(own) for queue in own)


def values_of(cell: Cell, columns: Sequence[Headed] | None = None) -> list[Value]:
    """Return a cell's value in each of these columns (default: its own columns)."""
    headed = columns_of([cell]) if columns is None else columns
    of = next((own.queues_of(cell) for own in headed if own.column.each_queue), [])
    asked = [own.column.asked(cell.scenario, of) for own in headed]
    found = iter(values_in(cell.runs, [text for own in asked for text in own]))
    return [
        _value(
            own, _flow_names(own, cell), [[value * own.column.scale for value in next(found).numbers] for _ in texts]
        )
        for own, texts in zip(headed, asked, strict=True)
    ]


def numbers_of(run: Run, columns: Sequence[Column] = COLUMNS, of: Sequence[Queue] | None = None) -> list[list[float]]:
    """Return a run's numbers in each column: one, or one for each flow or queue that has it; in the column's unit.

    Args:
        run: the run with the numbers.
        columns: which.
        of: the queues (default: those that matter in the run).
    """
    if of is None:
        of = queues.that_matter([run]) if _of_queues(columns) else []
    asked = [column.asked(run.scenario, of) for column in columns]
    found = iter(run.measure([expression for own in asked for expression in own]))
    return [[next(found) * column.scale for _ in own] for column, own in zip(columns, asked, strict=True)]


def flow_columns(kind: str) -> list[Column]:
    """Return the columns for a flow of this kind."""
    return [column for column in FLOW_COLUMNS if kind in column.kinds]


def _flow_names(headed: Headed, cell: Cell) -> Sequence[str]:
    """Return a name for each value of a cell, where the head does not name the flows or queues."""
    if headed.names or (headed.plain and headed.column.each_queue):
        return ()
    return _named(headed.queues_of(cell)) if headed.column.each_queue else headed.column.flows(cell.scenario)


def _value(headed: Headed, flow_names: Sequence[str], by_flow: Sequence[Sequence[float]]) -> Value:
    digits = headed.column.digits
    shown = by_flow[:_FLOWS_SHOWN]
    more = f" … ({len(by_flow)})" if len(by_flow) > _FLOWS_SHOWN else ""
    names = [f"{name} " for name in flow_names] or [""] * len(by_flow)
    means = [number(math.fsum(own) / len(own), digits) for own in shown]
    text = " / ".join(f"{name}{mean}" for name, mean in zip(names, means, strict=False)) + more
    ranges = [(number(min(own), digits), number(max(own), digits)) for own in shown]
    if all(low == high for low, high in ranges):
        return Value(text, "")
    return Value(text, " / ".join(f"{low}–{high}" for low, high in ranges))


def number(value: float, digits: int) -> str:
    """Return a number as tables show it; a dash for none."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"
