"""Numbers as files have them: no more digits than a computation with doubles can tell."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl


DIGITS: Final = 15
"""Every decimal number of as many digits survives being read as a double and written again."""


def rounded(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return the frame with its numbers rounded to 15 significant digits.

    >>> import polars as pl
    >>> rounded(pl.DataFrame({"a": [1.0000000000000002e-6, 0.1 + 0.2, float("nan")]}))["a"].to_list()
    [1e-06, 0.3, nan]
    """
    import polars as pl  # noqa: PLC0415 - reading answers needs no frames

    columns = [name for name, dtype in frame.schema.items() if dtype == pl.Float64]
    return frame.with_columns(
        pl.Series(name, [None if v is None else float(f"{v:.{DIGITS}g}") for v in frame[name]], dtype=pl.Float64)
        for name in columns
    )
