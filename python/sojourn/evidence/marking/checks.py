"""Comparisons that cases share, each with its tolerance.

A count may be four standard deviations off, and a share for what steps of a millisecond cannot resolve.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sojourn.evidence.marking.case import Finding
from sojourn.evidence.marking.observed import Floats

SIGMAS: Final = 4.0
MODEL: Final = 0.10
"""Of an expected count, for what steps of a millisecond and a replay in floating point do not resolve."""


def counts(
    what: str,
    pairs: Sequence[tuple[Floats, Floats, npt.NDArray[np.bool_]]],
    *,
    model: float = MODEL,
    least: float = 10.0,
) -> Finding | None:
    """Compare counts, summed over runs: seen in each step, expected in each step, and which steps count.

    None where fewer than ``least`` were expected and none was seen: that shows nothing.
    """
    seen = sum(float(own[where].sum()) for own, _, where in pairs)
    expected = sum(float(due[where].sum()) for _, due, where in pairs)
    if expected < least and seen < least:
        return None
    off = SIGMAS * math.sqrt(max(expected, 1.0)) + model * expected
    return Finding(what, f"{expected:.0f} ± {off:.0f}", f"{seen:.0f}", abs(seen - expected) <= off)


def none(what: str, seen: Sequence[float]) -> Finding:
    """Find that there was none of something in any run."""
    total = sum(seen)
    return Finding(what, "none", f"{total:.0f}", total == 0)


def near(what: str, seen: Sequence[float], expected: Sequence[float], within: float, unit: str = "s") -> Finding:
    """Find that each run's value is near its expectation; what never came is not."""
    scale, shown = {"s": (1e3, " ms"), "B": (1e-3, " kB"), "": (1.0, "")}[unit]
    worst = max(
        range(len(seen)), key=lambda i: math.inf if math.isnan(seen[i] - expected[i]) else abs(seen[i] - expected[i])
    )
    holds = all(abs(own - due) <= within for own, due in zip(seen, expected, strict=True))
    return Finding(
        what,
        f"{expected[worst] * scale:.4g} ± {within * scale:.3g}{shown}",
        f"{seen[worst] * scale:.4g}{shown}" if not math.isnan(seen[worst]) else "never",
        holds,
    )


def kept(*found: Finding | None) -> list[Finding]:
    """Return the findings that show something."""
    return [one for one in found if one is not None]
