"""Is every file of a results folder as it was written?

Of each run: whether its head can be read, whether its folder's name has the hash of what the head says was run, and
whether each table and text has the SHA-256 that was noted when it was written. Captures have none; they are not read.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.store.atomic import TEMPORARY
from sojourn.core.store.damage import why
from sojourn.core.store.folder import Folder
from sojourn.core.store.record import Record
from sojourn.errors import StoreError


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was written."""

    run: Path
    """The run's folder."""
    message: str


def damages(folder: Folder) -> Iterator[Damage]:
    """Yield what is damaged, a run at a time; each run is told once, for the first that is wrong with it."""
    for path in sorted(folder.run_folders()):
        message = _damage(Record(path))
        if message:
            yield Damage(path, message)


def leftovers(folder: Folder) -> list[Path]:
    """Return what commands left that were killed: never read, and swept by the next command that adds runs."""
    return sorted((folder.path / "runs").glob(f"{TEMPORARY}*"))


def _damage(record: Record) -> str:
    try:
        key = record.key
        if record.path.name != key.folder_name:
            return f"{record.path} has the name of another run: {key.folder_name} would be right"
        for table in record.tables:
            record.table(table)
        for name, stated in record.head.get("texts", {}).items():
            if hashlib.sha256((record.path / name).read_bytes()).hexdigest() != stated:
                return f"{record.path / name} is damaged: its SHA-256 is not that of the text that was written"
    except StoreError as error:
        return error.message
    except OSError as error:
        return f"{record.path} is damaged: {why(error)}"
    return ""
