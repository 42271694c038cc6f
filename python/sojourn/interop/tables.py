"""Runs as Parquet: for DuckDB, Polars, pandas and other readers.

``runs.parquet`` has a row for each run; each other file is one table of all runs. The first columns of each are the
run's name, the axes of the experiments, the seed and the engine, so that no join is needed. :func:`export_run` writes
one run as a folder of its own, with the scenario that makes it again.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.store import Folder, Record
from sojourn.core.store.atomic import write_file
from sojourn.errors import StoreError, UsageError

_ROWS: Final = 200_000
"""Rows that are written together: enough for a good size, few enough for little memory."""


def axes_of(records: Iterable[Record]) -> list[str]:
    """Return the axes of these runs, each once."""
    return list(dict.fromkeys(axis for record in records for axis, _ in record.brief.labels))


def keys_of(record: Record, axes: Sequence[str]) -> dict[str, Any]:
    """Return the columns that tell a run from others; an axis that has the name of another column is ``axis.NAME``."""
    brief = record.brief
    own: dict[str, Any] = {
        "run": record.name,
        "experiment": brief.experiment,
        "seed": brief.seed,
        "engine": brief.engine,
    }
    labels = dict(brief.labels)
    return own | {f"axis.{axis}" if axis in own else axis: labels.get(axis) for axis in axes}


def scan(records: Sequence[Record], table: str) -> Iterator[pl.DataFrame]:
    """Yield one table of all these runs in parts, with the run's name, its axes and its seed in front.

    Args:
        records: the runs; those that did not keep the table are left out.
        table: which.

    Raises:
        UsageError: if no run has it.
    """
    found = [record for record in records if table in record.tables]
    if not found:
        raise UsageError.unknown("table", table, sorted({name for record in records for name in record.tables}))
    axes = axes_of(records)
    part: list[pl.DataFrame] = []
    rows = 0
    for record in found:
        own = record.table(table)
        keys = keys_of(record, axes)
        types = {name: pl.UInt64() if name == "seed" else pl.String() for name in keys}
        front = pl.DataFrame({name: [value] for name, value in keys.items()}, schema=types)
        clash = {name: f"{table}.{name}" for name in own.columns if name in keys}
        text = pl.col(pl.Categorical).cast(pl.String)
        part.append(front.join(own.with_columns(text).rename(clash), how="cross"))
        rows += own.height
        if rows >= _ROWS:
            yield pl.concat(part)
            part, rows = [], 0
    if part:
        yield pl.concat(part)


def export_tables(folder: Path, to: Path, tables: Sequence[str] = ()) -> list[Path]:
    """Write the tables of a results folder as Parquet files.

    Args:
        folder: the results folder.
        to: the target folder; made if need be.
        tables: which tables; all that have rows if empty.

    Raises:
        StoreError: if the folder is damaged, or the target cannot be written.
        UsageError: if no run has such a table.
    """
    records = Folder.open(folder).records()
    if not records:
        raise StoreError(f"{folder} has no runs", help=f"make some with `sojourn run SUITE -o {folder}`")
    known = list(dict.fromkeys(name for record in records for name in record.tables))
    for name in tables:
        if name not in known:
            raise UsageError.unknown("table", name, known)
    axes = axes_of(records)
    runs = [{**keys_of(r, axes), "cell": r.brief.cell, "version": r.brief.version} for r in records]
    written = []
    try:
        to.mkdir(parents=True, exist_ok=True)
        target = to / "runs.parquet"
        pl.DataFrame(runs, infer_schema_length=None).write_parquet(target)
        written.append(target)
        for name in tables or known:
            parts = [part for part in scan(records, name) if part.height or tables]
            if parts:
                target = to / f"{name}.parquet"
                pl.concat(parts).write_parquet(target, compression="zstd")
                written.append(target)
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror or error}") from error
    return written


def export_run(record: Record, to: Path) -> list[Path]:
    """Write one run as a folder: ``scenario.json``, which ``sojourn run`` takes, its tables as Parquet, its texts.

    Args:
        record: the run.
        to: the folder; made if need be.

    Raises:
        StoreError: if the run is damaged, or the target cannot be written.
    """
    head = {"label": record.key.label, "engine": record.key.engine, "version": record.key.version, **record.head}
    files = {"scenario.json": json.dumps(head, indent=1, ensure_ascii=False).encode()}
    files |= {name: record.text(name) for name in record.texts}
    try:
        to.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_file(to / name, content)
        for name in record.tables:
            record.table(name).write_parquet(to / f"{name}.parquet", compression="zstd")
    except OSError as error:
        raise StoreError(f"cannot write {to}: {error.strerror or error}") from error
    return [to / name for name in (*files, *(f"{name}.parquet" for name in record.tables))]
