"""Is every byte of a results folder as it was written?

Of each segment: every block against its SHA-256, and that no gaps separate them. Of the folder: the number of runs.
Of each run's captures: their SHA-256, and that each is a plain file. :meth:`Folder.open` checks the manifest.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.core.store.folder import Folder
from sojourn.core.store.reading import MOST_TEXT, read
from sojourn.core.store.record import CAPTURES, Record, checksums
from sojourn.errors import StoreError


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was written."""

    run: str
    """The run's name; empty for damage outside of runs."""
    message: str


def damages(folder: Folder) -> Iterator[Damage]:
    """Yield what is damaged."""
    for run, message in folder.store.verify():
        yield Damage(run or "", message)
    if folder.missing:
        yield Damage("", folder.missing)
    for record in map(folder.named, folder.store.names()):
        try:
            check_captures(record)
        except StoreError as error:
            yield Damage(record.name, error.message)


def check_captures(record: Record) -> None:
    """Compare a run's captures with their checksums.

    Raises:
        StoreError: naming the first file that differs, or is not a plain file.
    """
    if not record.path.exists():
        return
    if record.path.is_symlink():
        raise record.damaged(f"{record.path} is a symbolic link")
    for file in record.path.iterdir():
        if not stat.S_ISREG(file.lstat().st_mode):
            raise record.damaged(f"{file} is not a plain file")
    sums = record.path / CAPTURES
    if record.captures and (not sums.exists() or read(sums, MOST_TEXT) != checksums(record.captures)):
        raise record.damaged(f"a capture in {record.path} does not have the SHA-256 that was written")
