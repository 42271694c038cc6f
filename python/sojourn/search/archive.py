"""The best finds of each kind: an archive by behaviour, as MAP-Elites keeps it (Mouret and Clune 2015).

A kind is the choices among words that a point has made and, where ``[search.behaviour]`` names metrics, the bin of
each.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sojourn.search.objective import Objective
from sojourn.search.trials import Trial

Kind: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class Archive:
    """The best trial of each kind, with its point."""

    objective: Objective
    edges: Sequence[Sequence[float]]
    """Of the bins of each metric, ascending."""
    best: dict[Kind, tuple[Trial, tuple[float, ...]]] = field(default_factory=dict)

    def kind(self, trial: Trial, choices: Sequence[str]) -> Kind:
        """Return the kind of a trial."""
        bins = (_bin(value, edges) for value, edges in zip(trial.behaviour, self.edges, strict=True))
        return (*choices, *bins)

    def add(self, trial: Trial, point: tuple[float, ...], choices: Sequence[str]) -> bool:
        """Keep a trial if it is the first or the best of its kind; return whether it was kept."""
        if math.isnan(trial.value):
            return False
        kind = self.kind(trial, choices)
        known = self.best.get(kind)
        if known is not None and not self.objective.better(trial.value, known[0].value):
            return False
        self.best[kind] = (trial, point)
        return True

    @property
    def ranked(self) -> list[tuple[Kind, Trial]]:
        """The kinds, the best first; of equals the earlier."""
        found = [(kind, trial) for kind, (trial, _) in self.best.items()]
        return sorted(found, key=lambda own: (self.objective.score(own[1].value), own[1].number))


def _bin(value: float, edges: Sequence[float]) -> int:
    """Return the bin; values beyond the edges are in the first or the last, missing ones in a bin of their own.

    >>> [_bin(value, [0.0, 0.5, 1.0]) for value in (-1.0, 0.2, 0.5, 1.0, 7.0, float("nan"))]
    [0, 0, 1, 1, 1, -1]
    """
    if math.isnan(value):
        return -1
    return min(max(bisect_right(edges, value) - 1, 0), max(len(edges) - 2, 0))
