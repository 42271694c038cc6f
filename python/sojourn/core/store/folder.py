"""The results folder as a whole."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import polars as pl

from sojourn.core.store.atomic import TEMPORARY, remove_folder, remove_unfinished, write_file, write_folder
from sojourn.core.store.index import Index
from sojourn.core.store.lock import LOCK, lock
from sojourn.core.store.reading import MOST_TEXT, read, seal, unsealed, why
from sojourn.core.store.record import CAPTURES, HEAD, LAST_CAPTURE, Record, checksums, record_files
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

FORMAT = 2
"""The version of the folder's layout that this Sojourn writes and reads."""


@dataclass(frozen=True)
class Folder:
    """A results folder, open for reading or for adding runs."""

    path: Path
    """Where it is."""
    version: str
    """The Sojourn that made it."""
    command: str
    """The command that made it."""
    locks: list[int] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def index(self) -> Index:
        """Its index (:mod:`sojourn.core.store.index`)."""
        return Index(self.path)

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
            found, version, command = (manifest[key] for key in ("format", "version", "command"))
            wrong = len(manifest) > len(("format", "version", "command")) or not isinstance(version + command, str)
            reason = "it has other keys than were written" if wrong else ""
        except StoreError as error:
            raise StoreError(error.message, help="run again into another folder") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = why(error)
        if reason:
            raise StoreError(f"{file} is damaged: {reason}", help="run again into another folder")
        if found != FORMAT:
            raise StoreError(
                f"{path} has format {found}, and this Sojourn reads format {FORMAT}",
                help=f"it was written by Sojourn {version}; use that one, or run again into another folder",
            )
        return cls(path, version, command)

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
                (path / "runs").mkdir(parents=True, exist_ok=True)
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
        manifest = {"format": FORMAT, "version": version, "command": command}
        write_file(path / "manifest.json", seal(json.dumps(manifest, indent=1)))
        return folder

    def __contains__(self, key: RunKey) -> bool:
        """Whether this very run is there."""
        return (self.path / "runs" / key.folder_name / HEAD).exists()

    def record(self, key: RunKey) -> Record:
        """Return the stored run of this key."""
        return Record(self.path / "runs" / key.folder_name)

    def add(
        self,
        key: RunKey,
        tables: Mapping[str, pl.DataFrame],
        *,
        command: str,
        captures: Path | None = None,
        texts: Mapping[str, str] | None = None,
        imported: Mapping[str, Any] | None = None,
        remarks: Sequence[Mapping[str, Any]] | None = None,
    ) -> Record:
        """Store a finished run; its captures are moved from the folder of :meth:`captures`.

        Raises:
            StoreError: if the disk is full or the place cannot be written.
        """
        return self.add_files(key, record_files(key, command, tables, texts, imported, remarks), captures=captures)

    def add_files(self, key: RunKey, files: Mapping[str, bytes], *, captures: Path | None = None) -> Record:
        """Store a finished run as :func:`record_files` made it, here or on another machine; it is there whole or not.

        Raises:
            StoreError: if the disk is full or the place cannot be written.
        """
        self.index.begin()
        path = self.path / "runs" / key.folder_name
        packets = [] if captures is None else sorted(captures.iterdir())
        if packets:
            files = {**files, CAPTURES: checksums(packets)}
        write_folder(path, files, packets)
        return Record(path)

    @contextmanager
    def captures(self, key: RunKey) -> Iterator[Path]:
        """Lend a folder for a run's captures while they grow; what is left in it afterwards is removed.

        Raises:
            StoreError: if it cannot be made.
        """
        path = self.path / "runs" / f"{TEMPORARY}{key.digest}-captures"
        try:
            path.mkdir(exist_ok=True)
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
        write_file(record.path / CAPTURES, checksums(packets))
        try:
            for file in packets:
                file.rename(record.path / file.name)
        except OSError as error:
            raise StoreError(f"the captures of {record.path} could not be kept: {error.strerror}") from error

    def records(self) -> list[Record]:
        """Every run in the folder, by name.

        Raises:
            StoreError: naming the file, if one is damaged.
        """
        records = [Record(path) for path in sorted(self.run_folders())]
        for record in records:
            _ = record.head
        return records

    def run_folders(self) -> Iterator[Path]:
        """Yield the folders of finished runs, in any order."""
        runs = self.path / "runs"
        if not runs.is_dir():
            return
        for path in runs.iterdir():
            if path.is_dir() and not path.name.startswith(TEMPORARY):
                yield path

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
        """Write the index if it is not there, and let others write into the folder."""
        if self.locks:
            self.index.finish(self.run_folders())
        self._unlock()

    def _unlock(self) -> None:
        while self.locks:
            os.close(self.locks.pop())


def _only_begun(path: Path) -> bool:
    """Whether a folder has nothing in it, or only what a command had made of it that was killed before the manifest."""
    return all(
        file.name.startswith(TEMPORARY)
        or file.name == LOCK
        or (file.name == "runs" and file.is_dir() and not any(file.iterdir()))
        for file in path.iterdir()
    )


def _sweep(folder: Folder) -> None:
    """Remove what a killed command left unfinished."""
    for path in folder.unfinished():
        remove_unfinished(path)
