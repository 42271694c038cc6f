"""The index of a results folder: ``index.parquet``, one row a run, for DuckDB, Polars and whatever else reads Parquet.

Invariant: if it is there, it has a row for every run. Whoever adds runs takes it away before the first and writes it
anew after the last; a kill in between leaves none, which a query says at once, and never one that lacks runs.
``sojourn index DIR`` makes it then, and in folders of earlier versions. A run is known by the name of its folder, which
has the hash that identifies it. Sojourn itself does not read it but to write it anew more quickly.
"""

import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.store.atomic import write_file
from sojourn.core.store.record import Record
from sojourn.errors import StoreError

NAME: Final = "index.parquet"

COLUMNS: Final = ("run", "experiment", "cell", "cell_id", "seed", "engine", "version")
"""The columns that every index has; behind them one for each axis of the experiments."""

FOLDER: Final = "folder"
"""The column behind the axes: the run's folder. Behind it is one for each table, with its file."""


class Index:
    """The index of a folder that runs are added to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: pl.DataFrame | None = None

    @property
    def path(self) -> Path:
        """Its file."""
        return self._folder / NAME

    def begin(self) -> None:
        """Take it away: runs are about to be added.

        Raises:
            StoreError: if it cannot be removed.
        """
        if not self.path.exists():
            return
        self._known = _read(self.path)
        try:
            self.path.unlink()
        except OSError as error:
            raise StoreError(f"{self.path} could not be removed: {error.strerror}") from error

    def finish(self, runs: Iterable[Path]) -> None:
        """Write it if it is not there; if it cannot be written, or a run is damaged, there is none.

        Args:
            runs: the folders of all runs.
        """
        if self.path.exists():
            return
        # What is wrong is said by whoever reads the run, or by `sojourn index`.
        with suppress(StoreError):
            write(self._folder, runs, self._known)


def write(folder: Path, runs: Iterable[Path], known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Write the index of a folder; return it.

    Args:
        folder: the results folder.
        runs: the folders of all runs.
        known: an earlier index, whose runs need not be read again.

    Raises:
        StoreError: if a run is damaged, or it cannot be written.
    """
    frame = frame_of(folder, runs, known)
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    write_file(folder / NAME, buffer.getbuffer())
    return frame


def frame_of(folder: Path, runs: Iterable[Path], known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the index of these runs; arguments and errors as for :func:`write`."""
    paths = {path.name: path for path in sorted(runs)}
    old = {row["run"]: row for row in known.iter_rows(named=True)} if known is not None else {}
    rows = []
    axes: dict[str, None] = {}
    tables: dict[str, None] = {}
    for name, path in paths.items():
        row = old[name] if name in old else _row(Record(path), folder)
        rows.append(row)
        columns = list(row)
        behind = columns.index(FOLDER)
        axes.update(dict.fromkeys(columns[len(COLUMNS) : behind]))
        tables.update(dict.fromkeys(columns[behind + 1 :]))
    order = [*COLUMNS, *axes, FOLDER, *tables]
    schema = {column: pl.UInt64() if column == "seed" else pl.String() for column in order}
    return pl.DataFrame([{column: row.get(column) for column in order} for row in rows], schema=schema)


def _row(record: Record, folder: Path) -> dict[str, Any]:
    key, base = record.key, os.path.relpath(record.path, folder)
    own = {
        "run": record.path.name,
        "experiment": key.scenario["experiment"],
        "cell": key.label.rpartition("#")[0],
        "cell_id": key.cell_digest,
        "seed": int(key.scenario["seed"]),
        "engine": key.engine,
        "version": key.version,
    }
    files = {name: f"{base}/{name}.parquet" for name in record.tables}
    taken = {*own, FOLDER, *files}
    labels = {f"axis.{axis}" if axis in taken else axis: label for axis, label in key.scenario["cell"]}
    return {**own, **labels, FOLDER: base, **files}


def _read(path: Path) -> pl.DataFrame | None:
    """Return an index that is there; None if it is damaged or of another form."""
    try:
        found = pl.read_parquet(path, memory_map=False)
    except (OSError, pl.exceptions.PolarsError):
        return None
    return found if {*COLUMNS, FOLDER} <= set(found.columns) else None
