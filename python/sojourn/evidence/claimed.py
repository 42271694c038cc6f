"""The verdicts of published claims as an aim of ``sojourn run --precision claims``.

A claim compares cells, of several experiments perhaps, and its bound is an interval for what is computed from all of
them. So its cells get more seeds together, until :mod:`sojourn.evidence.claims` has a verdict, by that package's own
looks. So ``sojourn claims`` of the folder has the same verdicts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import UsageError
from sojourn.evidence.claims.evaluate import evaluate, places_of
from sojourn.evidence.claims.registry import Claim, registry
from sojourn.evidence.claims.verdicts import Cause, ClaimVerdict, Verdict
from sojourn.evidence.precision import Known

_Place = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStanding(Known):
    """What is known of a claim."""

    verdict: str

    def __str__(self) -> str:
        """Return it in one line."""
        return self.text(f"claim {self.cell}: {self.verdict}")


class Claimed:
    """The claims that need no other cells than those of a command."""

    def __init__(self, keys: Sequence[RunKey], *, engine: str, first: int) -> None:
        """Choose them.

        Args:
            keys: the runs of the command.
            engine: its engine.
            first: seeds of a cell at the first look.

        Raises:
            UsageError: if no claim speaks of these cells alone.
        """
        here = {_place(key) for key in keys}
        self._claims: Sequence[Claim] = [own for own in registry() if own.parts and places_of(own) <= here]
        self._engine, self._first = engine, first
        if not self._claims:
            raise UsageError(
                "no published claim covers these cells",
                help="run its suites together and completely; `sojourn claims DIR --all` lists the claims",
            )

    def judge(self, runs: Sequence[Run]) -> tuple[list[ClaimStanding], set[_Place]]:
        """Return how each claim stands, and the cells of those for which more seeds may tell."""
        verdicts = evaluate(self._claims, runs, engine=self._engine, seeds=self._first)
        # What was changed by --set is not what a claim speaks of.
        known = [own for own in verdicts if own.verdict is not Verdict.NOT_RUN]
        wanting = [places_of(own.claim) for own in known if own.cause is Cause.SPANS]
        return [_standing(own) for own in known], set().union(*wanting)


def _place(key: RunKey) -> _Place:
    return key.scenario.experiment, key.scenario.labels


def _standing(own: ClaimVerdict) -> ClaimStanding:
    reached = own.cause is not Cause.SPANS
    more = None if reached else _more(own)
    return ClaimStanding(
        cell=own.claim.id,
        of=own.claim.finding,
        seeds=own.seeds,
        reached=reached,
        more=more,
        verdict=own.verdict.value,
    )


def _more(own: ClaimVerdict) -> int | None:
    """Estimate from the telling cell: an interval narrows with the root of the number of seeds."""
    cell, bound = own.telling.telling, own.telling.part.bound
    if cell is None:
        return None
    off = min(abs(cell.ours - limit) for limit in (bound.low, bound.high) if math.isfinite(limit))
    half = max(cell.high - cell.ours, cell.ours - cell.low)
    if not off > 0 or not math.isfinite(half):
        return None
    return max(math.ceil(own.seeds * ((half / off) ** 2 - 1)), 1)


def place_of(run: Run) -> _Place:
    """Return the cell that a run is of, as a claim names it."""
    return _place(run.key)
