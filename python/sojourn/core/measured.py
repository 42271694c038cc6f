"""Metrics of cells as rows: mean over the seeds, least and greatest."""

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.cells import Cell
from sojourn.core.run import Span, columns
from sojourn.core.scenario import Flow, Scenario
from sojourn.core.spread import Spread


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
    return [(Spread.of(own.numbers), own.windows) for own in columns(cell.runs, expressions)]


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
