"""Intervals for a median that assume no distribution, and when to look.

The number of values below the true median is binomial with one half, whatever the distribution. So the k-th smallest
and the k-th largest of n values enclose the median with probability 1 - 2·P(Bin(n, ½) < k) (David and Nagaraja, Order
Statistics, §7.1). The k taken is the largest that still gives the confidence.

How many values there are is fixed beforehand, or who looks often enough finds what he likes. :func:`looks` is the whole
plan: a first look at a fixed number of seeds, and where the interval spans the bound a second at twice as many, and so
on, four in all. The error that the verdict may have, :data:`ERROR`, is divided among the looks by halves (Bonferroni),
so that whoever stops at any of them errs no more often than that.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

ERROR: Final = 0.1
"""How often the interval may miss the median at all looks together: one in ten, half of them on either side."""

SEEDS: Final = 10
"""Seeds of each cell at the first look, unless others are asked for."""

_LOOKS: Final = 4


class Look(NamedTuple):
    """When to look, and how sure to be then."""

    seeds: int
    confidence: float


def looks(seeds: int = SEEDS) -> list[Look]:
    """Return the looks: at ``seeds`` seeds, at twice, four and eight times as many.

    >>> looks(10)[0], looks(10)[3].seeds
    (Look(seeds=10, confidence=0.95), 80)
    >>> round(sum(1 - look.confidence for look in looks()), 12) == ERROR
    True
    """
    shares = [2.0**-look for look in range(1, _LOOKS)]
    shares.append(shares[-1])
    return [Look(seeds << number, 1 - ERROR * share) for number, share in enumerate(shares)]


def fewest(confidence: float) -> int:
    """Return the least number of values that give an interval: the smallest and the largest of them.

    >>> fewest(looks()[0].confidence), fewest(looks()[-1].confidence)
    (6, 8)
    """
    return next(n for n in range(1, 64) if 1 - 2 * 0.5**n >= confidence)


FEWEST: Final = fewest(looks()[0].confidence)
"""The least number of seeds that a first look may be at."""


def median_interval(values: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Return the interval, or None where there are too few values.

    >>> median_interval([6, 1, 4, 2, 3, 5], 0.95)
    (1, 6)
    >>> median_interval(range(1, 11), 0.95)
    (2, 9)
    >>> median_interval([1, 2, 3, 4, 5], 0.95)
    """
    n = len(values)
    below = 0.0
    taken = 0
    for k in range(1, n // 2 + 1):
        below += math.comb(n, k - 1) * 0.5**n
        if 1 - 2 * below < confidence:
            break
        taken = k
    if not taken:
        return None
    ordered = sorted(values)
    return ordered[taken - 1], ordered[n - taken]
