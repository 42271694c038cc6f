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
from sojourn.evidence.parity.parts import (
    DIVIDED,
    WAYS,
    Divided,
    Division,
    Maker,
    Part,
    divide,
    divided_json,
    divided_markdown,
    divided_rows,
    lines_of,
)
from sojourn.evidence.parity.sample import sample

__all__ = [
    "DECIDED",
    "DIVIDED",
    "ENOUGH",
    "HEADINGS",
    "HEADLINES",
    "METRICS",
    "USUAL",
    "WAYS",
    "Comparison",
    "Divided",
    "Division",
    "Engines",
    "Estimate",
    "Line",
    "Maker",
    "Metric",
    "Pair",
    "Part",
    "Verdict",
    "as_json",
    "both",
    "cells_of",
    "compare",
    "difference",
    "divide",
    "divided_json",
    "divided_markdown",
    "divided_rows",
    "estimate",
    "holds",
    "lines_of",
    "markdown",
    "named",
    "sample",
    "summary",
]
