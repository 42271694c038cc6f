"""Parity: the same runs on two engines, and where the engines differ (:mod:`~sojourn.evidence.parity.pairs`)."""

from sojourn.evidence.parity.engines import USUAL, Engines
from sojourn.evidence.parity.pairs import (
    ENOUGH,
    HEADLINES,
    METRICS,
    Comparison,
    Line,
    Metric,
    Pair,
    as_json,
    both,
    compare,
    difference,
    holds,
    markdown,
    summary,
)

__all__ = [
    "ENOUGH",
    "HEADLINES",
    "METRICS",
    "USUAL",
    "Comparison",
    "Engines",
    "Line",
    "Metric",
    "Pair",
    "as_json",
    "both",
    "compare",
    "difference",
    "holds",
    "markdown",
    "summary",
]
