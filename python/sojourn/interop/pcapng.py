"""Captures of runs as pcapng, with a comment on each packet: its flow, wait, marks and drops (``crates/capture``)."""

from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.core.run import Run
from sojourn.core.store import Folder
from sojourn.errors import StoreError

SUFFIX: Final = ".pcapng"
"""How the names of the files end."""


def export_folder(folder: Path, to: Path) -> list[Path]:
    """Write the captures of each run of a results folder as a file; return the files.

    Args:
        folder: the results folder.
        to: where to; made if need be.

    Raises:
        StoreError: if it is no results folder, no run of it has captures, one is damaged, or the place cannot be
            written.
    """
    written = []
    for record in Folder.open(folder).records():
        if not record.captures:
            continue
        run = Run.stored(record)
        target = to / f"{record.name}{SUFFIX}"
        try:
            to.mkdir(parents=True, exist_ok=True)
            if _core.annotate_captures(
                record.path, run.key.resolved, _core.facts(run.engine).sender_port, target, run.label
            ):
                written.append(target)
        except OSError as error:
            raise StoreError(str(error.strerror or error)) from error
    if not written:
        raise StoreError(f"no run in {folder} has captures", help="make them again with --pcap")
    return written
