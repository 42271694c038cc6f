"""Is every file of a results folder as it was written?

For each run: its head, whether its folder has the name of the run that the head describes, and the SHA-256 of each
table, text and capture. For the folder: its manifest (:meth:`Folder.open` checks it) and its index, which must have a
row for each run. A link, a pipe or a device among a run's files is damage.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.store.folder import Folder
from sojourn.core.store.index import stored
from sojourn.core.store.reading import MOST_TEXT, damaged, read
from sojourn.core.store.record import CAPTURES, Record, checksums
from sojourn.errors import StoreError


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not as it was written."""

    run: Path
    """The run's folder."""
    message: str


def damages(folder: Folder) -> Iterator[Damage]:
    """Yield the damaged runs, each once, with the first fault of each."""
    for path in sorted(folder.run_folders()):
        try:
            check(Record(path))
        except StoreError as error:
            yield Damage(path, error.message)


def damaged_index(folder: Folder) -> str:
    """Return what is wrong with the index; nothing if it is as it was written, or missing."""
    if not folder.index.path.exists():
        return ""
    found = stored(folder.path)
    if found is None:
        return f"{folder.index.path} is damaged; `sojourn index {folder.path}` writes it again"
    if sorted(found["run"]) != sorted(path.name for path in folder.run_folders()):
        return f"{folder.index.path} has other runs than the folder; `sojourn index {folder.path}` writes it again"
    return ""


def check(record: Record) -> None:
    """Compare every file of a run with what was written.

    Raises:
        StoreError: naming the first file that differs, is missing, or is not a plain file.
    """
    for table in record.tables:
        record.table(table)
    for name in record.texts:
        record.text(name)
    for file in record.path.iterdir():
        if not stat.S_ISREG(file.lstat().st_mode):
            raise damaged(file, "it is not a plain file")
    sums = record.path / CAPTURES
    # Folders of earlier versions state none.
    if record.captures and sums.exists() and read(sums, MOST_TEXT) != checksums(record.captures):
        raise damaged(sums, "a capture does not have the SHA-256 that was written")
