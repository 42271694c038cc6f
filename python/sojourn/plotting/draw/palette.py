"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008), and what helps them out."""

from typing import Final

FLOWS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""One a flow, in this order, repeated beyond the sixth."""

LINES: Final = ("solid", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)))
"""Ways to draw a line: solid, dashed, dotted, dash-dotted."""

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One for each label of an axis; matplotlib's names."""


def flow_colour(index: int) -> str:
    """Return the colour of the ``index``-th flow, from 0."""
    return FLOWS[index % len(FLOWS)]


def line_style(index: int) -> object:
    """Return the ``index``-th way to draw a line, from 0."""
    return LINES[index % len(LINES)]


def marker(index: int) -> str:
    """Return the ``index``-th marker, from 0."""
    return MARKERS[index % len(MARKERS)]
