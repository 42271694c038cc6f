"""Which runs a folder has, by their axes.

Invariant: a page knows a run by its number in one revision of the catalogue and never by a path; of a run only the
folder's segments are read.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.cells import distinguished, ordered
from sojourn.core.store import Folder, Record
from sojourn.core.store.folder import SEGMENTS
from sojourn.errors import StoreError, UsageError

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
"""Kinds of a report's files."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with the label that each run has."""

    name: str
    labels: Sequence[str]
    """As people count."""
    codes: Sequence[int]
    """By run, which label; -1 where a run has none."""


class Revision:
    """The runs that a folder had at one time."""

    def __init__(self, number: int, folder: Folder, damaged: Sequence[str]) -> None:
        self.number = number
        """From 1; another one has other runs."""
        self.folder = folder
        records = [folder.named(name) for name in sorted(folder.store.names())]
        self.names: Sequence[str] = [record.name for record in records]
        """The name of each run."""
        self.damaged = damaged
        """The damage that hides runs."""
        self._file_axes = list(dict.fromkeys(axis for record in records for axis, _ in record.brief.labels))
        rows = [
            [own.experiment, own.engine, own.seed, own.cell, *(dict(own.labels).get(axis) for axis in self._file_axes)]
            for own in (record.brief for record in records)
        ]
        axes = {f"axis.{axis}": pl.String() for axis in self._file_axes}
        schema = {"experiment": pl.String(), "engine": pl.String(), "seed": pl.UInt64(), "cell_id": pl.String(), **axes}
        self._frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
            run=pl.Series(self.names, dtype=pl.String)
        )

    def __len__(self) -> int:
        return len(self.names)

    def name(self, index: int) -> str:
        """Return a run's name.

        Raises:
            UsageError: if there is no such run.
        """
        if not 0 <= index < len(self):
            raise UsageError(f"there is no run {index}", help="load the page again")
        return self.names[index]

    def seeds_of_one(self, index: int) -> list[str]:
        """Return the folders of all runs that differ from this one by the seed alone, it included."""
        cell = self._frame["cell_id"][index]
        own = self._frame.filter(pl.col("cell_id") == cell).sort("seed")
        return list(own["run"])

    @property
    def scenarios(self) -> list[str]:
        """The names of the experiments."""
        return list(self._frame["experiment"].unique())

    def variants(self) -> Mapping[tuple[str, ...], list[str]]:
        """Return, by experiment, labels and engine, a run of each cell, where these are several."""
        by = [*_OWN_BUT_SEED, *(f"axis.{axis}" for axis in self._file_axes)]
        firsts = self._frame.group_by([*by, "cell_id"], maintain_order=True).agg(pl.col("run").first())
        several = firsts.group_by(by, maintain_order=True).agg("run").filter(pl.col("run").list.len() > 1)
        return {tuple(map(str, row[:-1])): row[-1] for row in several.iter_rows()}

    def cells(self) -> list[str]:
        """Return by run what identifies its cell."""
        return list(self._frame["cell_id"])

    def axes(self) -> list[Axis]:
        """Return the experiments, the axes of the files, the engines and the seeds."""
        columns = {"scenario": "experiment", **{name: f"axis.{name}" for name in self._file_axes}}
        columns |= {"engine": "engine", "seed": "seed"}
        return [axis(name, self._frame[column].cast(pl.String).to_list()) for name, column in columns.items()]


_OWN_BUT_SEED: Final = ("experiment", "engine")


def axis(name: str, labels: Sequence[str | None]) -> Axis:
    """Return an axis of the labels of each run.

    >>> axis("rtt", ["80ms", "20ms", None, "80ms"])
    Axis(name='rtt', labels=['20ms', '80ms'], codes=[1, 0, -1, 1])
    """
    known = ordered(label for label in labels if label is not None)
    places = {label: code for code, label in enumerate(known)}
    return Axis(name, known, [-1 if label is None else places[label] for label in labels])


class Catalogue:
    """The runs of a folder, which may grow while somebody looks."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._root = folder.path.resolve()
        self._lock = threading.Lock()
        self._stamp: object = None
        self._now: Revision | None = None

    def now(self) -> Revision:
        """Return the runs as they are now; the last revision if nothing was added."""
        with self._lock:
            stamp = self._look()
            if self._now is None or stamp != self._stamp:
                folder = Folder.open(self.folder.path)
                damaged = folder.store.faults() or list(filter(None, [folder.missing]))
                self._stamp = stamp
                self._now = Revision(1 if self._now is None else self._now.number + 1, folder, damaged)
            return self._now

    def at(self, number: int) -> Revision:
        """Return the revision that a page speaks of.

        Raises:
            UsageError: if runs were added since.
        """
        now = self._now
        if now is None or now.number != number:
            raise UsageError("runs were added to the folder since this page was loaded", help="load the page again")
        return now

    def record(self, name: str) -> Record:
        """Return a stored run.

        Raises:
            StoreError: if it is not there.
        """
        folder = self.now().folder
        if name not in folder.store:
            raise StoreError(f"there is no run {name} any more", help="load the page again")
        return folder.named(name)

    def apart(self, revision: Revision) -> Axis | None:
        """Return an axis that distinguishes cells of the same name; None where there are no such cells.

        An experiment may have been run again with ``--set`` or by another build (:mod:`sojourn.core.cells`).
        """
        said: dict[str, str] = {}
        for names in revision.variants().values():
            keys = []
            for name in names:
                try:
                    keys.append(self.record(name).key)
                except StoreError:
                    continue
            for labels, own in distinguished(keys):
                said |= {key.cell_digest: ", ".join("=".join(pair) for pair in labels) for key in own}
        return axis("variant", [said.get(cell) for cell in revision.cells()]) if said else None

    def pages(self) -> list[str]:
        """Return the names of the pages in the folder: its reports."""
        return sorted(name for name in _plain_files(self._root) if name.endswith(".html"))

    def page(self, name: str) -> tuple[str, bytes] | None:
        """Return a page of :meth:`pages`, or a file of a report's folder, with its kind; None if there is none.

        Args:
            name: ``report.html``, or ``report/figure.svg``: a report has its files in a folder of its name.
        """
        of, slash, own = name.partition("/")
        kind = _KINDS.get(f".{name.rpartition('.')[2]}", "")
        fitting = (
            f"{of}.html" in self.pages() and own in _plain_files(self._root / of) if slash else name in self.pages()
        )
        if not fitting or not kind:
            return None
        try:
            return kind, (self._root / name).read_bytes()
        except OSError:
            return None

    def _look(self) -> object:
        """Return a value that changes when runs are added: the segments with their sizes."""
        found = []
        with suppress(OSError), os.scandir(self._root / SEGMENTS) as entries:
            found = [(own.name, own.stat().st_size, own.stat().st_mtime_ns) for own in entries]
        return tuple(sorted(found))


def _plain_files(folder: Path) -> list[str]:
    """Return the names of the files of a folder that are neither links nor hidden; none if it is a link itself."""
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as entries:
            own = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except (OSError, ValueError):
        return []
    return [name for name in own if not name.startswith(".")]


def axis_json(axis_: Axis, places: Any) -> dict[str, Any]:  # noqa: ANN401 - plotting's, which is not known here
    """Return an axis as a page takes it.

    Args:
        axis_: the axis.
        places: where its labels are along a horizontal axis (:class:`sojourn.plotting.kinds.across.Places`).
    """
    own: dict[str, Any] = {"name": axis_.name, "labels": axis_.labels, "codes": axis_.codes}
    if places.numbers:
        own["at"] = [places.at[label] for label in axis_.labels]
        own["title"] = places.title
    return own
