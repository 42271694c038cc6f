"""The index of a results folder: ``index.parquet``, one row a run, for DuckDB, Polars and other readers of Parquet.

Invariants: if it exists, it has a row for every run. A command that adds runs removes it before the first and writes
it again after the last; a kill in between leaves none, which a query reports at once, and never one that lacks runs.
``sojourn index DIR`` writes it then, and in folders of earlier versions. The name of a run's folder, which has the hash
that identifies the run, is its key.

Sojourn reads an index only if its bytes have the SHA-256 that ``index.parquet.sha256`` states, which ``sha256sum -c``
reads, too; otherwise it reads the heads of the runs, as where there is none.
"""

import hashlib
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.store.atomic import write_file
from sojourn.core.store.reading import read
from sojourn.core.store.record import Record, read_parquet
from sojourn.errors import StoreError

NAME: Final = "index.parquet"

CHECKSUM: Final = f"{NAME}.sha256"
"""The file with its checksum. It is written first: an index that it does not fit counts as none."""

_MOST: Final = 1 << 30
"""Bytes of an index; that of a million runs has some 100 MB."""

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
        self._known = stored(self._folder)
        try:
            self.path.unlink()
        except OSError as error:
            raise StoreError(f"{self.path} could not be removed: {error.strerror}") from error

    def finish(self, runs: Iterable[Path]) -> None:
        """Write it if it is missing or damaged; if it cannot be written, or a run is damaged, there is none.

        Args:
            runs: the folders of all runs.
        """
        if self.path.exists() and stored(self._folder) is not None:
            return
        # Whoever reads the run, and `sojourn index`, report what is wrong.
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
    content = buffer.getvalue()
    write_file(folder / CHECKSUM, f"{hashlib.sha256(content).hexdigest()}  {NAME}\n".encode())
    write_file(folder / NAME, content)
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
        "experiment": key.scenario.experiment,
        "cell": key.label.rpartition("#")[0],
        "cell_id": key.cell_digest,
        "seed": key.scenario.seed,
        "engine": key.engine,
        "version": key.version,
    }
    files = {name: f"{base}/{name}.parquet" for name in record.tables}
    taken = {*own, FOLDER, *files}
    labels = {f"axis.{axis}" if axis in taken else axis: label for axis, label in key.scenario.labels}
    return {**own, **labels, FOLDER: base, **files}


def stored(folder: Path) -> pl.DataFrame | None:
    """Return the index that a folder has; None if there is none, or it is not as this Sojourn writes it."""
    try:
        content = read(folder / NAME, _MOST)
        stated = read(folder / CHECKSUM, _LINE).split()
        if [hashlib.sha256(content).hexdigest().encode(), NAME.encode()] != stated:
            return None
        found = read_parquet(folder / NAME, content)
    except StoreError:
        return None
    whole = found.columns[: len(COLUMNS)] == list(COLUMNS) and FOLDER in found.columns
    texts = whole and all(dtype in {pl.String, pl.UInt64, pl.Null} for dtype in found.dtypes)
    return found if texts and found["run"].null_count() == 0 else None


_LINE: Final = 4096
