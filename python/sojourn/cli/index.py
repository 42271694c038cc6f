"""``sojourn index``: the table of all runs of a results folder, for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.options import AsJson


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(index)


def index(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.")], as_json: AsJson = False
) -> None:
    """Rewrite DIR/index.parquet: one row per run, with its axes, its seed, and the files of its tables.

    Every command that adds runs writes it at its end. It is missing after a kill, and in folders of earlier versions.
    """
    from sojourn.cli.screen import out, print_json
    from sojourn.core.store import Folder
    from sojourn.core.store.index import write

    opened = Folder.open(folder)
    with opened.locked():
        rows = write(opened.path, opened.run_folders()).height
    if as_json:
        print_json({"index": str(opened.index.path), "runs": rows})
        return
    out().print(f"{rows} run{'s'[: rows != 1]} in {opened.index.path}", soft_wrap=True, markup=False)
