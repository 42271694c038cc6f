"""Other people's runs into a results folder: plots, metrics, ``validate`` and reports then work on them.

Missing values are not made up: numbers that a file lacks are NaN, counters that it lacks are 0 and named in the run's
``scenario.json``. A name that ends with ``.qlog``, ``.sqlog`` or ``.flent``, packed or not, decides the reader; for
other files their content does, and Flent's reader takes those that no other knows.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.core.store import Folder, Record
from sojourn.errors import DataFileError
from sojourn.interop import flent, iperf3, irtt, mahimahi, qlog, ss
from sojourn.interop.incoming import Imported, Incoming, add, digest_of
from sojourn.interop.measured_by import content_of


def import_files(
    files: Sequence[Path], to: Path, *, command: str, failed: Callable[[DataFileError], None] | None = None
) -> list[Imported]:
    """Read data files into a results folder, made if need be. A file that is there already is passed over.

    Args:
        files: which.
        to: the results folder; it is not made if no file can be read.
        command: the command that asked for it.
        failed: called with the error of each file that cannot be read; the others are imported. Without it, such a file
            ends the import.

    Raises:
        DataFileError: if a file is of no format that is read, or is damaged, and there is no ``failed``.
        StoreError: if the folder cannot be written.
    """
    done: list[Imported] = []
    with ExitStack() as stack:
        folder: Folder | None = None
        known: dict[str, Record] = {}
        for path in files:
            try:
                file = _read(path)
                if folder is None:
                    folder = stack.enter_context(Folder.create(to, version=_core.version(), command=command))
                    known = {digest_of(record): record for record in folder.records()}
                done.append(add(file, folder, known, command))
            except DataFileError as error:
                if failed is None:
                    raise
                failed(error)
    return done


TOOLS: Final[Sequence[tuple[Callable[[bytes], bool], Callable[[Path], Incoming]]]] = [
    (tool.takes, tool.incoming) for tool in (mahimahi, irtt, iperf3, ss)
]
"""Readers of measuring tools' files; the first that recognises a file by its content reads it."""


def _read(path: Path) -> Incoming:
    if qlog.is_qlog(path):
        return qlog.incoming(path)
    if ".flent" not in path.name:
        content, _ = content_of(path, "a data file")
        for takes, incoming in TOOLS:
            if takes(content):
                return incoming(path)
    return flent.incoming(path)
