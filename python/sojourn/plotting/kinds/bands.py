"""Lines over time: the common part of the kinds that draw them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.select import PATTERN, labelled, varied
from sojourn.errors import UsageError
from sojourn.plotting.draw.traces import Band
from sojourn.plotting.kind import Option

ONLY: Final = Option("only", f"draw only some cells, on the scales of all that are given: {PATTERN}")
"""Of every kind that draws its pictures on shared scales."""

MOST: Final = 40
"""Cells that one picture can show below one another."""


def few(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells if one picture can show them.

    Raises:
        UsageError: if they are more than :data:`MOST`, with the axes to choose by.
    """
    if len(cells) > MOST:
        axes = ", ".join(f"{axis} ({len(labels)})" for axis, labels in varied(cells).items())
        raise UsageError(
            f"these are {len(cells)} cells, and one picture shows up to {MOST} of them below one another",
            help=f"choose some with --cell or only=AXIS=LABEL,...; there is {axes}",
        )
    return cells


_COLUMNS: Final = ("t_s", "value", "low", "high")


def band_table(bands: Iterable[tuple[str, str, Band]], labels: Mapping[str, str]) -> pl.DataFrame:
    """Return lines as rows; where a line has no range, its ends are the value.

    Args:
        bands: what each is of (a flow, or nothing), which quantity in which unit, and the line.
        labels: of the cell's axes.
    """
    return pl.concat(
        pl.DataFrame(
            {"t_s": b.t, "value": b.value, "low": b.low or b.value, "high": b.high or b.value},
            schema=dict.fromkeys(_COLUMNS, pl.Float64),
        ).select(
            *(
                pl.lit(value).alias(name)
                for name, value in labelled(labels, {"of": of, "quantity": quantity, **dict.fromkeys(_COLUMNS)}).items()
                if name not in _COLUMNS
            ),
            pl.all(),
        )
        for of, quantity, b in bands
    )


def shaded(window: tuple[float, float] | None) -> str:
    """Return words about the shade, for captions; nothing if there is none."""
    return f" Shaded: the measuring window, {window[0]:.4g} s to {window[1]:.4g} s." if window else ""
