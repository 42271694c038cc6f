"""``sojourn report``."""

import os
from pathlib import Path

from sojourn.cli.screen import err, out
from sojourn.report import build, write
from sojourn.store import Folder


def report(path: Path, *, threads: int | None) -> None:
    """Draw a results folder and say where the pages are."""
    folder = Folder.open(path)
    console = err()
    with console.status("reading") as status:
        made = build(
            folder,
            processes=threads or os.cpu_count() or 1,
            drawn=lambda done, of: status.update(f"{done} of {of} panels drawn"),
        )
        html, markdown = write(folder, made)
    out().print(f"{html}\n{markdown}", soft_wrap=True)
