"""How every figure looks: one style, in a page's own colours or on white paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, cast

Ground = Literal["page", "paper"]
"""The background of a figure: a page, with its text colour and dark mode, or white paper."""

INK: Final = "#010101"
"""Of text and axes. No line has it, so that SVG can replace it by the page's text colour."""

FAINT: Final = "#020202"
"""Of grids on a page, replaced likewise."""

QUEUE: Final = "#6f7780"
"""The colour of queues, which no flow has."""

WIDTH: Final = 7.3
"""Of a figure, inches: the full width of a page's frame."""

ACROSS: Final = 4
"""Panels side by side, at most: further ones are in rows below."""


def wrapped_panels(panels: int) -> tuple[int, int]:
    """Return columns and rows for a number of panels.

    >>> wrapped_panels(3), wrapped_panels(5), wrapped_panels(24)
    ((3, 1), (3, 2), (4, 6))
    """
    rows = -(-panels // ACROSS)
    return -(-panels // rows) if rows else 1, max(rows, 1)


TICKS: Final = 8.5
"""Size of the smallest letters, points."""

_FAINT_ON_PAPER: Final = "#d5d9de"

_STYLE: Final[dict[str, Any]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 9.5,
    "figure.facecolor": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "pdf.fonttype": 42,  # TrueType, embedded: journals refuse matplotlib's usual Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "sojourn",  # the same figure gives the same text
    "text.color": INK,
    "text.parse_math": False,  # a dollar in a label is a dollar
    "xtick.color": INK,
    "xtick.labelsize": TICKS,
    "ytick.color": INK,
    "ytick.labelsize": TICKS,
}


@contextmanager
def styled(ground: Ground = "page") -> Iterator[None]:
    """Draw in the one style of every figure."""
    import matplotlib as mpl  # noqa: PLC0415 - takes half a second, and only figures need it

    colours = (
        {"grid.color": FAINT} if ground == "page" else {"grid.color": _FAINT_ON_PAPER, "figure.facecolor": "white"}
    )
    # The names of all settings are a literal type, which a table of some cannot have.
    with mpl.rc_context(cast("Any", _STYLE | colours)):
        yield
