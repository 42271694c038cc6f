"""``sojourn merge``: several results folders as one."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.options import AsJson


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(merge)


def merge(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Results folders.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder for all runs.")],
    as_json: AsJson = False,
) -> None:
    """Copy the runs of several results folders into one: those of [b]sojourn run --shard[/b], for example.

    Refused are results of different builds, two experiments of one name, and a run that has other results in one folder
    than in another.
    """
    from sojourn.cli.screen import out, print_json
    from sojourn.core.store.merge import merge as together

    copied, more = together(folders, output, command=shlex.join(["sojourn", *sys.argv[1:]]))
    if as_json:
        print_json({"folder": str(output), "copied": copied, "again": more})
        return
    again = f"; {more} were there already" if more else ""
    out().print(f"{copied} run{'s'[: copied != 1]} copied into {output}{again}", soft_wrap=True, markup=False)
