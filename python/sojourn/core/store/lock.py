"""One writer a folder at a time."""

import fcntl
import os
from pathlib import Path
from typing import Final

from sojourn.errors import StoreError

LOCK: Final = ".lock"
"""The file that a command locks while it writes into the folder."""


def lock(folder: Path) -> int:
    """Keep other commands from writing into a folder; return the handle that does, until it is closed.

    The kernel lets go when this process ends, however it does. The file is never replaced: two commands that find no
    folder both lock this one. And it is open for writing, as NFS demands for an exclusive lock.

    Raises:
        StoreError: if another command is writing there.
    """
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        raise StoreError(f"{folder / LOCK} could not be opened: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise StoreError(
            f"another command is writing into {folder}",
            help="wait for it, or name another folder with -o",
        ) from error
    return handle
