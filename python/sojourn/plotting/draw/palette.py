"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008)."""

FLOWS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""One a flow, in this order, repeated beyond the sixth."""


def flow_colour(index: int) -> str:
    """Return the colour of the ``index``-th flow, from 0."""
    return FLOWS[index % len(FLOWS)]
