"""Which runs a folder has, by their axes.

Invariant: a run is known to a page by its number in one revision of the catalogue and never by a path, and whatever is
read of it lies in the folder: neither a name in the index nor a symbolic link leads elsewhere.

The index is taken as it is where it is there; where it is not (a command is adding runs, or was killed), the heads of
the runs are read, of those that have come since alone.
"""

import os
import stat
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.cells import distinguished, ordered
from sojourn.core.store import Folder, Record
from sojourn.core.store.index import COLUMNS, FOLDER, NAME, frame_of, stored
from sojourn.errors import SojournError, StoreError, UsageError

_OWN: Final = {"experiment": "scenario", "engine": "engine", "seed": "seed"}
"""Columns of the index that are axes here, by what patterns of the command line call them."""

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
"""What a report is made of."""

_MOST_SAID: Final = 20
"""Damaged runs that are named."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with the label that each run has."""

    name: str
    labels: Sequence[str]
    """As people count."""
    codes: Sequence[int]
    """By run, which label; -1 where a run has none."""


class Revision:
    """The runs that a folder had when somebody looked."""

    def __init__(self, number: int, frame: pl.DataFrame, damaged: Sequence[str]) -> None:
        self.number = number
        """From 1; another one has other runs."""
        self.names: Sequence[str] = frame["run"].to_list()
        """By run, the name of its folder."""
        self.damaged = damaged
        """What is wrong with those that are left out."""
        self._frame = frame

    def __len__(self) -> int:
        return len(self.names)

    def name(self, index: int) -> str:
        """Return a run's folder.

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
        by = [*_OWN_BUT_SEED, *self._file_axes]
        firsts = self._frame.group_by([*by, "cell_id"], maintain_order=True).agg(pl.col("run").first())
        several = firsts.group_by(by, maintain_order=True).agg("run").filter(pl.col("run").list.len() > 1)
        return {tuple(map(str, row[:-1])): row[-1] for row in several.iter_rows()}

    def cells(self) -> list[str]:
        """Return by run what identifies its cell."""
        return list(self._frame["cell_id"])

    @cached_property
    def _file_axes(self) -> list[str]:
        columns = self._frame.columns
        return columns[len(COLUMNS) : columns.index(FOLDER)]

    def axes(self) -> list[Axis]:
        """Return the experiments, the axes of the files, the engines and the seeds."""
        columns = {"scenario": "experiment", **{name: name for name in self._file_axes}}
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
        self._known: pl.DataFrame | None = None
        self._now: Revision | None = None

    def now(self) -> Revision:
        """Return the runs as they are now; the last revision if nothing was added."""
        with self._lock:
            stamp = self._look()
            if self._now is None or stamp != self._stamp:
                frame, damaged = self._read()
                self._stamp, self._known = stamp, frame
                self._now = Revision(1 if self._now is None else self._now.number + 1, frame, damaged)
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
        """Return a stored run, of which everything lies in the folder.

        Raises:
            StoreError: if it is not there, is damaged, or leads elsewhere.
        """
        return Record(self._within(name))

    def apart(self, revision: Revision) -> Axis | None:
        """Return what tells cells of the same name apart, as one axis more; None where nothing has to.

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
        """Return the names of the pages that lie in the folder: its reports."""
        return sorted(name for name in _plain_files(self._root) if name.endswith(".html"))

    def page(self, name: str) -> tuple[str, bytes] | None:
        """Return a page of :meth:`pages`, or a file that a report has beside it, with its kind; None if there is none.

        Args:
            name: ``report.html``, or ``report/figure.svg``: what a report writes lies in a folder of its name.
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

    def _within(self, name: str) -> Path:
        """Return a run's folder if it is one that lies in this folder, with all that is in it."""
        path = self._root / "runs" / name
        plain = name not in {"", ".", ".."} and not set(name) & {"/", "\\", "\0"}
        try:
            if not plain or path.resolve(strict=True) != path:
                raise StoreError(f"{path} leads out of {self._root}", help="copy the run into the folder")
            with os.scandir(path) as entries:
                other = next((own.name for own in entries if not own.is_file(follow_symlinks=False)), None)
            if other is not None:
                raise StoreError(f"{path / other} is no plain file", help="copy the run into the folder")
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}", help="load the page again") from error
        return path

    @property
    def _index(self) -> Path:
        return self._root / NAME

    def _look(self) -> object:
        """Return what is another once runs were added."""
        try:
            own = self._index.lstat()
            if stat.S_ISREG(own.st_mode):
                return own.st_mtime_ns, own.st_size
        except OSError:
            pass
        return tuple(sorted(path.name for path in self.folder.run_folders()))

    def _read(self) -> tuple[pl.DataFrame, list[str]]:
        """Return the index of all runs that can be read, and what is wrong with the others."""
        index = stored(self._root)
        if index is not None:
            return index, []
        known = set() if self._known is None else set(self._known["run"])
        fine, damaged = [], []
        for path in sorted(self.folder.run_folders()):
            if path.name not in known:
                try:
                    _ = self.record(path.name).head
                except SojournError as error:
                    damaged.append(error.message)
                    continue
            fine.append(self._root / "runs" / path.name)
        if len(damaged) > _MOST_SAID:
            damaged[_MOST_SAID:] = [f"and {len(damaged) - _MOST_SAID} more"]
        return frame_of(self._root, fine, self._known), damaged


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
