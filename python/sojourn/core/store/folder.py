"""The results folder as a whole."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from sojourn import _core
from sojourn.core.store.atomic import TEMPORARY, remove_folder, remove_unfinished, write_file
from sojourn.core.store.lock import LOCK, lock
from sojourn.core.store.reading import MOST_TEXT, read, seal, unsealed, why
from sojourn.core.store.record import CAPTURES, LAST_CAPTURE, Record, checksums
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

if TYPE_CHECKING:
    import polars as pl

FORMAT: Final = 3
"""The version of the folder's layout that this Sojourn writes and reads."""

SEGMENTS: Final = "segments"
"""The folder of the segments, by its name in the results folder."""


@dataclass(frozen=True)
class Folder:
    """A results folder, open for reading or for adding runs."""

    path: Path
    """Where it is."""
    version: str
    """The Sojourn that made it."""
    command: str
    """The command that made it."""
    runs: int = 0
    """How many runs it had when the last command that changed it ended: fewer mean that a segment is gone."""
    locks: list[int] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def store(self) -> _core.Store:
        """The runs in its segments, as they were when it was first asked for.

        Raises:
            StoreError: if a file is no segment of this version, or cannot be read.
        """
        return _core.Store(self.path / SEGMENTS, add=bool(self.locks))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a folder that is there.

        Raises:
            StoreError: if it is no results folder, or one of another format.
        """
        path = Path(path)
        file = path / "manifest.json"
        if path.exists() and not path.is_dir():
            raise StoreError(
                f"{path} is a file, not a results folder", help="give the folder that `sojourn run ... -o DIR` wrote"
            )
        if not path.is_dir():
            raise StoreError(f"there is no folder {path}", help=f"make one with `sojourn run SUITE -o {path}`")
        if not os.path.lexists(file):
            raise StoreError(
                f"{path} is not a results folder: it has no manifest.json",
                help="give the folder that `sojourn run ... -o DIR` wrote",
            )
        try:
            manifest: Any = unsealed(read(file, MOST_TEXT))
            found, version, command = (manifest.pop(key) for key in ("format", "version", "command"))
            runs = manifest.pop("runs", 0)
            wrong = manifest or not isinstance(version + command, str) or not isinstance(runs, int)
            reason = "it has other keys than were written" if wrong else ""
        except StoreError as error:
            raise StoreError(error.message, help="run again into another folder") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = why(error)
        if reason:
            raise StoreError(f"{file} is damaged: {reason}", help="run again into another folder")
        if found != FORMAT:
            older = isinstance(found, int) and found < FORMAT
            raise StoreError(
                f"{path} has format {found}, and this Sojourn reads format {FORMAT}",
                help=f"`sojourn store convert {path} -o NEW` writes it in this format"
                if older
                else f"Sojourn {version} wrote it; use that one, or run again into another folder",
            )
        return cls(path, version, command, runs)

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, version: str, command: str) -> Self:
        """Open a folder for adding runs; make it if it is not there.

        Raises:
            StoreError: if the place is taken by something else, was written by another version, or cannot be
                written.
        """
        path = Path(path)
        if (path / "manifest.json").exists():
            folder = cls.open(path)
            if folder.version != version:
                raise StoreError(
                    f"{path} was written by Sojourn {folder.version}, and this is {version}: "
                    "results of two versions do not go into one folder",
                    help="name another folder with -o",
                )
            folder.locks.append(lock(path))
            _sweep(folder)
            return folder
        try:
            taken = path.exists() and (not path.is_dir() or not _only_begun(path))
            if not taken:
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path} could not be made: {error.strerror}") from error
        if taken:
            raise StoreError(f"{path} is there already and is not a results folder", help="name another folder with -o")
        folder = cls(path, version, command)
        folder.locks.append(lock(path))
        if (path / "manifest.json").exists():
            # Another command was quicker, and has ended.
            folder._unlock()
            return cls.create(path, version=version, command=command)
        folder.count(0)
        return folder

    def count(self, runs: int) -> None:
        """Write the manifest with this number of runs; the folder's lock is needed.

        Raises:
            StoreError: if it cannot be written.
        """
        manifest = {"format": FORMAT, "version": self.version, "command": self.command, "runs": runs}
        write_file(self.path / "manifest.json", seal(json.dumps(manifest, indent=1)))

    def __contains__(self, key: RunKey) -> bool:
        """Whether this very run is there."""
        return key.name in self.store

    def has(self, key: RunKey) -> bool:
        """Whether this very run is there, with at least as much of it as the key keeps."""
        return self.store.has(key.name, key.keep)

    def record(self, key: RunKey) -> Record:
        """Return the stored run of this key."""
        return self.named(key.name)

    def named(self, name: str) -> Record:
        """Return the stored run of this name."""
        return Record(self.store, self.path, name)

    def add(
        self,
        key: RunKey,
        tables: Mapping[str, "pl.DataFrame"],
        *,
        command: str,
        imported: Mapping[str, Any] | None = None,
    ) -> Record:
        """Store a run from tables that were made elsewhere: imported, or built in Python.

        Args:
            key: the identity of the run.
            tables: its results.
            command: the command that asked for it.
            imported: where it is from, and what its numbers are, if no engine of ours made it.

        Raises:
            StoreError: if the disk is full or the place cannot be written.
        """
        run = _core.Run(key.resolved, key.engine, key.version, dict(tables))
        about = None if imported is None else json.dumps(dict(imported))
        warnings = list(key.warnings)
        return self.add_encoded(
            _core.encode_run(
                run, key.version, command=command, warnings=warnings, imported=about, repetition=key.repetition
            )
        )

    def add_encoded(self, encoded: bytes) -> Record:
        """Store a run as :func:`sojourn._core.encode_run` made it, here or elsewhere; it is there whole or not.

        Raises:
            StoreError: if the disk is full or the place cannot be written.
        """
        name = self.store.append(encoded)
        self.store.sync()
        return self.named(name)

    @contextmanager
    def captures(self, key: RunKey) -> Iterator[Path]:
        """Lend a folder for a run's captures while they grow, and remove it with any leftovers afterwards.

        Raises:
            StoreError: if it cannot be made.
        """
        path = self.path / "runs" / f"{TEMPORARY}{key.digest}-captures"
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path} could not be made: {error.strerror}") from error
        try:
            yield path
        finally:
            remove_folder(path)

    def add_captures(self, key: RunKey, captures: Path) -> None:
        """Move captures to a run that is stored already.

        Raises:
            StoreError: if the place cannot be written.
        """
        record = self.record(key)
        packets = sorted(captures.iterdir(), key=lambda file: file.name == LAST_CAPTURE)
        if not packets:
            return
        try:
            record.path.mkdir(exist_ok=True)
            write_file(record.path / CAPTURES, checksums(packets))
            for file in packets:
                file.rename(record.path / file.name)
        except OSError as error:
            raise StoreError(f"the captures of {record.path} could not be kept: {error.strerror}") from error

    def records(self) -> list[Record]:
        """Return every run in the folder, by name.

        Raises:
            StoreError: if damage hides runs, or a segment is gone.
        """
        self.store.check()
        if missing := self.missing:
            raise StoreError(missing, help="put the segment back, or give the command again: it makes these runs again")
        return [self.named(name) for name in sorted(self.store.names())]

    @property
    def missing(self) -> str:
        """Which runs are gone with a segment, in words; empty if none are."""
        there = len(self.store)
        if there >= self.runs:
            return ""
        return f"{self.path} had {self.runs} runs when the last command ended, and has {there}: a segment is gone"

    def unfinished(self) -> list[Path]:
        """Return what killed commands left: no command reads it, and the next that adds runs removes it."""
        return sorted(path for place in (self.path, self.path / "runs") for path in place.glob(f"{TEMPORARY}*"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from writing here.

        Raises:
            StoreError: if one is.
        """
        self.locks.append(lock(self.path))
        try:
            yield
        finally:
            self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the segment that was written, and let others write into the folder."""
        try:
            if self.locks and "store" in self.__dict__:
                self.store.close()
                if len(self.store) != self.runs:
                    self.count(len(self.store))
        finally:
            self._unlock()

    def _unlock(self) -> None:
        while self.locks:
            os.close(self.locks.pop())


def _only_begun(path: Path) -> bool:
    """Whether a folder has nothing in it, or only what a command had made of it that was killed before the manifest."""
    return all(
        file.name.startswith(TEMPORARY)
        or file.name == LOCK
        or (file.name in {"runs", SEGMENTS} and file.is_dir() and not any(file.iterdir()))
        for file in path.iterdir()
    )


def _sweep(folder: Folder) -> None:
    """Remove what a killed command left unfinished."""
    for path in folder.unfinished():
        remove_unfinished(path)
