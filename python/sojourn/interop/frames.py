"""Result tables from rows that have only the known values."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from sojourn import _core

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    table: dict(columns) for table, columns in json.loads(_core.columns()).items()
}
"""By table, the kind of each column: ``f64``, ``u64``, ``text``."""

_POLARS: Final = {"f64": pl.Float64, "u64": pl.UInt64, "text": pl.String}
_ABSENT: Final[dict[str, Any]] = {"f64": math.nan, "u64": 0, "text": ""}


_ALWAYS: Final = ("flows", "pings", "events", "queues", "totals", "histograms")
"""Tables that a run has even where nothing is in them."""


def frames(filled: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, pl.DataFrame]:
    """Return the tables of a run: those that are filled, and empty ones of the others that each run has."""
    return {name: frame(name, filled.get(name, [])) for name in dict.fromkeys((*_ALWAYS, *filled))}


def frame(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return a table; numbers that a row lacks are NaN, counts 0, texts empty."""
    types = COLUMNS[table]
    columns = {name: [row.get(name, _ABSENT[kind]) for row in rows] for name, kind in types.items()}
    return pl.DataFrame(columns, schema={name: _POLARS[kind] for name, kind in types.items()})
