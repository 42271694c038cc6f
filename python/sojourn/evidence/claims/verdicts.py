"""What came of a claim: cell by cell, part by part, and of the whole."""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.core.run import Run
from sojourn.evidence.claims.registry import Claim, Part
from sojourn.evidence.judging import telling


class Verdict(enum.StrEnum):
    """Whether ours bears a finding out."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    INCONCLUSIVE = "inconclusive"
    """The runs are there, and do not tell."""
    NOT_RUN = "not run"
    """Runs that it needs are missing."""


class Cause(enum.StrEnum):
    """Why there is no verdict yet."""

    NONE = ""
    FEW_SEEDS = "few seeds"
    NO_VALUE = "no value"
    NOT_MET = "its condition is met in no cell"
    SPANS = "spans the bound"


@dataclass(frozen=True, slots=True)
class CellVerdict:
    """One cell of a part."""

    labels: tuple[tuple[str, str], ...]
    """(axis, label), of the axes that are free."""
    values: Sequence[float]
    """One a seed."""
    ours: float
    """Their median; NaN if there is none."""
    low: float
    high: float
    """The interval of the median; NaN where runs are missing."""
    verdict: Verdict
    cause: Cause

    @property
    def title(self) -> str:
        """Its labels."""
        return ", ".join(label for _, label in self.labels)


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """One part of a claim."""

    part: Part
    cells: Sequence[CellVerdict]
    verdict: Verdict
    cause: Cause

    @property
    def telling(self) -> CellVerdict | None:
        """The cell that decides: of those with the worst verdict the one that is farthest out, or least within."""
        return telling(self.cells, WORST_FIRST, lambda cell: self.part.bound.margin(cell.ours))

    @property
    def room(self) -> float:
        """How far within its bound the cell is that decides, in units of the nearer limit; NaN without a value."""
        return math.nan if self.telling is None else self.part.bound.margin(self.telling.ours)


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """A claim."""

    claim: Claim
    parts: Sequence[PartVerdict]
    verdict: Verdict
    cause: Cause
    seeds: int
    """Of each cell, at the look that the verdict was reached at, or at the last that there are runs for."""
    runs: Sequence[Run]
    """The runs that were looked at."""
    advice: str
    """The command that would make what is missing; empty if nothing is."""

    @property
    def telling(self) -> PartVerdict:
        """The part that decides."""
        found = telling(self.parts, WORST_FIRST, lambda own: own.room)
        assert found is not None  # noqa: S101 - a claim has a part
        return found


WORST_FIRST: Final = (Verdict.NOT_REPRODUCED, Verdict.NOT_RUN, Verdict.INCONCLUSIVE, Verdict.REPRODUCED)
"""Of several things that must all hold, the first of these that there is is the verdict on all."""
