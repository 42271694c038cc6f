"""``sojourn init``: an experiment to start from."""

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import complete


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(init)


def init(
    file: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="The file to write; existing files are never replaced.")
    ] = Path("experiment.toml"),
    like: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|SUITE/SCENARIO",
            help="The starting point: one of [b]--list[/b], or a scenario of a suite (default: two flows at one "
            "bottleneck).",
            autocompletion=complete.starts,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the starting points; write nothing.")] = False,
) -> None:
    """Write an experiment to start from: a complete TOML file with comments on what to change."""
    from rich.table import Table

    from sojourn.cli.screen import out, say
    from sojourn.errors import UsageError
    from sojourn.experiments import starts

    if listed:
        table = Table("name", "about", box=None, padding=(0, 2, 0, 0))
        for name, path in starts.starts().items():
            table.add_row(name, starts.about(path))
        out().print(table)
        say("or any scenario of `sojourn suites`: sojourn init --like l4s-tests/s6")
        return
    if file.suffix != ".toml":
        raise UsageError(f"{file} is not an experiment file name", help=f"{file}.toml, for example")
    text = starts.begun(like or starts.DEFAULT, file)
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise UsageError(f"{file} exists already", help="name another file") from None
    except OSError as error:
        raise UsageError(
            f"cannot write {file}: {error.strerror}", help="name a file in a folder that you may write to"
        ) from None
    typer.echo(file)
    results = file.with_suffix("").name
    say(f"try it:  sojourn run {file} -o results/{results}\nlook:    sojourn report results/{results}")
