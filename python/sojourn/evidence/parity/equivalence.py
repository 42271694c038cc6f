"""Whether two engines' means are the same, but for a margin: two one-sided tests (Schuirmann 1987).

Each engine has a value for each seed. If both engines are deterministic and have the same seeds, the values are paired:
one seed gives both the same start times and a jitter of the same size, and the differences seed by seed have the
interval of a mean. Otherwise the interval is Welch's. The engines are *equivalent* if the 90 % interval of the
difference is within the margin, which is both one-sided tests at 5 %. They are *different* if the 95 % interval
excludes zero and they are not equivalent. Otherwise nothing is *decided*, and more seeds may decide. Overlapping ranges
prove nothing, because ranges widen with the number of seeds.
"""

import enum
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.evidence import student
from sojourn.evidence.judging import Bound, Ruling

EQUIVALENCE: Final = 0.9
"""The confidence of the interval that has to be within the margin: one-sided tests at 5 %."""

DIFFERENCE: Final = 0.95
"""The confidence of the interval that must not contain zero for a difference."""


class Verdict(enum.StrEnum):
    """Whether two engines do the same."""

    EQUIVALENT = "equivalent"
    DIFFERENT = "different"
    NOT_DECIDED = "not decided"
    NONE = "none"
    """Neither engine has a value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference of two means, and how well it is known."""

    difference: float
    error: float
    """Its standard error; NaN where there are too few values to tell."""
    freedom: float
    """Degrees of freedom."""
    paired: bool
    """Whether seed was compared with seed."""

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the difference; NaN where its error is not known."""
        if math.isnan(self.error):
            return math.nan, math.nan
        room = student.quantile(confidence, self.freedom) * self.error if self.error else 0.0
        return self.difference - room, self.difference + room

    @property
    def significant(self) -> bool:
        """Whether the difference is more than chance gives in one of twenty, however small it is."""
        return Bound.around(0.0).ruling(*self.interval(DIFFERENCE)) is Ruling.FAILS

    def verdict(self, margin: float) -> Verdict:
        """Return what the intervals say of a margin either way."""
        if Bound.around(margin).ruling(*self.interval(EQUIVALENCE)) is Ruling.HOLDS:
            return Verdict.EQUIVALENT
        return Verdict.DIFFERENT if self.significant else Verdict.NOT_DECIDED


def estimate(first: Mapping[int, float], second: Mapping[int, float], *, paired: bool = True) -> Estimate:
    """Return the difference of two means, the first less the second.

    Args:
        first: one engine's values by seed.
        second: the other's.
        paired: whether one seed means the same to both engines.
    """
    if paired and first.keys() == second.keys():
        return mean_of([first[seed] - second[seed] for seed in first])
    return welch(list(first.values()), list(second.values()))


def mean_of(differences: Sequence[float]) -> Estimate:
    """Return the mean of paired differences."""
    n = len(differences)
    if not n:
        return Estimate(math.nan, math.nan, 0, paired=True)
    error = statistics.stdev(differences) / math.sqrt(n) if n > 1 else math.nan
    return Estimate(math.fsum(differences) / n, error, n - 1, paired=True)


def welch(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Return the difference of the means of values that are not paired (Welch 1947)."""
    if not first or not second:
        return Estimate(math.nan, math.nan, 0, paired=False)
    difference = math.fsum(first) / len(first) - math.fsum(second) / len(second)
    if len(first) == 1 or len(second) == 1:
        return Estimate(difference, math.nan, 0, paired=False)
    of = [(statistics.variance(values) / len(values), len(values) - 1) for values in (first, second)]
    variance = of[0][0] + of[1][0]
    if not variance:
        return Estimate(difference, 0.0, of[0][1] + of[1][1], paired=False)
    return Estimate(difference, math.sqrt(variance), variance**2 / sum(v * v / df for v, df in of), paired=False)
