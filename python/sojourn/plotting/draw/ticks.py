"""Round numbers for axes."""

import math

_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def nice_ceiling(value: float) -> float:
    """Return the least round number that is no less than ``value``; 1 if it is not positive.

    >>> nice_ceiling(47.8), nice_ceiling(0.0123), nice_ceiling(0)
    (50.0, 0.015, 1.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    for factor in _ROUND:
        if value <= factor * power * (1 + 1e-9):
            return float(f"{factor * power:.6g}")
    return float(f"{10 * power:.6g}")


def nice_floor(value: float) -> float:
    """Return the greatest of 1, 2 and 5 times a power of ten that is no greater than ``value``, which is positive.

    >>> nice_floor(7.3), nice_floor(0.04), nice_floor(200)
    (5.0, 0.02, 200.0)
    """
    power = 10.0 ** math.floor(math.log10(value))
    factor = max(f for f in (1.0, 2.0, 5.0) if f * power <= value * (1 + 1e-9))
    return float(f"{factor * power:.6g}")
