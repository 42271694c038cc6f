"""Student's t distribution, which the standard library lacks: what an interval of a mean needs.

P(|T| > t) with v degrees of freedom is the regularised incomplete beta function I_x(v/2, 1/2) at x = v / (v + t²)
(Abramowitz and Stegun, 26.7.1); that is summed as the continued fraction 26.5.8.
"""

import math
from typing import Final

_TINY: Final = 1e-300
_CLOSE: Final = 1e-14
_MOST: Final = 300
"""Terms of the continued fraction: it takes a few dozen."""


def two_sided(t: float, freedom: float) -> float:
    """Return P(|T| > t).

    Args:
        t: the statistic.
        freedom: degrees of freedom, positive; a fraction where Welch's formula gives one.

    >>> round(two_sided(2.776, 4), 4), round(two_sided(1.860, 8), 3), two_sided(0, 3)
    (0.05, 0.1, 1.0)
    """
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def quantile(confidence: float, freedom: float) -> float:
    """Return the t with P(|T| < t) = ``confidence``.

    >>> round(quantile(0.95, 4), 3), round(quantile(0.9, 8), 3)
    (2.776, 1.86)
    """
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > 1 - confidence:
        low, high = high, 2 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if two_sided(middle, freedom) > 1 - confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return I_x(a, b)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    return front / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return 1 + d1/(1 + d2/(1 + …)) of 26.5.8, from its head on (Lentz's method)."""
    value, above, below = 1.0, 1.0, 0.0
    for term in range(1, _MOST):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / ((1 + d * below) or _TINY)
        above = (1 + d / above) or _TINY
        value *= above * below
        if abs(above * below - 1) < _CLOSE:
            return value
    raise ArithmeticError(f"no value of the incomplete beta function at {x}, {a}, {b}")
