"""Metrics of cells as rows: mean over the seeds, least and greatest."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from sojourn import _core
from sojourn.core.cells import Cell
from sojourn.core.run import Measured, Run, Span
from sojourn.core.scenario import Flow, Scenario
from sojourn.core.spread import Spread

_LINKS: Final = ("flows", "queues", "queue_signals", "histograms", "delays", "events")
_OF_LINKS: Final = frozenset(
    [
        "delivery_rate",
        "goodput",
        "sum",
        "ratio",
        "share",
        "jain",
        "utilisation",
        "mark_fraction",
        "marks",
        "drops",
        "ce_fraction",
        "retransmits",
        "sojourn",
        "pdv",
        "packet_owd",
        "queue_delay",
        "queue_delay_max",
        "srtt",
        "cwnd",
        "mean",
        "median",
        "percentile",
        "p99",
        "min",
        "max",
    ]
)
"""What these tables are enough for; the rest is given all but the controllers' own numbers."""


_RATES_AND_QUEUES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("delivery_rate", "goodput", "sum", "ratio", "share", "jain", "mean", "min", "max", "median", "percentile"),
        frozenset[str](),
    ),
    "utilisation": frozenset({"queues"}),
    "mark_fraction": frozenset({"queues"}),
    "marks": frozenset({"queues", "queue_signals"}),
    "drops": frozenset({"queues", "queue_signals"}),
}
"""What functions read besides their quantity, the flows, which tell how long the run was, and the events, which tell
its windows. It is what campaigns of thousands of runs are mostly asked for."""

_SAMPLED: Final = frozenset({"flows", "queues"})
"""The tables of quantities that are sampled: a value is one column's."""


@cache
def _known() -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the names of functions, and the table of each quantity."""
    known = json.loads(_core.metrics())
    functions = frozenset(function["name"] for function in known["functions"])
    return functions, {quantity["name"]: quantity["table"] for quantity in known["quantities"]}


def _needed(text: str) -> frozenset[str] | None:
    """Return the only tables that expressions need; None where that is not known.

    Flows may be called as functions or quantities are: then more is read than is needed, and nothing less.

    >>> sorted(_needed("goodput(one) / goodput(two) over last 20s"))
    ['events', 'flows']
    >>> sorted(_needed("p99(queue_delay, bottleneck.down.qdisc) + marks(bottleneck.down.qdisc)"))
    ['events', 'flows', 'queue_signals', 'queues']
    >>> _needed("mean(sojourn, bottleneck.down.qdisc)"), _needed("mean(state.alpha, one)"), _needed("loss_rate(one)")
    (None, None, None)
    """
    functions, quantities = _known()
    if "state." in text:
        return None
    words = {re.sub(r"^p\d+(_\d+)?$", "percentile", word) for word in re.findall(r"[a-z_][a-z_0-9]*", text)}
    found = {"flows", "events"}
    for word in words & functions:
        if word not in _RATES_AND_QUEUES:
            return None
        found |= _RATES_AND_QUEUES[word]
    for word in words & set(quantities):
        if quantities[word] not in _SAMPLED:
            return None
        found.add(quantities[word])
    return frozenset(found) if words & functions else None


@dataclass(frozen=True, slots=True)
class Party:
    """A flow, or a group of flows that are one line of a file with a count."""

    name: str
    flows: int
    kind: str
    """Of its traffic, as :attr:`sojourn.core.scenario.Flow.kind` says it."""
    sender: str
    """Congestion control, or the kind of its traffic."""
    rtt_ms: float
    """Base RTT."""

    @property
    def title(self) -> str:
        """What it is called in pictures: ``first (cubic)``, ``classic (5 × cubic)``."""
        by = self.sender if self.flows == 1 else f"{self.flows} × {self.sender}"
        return self.name if by in self.name else f"{self.name} ({by})"


def parties(scenario: Scenario) -> list[Party]:
    """Return the flows that carry data, those of one group together, in order."""
    found: dict[str, list[Flow]] = {}
    for flow in scenario.loads:
        found.setdefault(flow.group, []).append(flow)
    return [
        Party(name, len(flows), flows[0].kind, flows[0].sender, flows[0].base_rtt_ms()) for name, flows in found.items()
    ]


def spreads(cell: Cell, expressions: Sequence[str]) -> list[Spread]:
    """Return the spread of each metric over a cell's seeds, in base units.

    Raises:
        UsageError: if an expression is wrong or names what a run does not have.
    """
    return [spread for spread, _ in spreads_and_windows(cell, expressions)]


def spreads_and_windows(cell: Cell, expressions: Sequence[str]) -> list[tuple[Spread, list[Span]]]:
    """Return the same, each with where it was measured: each place once.

    Raises:
        UsageError: as :func:`spreads`.
    """
    by_run = [_measured(run, expressions) for run in cell.runs]
    return [
        (
            Spread.of([values[index].value for values in by_run]),
            list(dict.fromkeys(span for values in by_run for span in values[index].windows)),
        )
        for index in range(len(expressions))
    ]


def measure(run: Run, expressions: Sequence[str]) -> list[float]:
    """Return the values of metrics, reading no more tables than they need."""
    return [own.value for own in _measured(run, expressions)]


def _measured(run: Run, expressions: Sequence[str]) -> list[Measured]:
    if not expressions:
        return []
    needed = _needed(" ".join(expressions))
    if needed is not None:
        return run.measured(expressions, [name for name in run.tables if name in needed])
    asked = set(re.findall(r"([a-z_][a-z_0-9]*)(?:\.[a-z]+)?(?=\(|, )", " ".join(expressions)))
    if asked <= _OF_LINKS:
        return run.measured(expressions, [name for name in _LINKS if name in run.tables])
    whole = any("state." in expression for expression in expressions)
    return run.measured(expressions, [name for name in run.tables if whole or not name.endswith("_state")])


def seeds_said(cells: Sequence[Cell]) -> str:
    """Return how many seeds there are, in words."""
    counts = {len(cell.runs) for cell in cells}
    low, high = min(counts), max(counts)
    if high == 1:
        return "one seed"
    return f"{high} seeds" if low == high else f"{low} to {high} seeds"


def mean_said(cells: Sequence[Cell]) -> str:
    """Return of what a value is the mean, in words."""
    seeds = seeds_said(cells)
    return seeds if seeds == "one seed" else f"mean of {seeds}"
