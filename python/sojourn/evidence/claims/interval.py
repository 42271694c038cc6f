"""An interval for a median that assumes no distribution.

The number of values below the true median is binomial with one half, whatever the distribution. So the k-th smallest
and the k-th largest of n values enclose the median with probability 1 - 2·P(Bin(n, ½) < k) (David and Nagaraja, Order
Statistics, §7.1). The k taken is the largest that still gives :data:`CONFIDENCE`; with fewer than :data:`FEWEST` values
even the smallest and the largest do not.
"""

import math
from collections.abc import Sequence
from typing import Final

CONFIDENCE: Final = 0.9
"""The probability with which the interval encloses the median."""

FEWEST: Final = 5
"""The least number of values that give an interval: 1 - 2/2⁵ is 0.9375."""


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the interval, or None where there are too few values.

    >>> median_interval([5, 1, 4, 2, 3])
    (1, 5)
    >>> median_interval(range(1, 11))
    (2, 9)
    >>> median_interval([1, 2, 3, 4])
    """
    n = len(values)
    below = 0.0
    taken = 0
    for k in range(1, n // 2 + 1):
        below += math.comb(n, k - 1) * 0.5**n
        if 1 - 2 * below < CONFIDENCE:
            break
        taken = k
    if not taken:
        return None
    ordered = sorted(values)
    return ordered[taken - 1], ordered[n - taken]


def median(values: Sequence[float]) -> float:
    """Return the median.

    >>> median([3, 1, 2]), median([4, 1, 2, 3])
    (2, 2.5)
    """
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
