"""Parity: the same runs on two engines, and where the engines differ (:mod:`~sojourn.evidence.parity.pairs`).

What counts as different is :mod:`~sojourn.evidence.parity.equivalence`'s business.
"""

from sojourn.evidence.parity.engines import USUAL, Engines
from sojourn.evidence.parity.equivalence import Estimate, Verdict, estimate
from sojourn.evidence.parity.pairs import (
    DECIDED,
    ENOUGH,
    HEADINGS,
    HEADLINES,
    METRICS,
    Comparison,
    Line,
    Metric,
    Pair,
    as_json,
    both,
    cells_of,
    compare,
    difference,
    holds,
    markdown,
    named,
    summary,
)
from sojourn.evidence.parity.sample import sample

__all__ = [
    "DECIDED",
    "ENOUGH",
    "HEADINGS",
    "HEADLINES",
    "METRICS",
    "USUAL",
    "Comparison",
    "Engines",
    "Estimate",
    "Line",
    "Metric",
    "Pair",
    "Verdict",
    "as_json",
    "both",
    "cells_of",
    "compare",
    "difference",
    "estimate",
    "holds",
    "markdown",
    "named",
    "sample",
    "summary",
]
