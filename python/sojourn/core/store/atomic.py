"""Files and folders that are there whole or not at all, also after a crash or a power cut.

A folder is written under a temporary name, every file in it flushed to the disk, and then renamed; a rename
within one folder is atomic, so a reader sees the old state or the new one.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sojourn.errors import StoreError

TEMPORARY = ".unfinished-"
"""How the names of things not yet whole begin. Readers pass them over."""


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Put ``content`` at ``path``, replacing what is there.

    Raises:
        StoreError: if the disk is full or the place cannot be written.
    """
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{secrets.token_hex(4)}")
    try:
        _write_through(temporary, content)
        temporary.replace(path)
        _flush(path.parent)
    except OSError as error:
        # What cannot be written cannot always be removed: a place that is no folder, a disk gone read-only.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _explained(error, path) from error


def copy_folder(files: Sequence[Path], path: Path) -> None:
    """Put copies of these files into a folder at ``path``, which must not be there yet. Links are not followed.

    Raises:
        StoreError: if the disk is full or the place cannot be written; nothing is left behind then.
    """
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{secrets.token_hex(4)}")
    try:
        temporary.mkdir(parents=True)
        for file in files:
            copy = temporary / file.name
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as source, copy.open("xb") as target:
                shutil.copyfileobj(source, target)
            _flush(copy)
        _flush(temporary)
        temporary.rename(path)
        _flush(path.parent)
    except OSError as error:
        remove_folder(temporary)
        raise _explained(error, path) from error


def remove_folder(path: Path) -> None:
    """Remove a flat folder of ours, as far as that is possible."""
    try:
        for file in path.iterdir():
            file.unlink(missing_ok=True)
        path.rmdir()
    except OSError:
        # What cannot be removed keeps its temporary name and is never read.
        return


def remove_unfinished(path: Path) -> None:
    """Remove a file or a flat folder that a killed command left, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        with suppress(OSError):
            path.unlink()


def _write_through(path: Path, content: bytes | memoryview) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _explained(error: OSError, path: Path) -> StoreError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StoreError(
            f"the disk is full: {path} could not be written",
            help="finished runs are kept; make room and give the same command again to go on",
        )
    return StoreError(f"{path} could not be written: {error.strerror or error}")
