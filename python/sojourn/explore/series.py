"""Runs over time: any column of numbers of a table, as means over steps that an eye can tell apart."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from sojourn import _core
from sojourn.core.store import Record
from sojourn.errors import UsageError
from sojourn.plotting.draw.series import column_bands, events_of, step_of
from sojourn.plotting.labels import of_column
from sojourn.views.run import Run

_USUAL: Final = ("flows", "queues", "queue_state", "pings", "limits", "flow_state")
"""Tables over time, in the order in which they are offered; others behind them."""


def columns(record: Record) -> list[dict[str, str]]:
    """Return every column that can be drawn over time, with its title; no table is read for it."""
    known = [name for name in _USUAL if name in record.tables]
    found = []
    for table in [*known, *(name for name in record.tables if name not in known)]:
        schema = _schemas()[table]
        if "t_s" not in schema or not record.head["rows"].get(table):
            continue
        for column, numeric in schema.items():
            if column != "t_s" and numeric:
                found.append({"table": table, "column": column, "label": str(of_column(table, column))})
    return found


@cache
def _schemas() -> Mapping[str, Mapping[str, bool]]:
    """Return the columns of each table, and whether they are numbers."""
    stated: dict[str, list[tuple[str, str]]] = json.loads(_core.columns())
    return {table: {name: kind != "text" for name, kind in own} for table, own in stated.items()}


def lines(record: Record, table: str, column: str, between: tuple[float, float] | None) -> Mapping[str, Any]:
    """Return a column over time, a line for each flow or queue.

    Args:
        record: the run.
        table: its table.
        column: the column.
        between: these times alone, s, in finer steps; the whole run if None.

    Raises:
        UsageError: if the run has no such table or column.
        StoreError: if it is damaged.
    """
    run = Run.stored(record)
    if table not in run.tables:
        raise UsageError.unknown("table", table, run.tables, _core.renamed_table(table))
    schema = _schemas()[table]
    numbers = [name for name, numeric in schema.items() if numeric and name != "t_s"]
    if "t_s" not in schema or column not in numbers:
        raise UsageError.unknown(f"column over time in {table}", column, numbers, _core.renamed_column(table, column))
    seconds = run.scenario.seconds
    low, high = between or (0.0, seconds)
    label = of_column(table, column)
    bands = column_bands([run], table, column, step_of(max(high - low, seconds / 1e5)), label.scale)
    found = []
    for name, band in bands.items():
        points = [(t, v) for t, v in zip(band.t, band.value, strict=True) if low <= t <= high]
        found.append({"name": name, "t": [_short(t) for t, _ in points], "y": [_short(v) for _, v in points]})
    return {
        "run": run.label,
        "label": label.name,
        "unit": label.unit,
        "seconds": seconds,
        "window": run.window(),
        "events": _events(run),
        "lines": found,
    }


def _events(run: Run) -> Sequence[tuple[float, str]]:
    return events_of(run) if "events" in run.tables else []


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
