"""The results folder as a whole."""

import fcntl
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

from sojourn.core.store.atomic import TEMPORARY, remove_folder, write_file, write_folder
from sojourn.core.store.damage import why
from sojourn.core.store.index import Index
from sojourn.core.store.record import HEAD, LAST_CAPTURE, Record, record_files
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

LOCK = ".lock"
"""The file that whoever writes into the folder has locked."""

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
        try:
            manifest = json.loads(file.read_bytes())
            found, version, command = manifest["format"], str(manifest["version"]), str(manifest["command"])
        except FileNotFoundError as error:
            raise StoreError(
                f"{path} is not a results folder: it has no manifest.json",
                help="give the folder that `sojourn run ... -o DIR` wrote",
            ) from error
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(f"{file} is damaged: {why(error)}", help="run again into another folder") from error
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
            _lock(folder)
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
        _lock(folder)
        if (path / "manifest.json").exists():
            # Another command was quicker, and has ended.
            folder._unlock()
            return cls.create(path, version=version, command=command)
        manifest = {"format": FORMAT, "version": version, "command": command}
        write_file(path / "manifest.json", (json.dumps(manifest, indent=1) + "\n").encode())
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
        write_folder(path, files, [] if captures is None else sorted(captures.iterdir()))
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
        try:
            for file in sorted(captures.iterdir(), key=lambda file: file.name == LAST_CAPTURE):
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

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from writing here.

        Raises:
            StoreError: if one is.
        """
        _lock(self)
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


def _lock(folder: Folder) -> None:
    """Keep other commands from writing here; the kernel lets go when this process ends, however it does.

    The file is never replaced: two commands that find no folder both lock this one. And it is open for writing, which
    NFS asks of whoever locks alone.
    """
    try:
        handle = os.open(folder.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreError(f"{folder.path / LOCK} could not be opened: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise StoreError(
            f"another command is writing into {folder.path}",
            help="wait for it, or name another folder with -o",
        ) from error
    folder.locks.append(handle)


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
    for path in (folder.path / "runs").glob(f"{TEMPORARY}*"):
        remove_folder(path)
