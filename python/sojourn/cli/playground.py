"""``sojourn playground``: opens the page in a browser, with experiments or without."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(playground)


def playground(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE [FILE]|'#…']",
            help="One or two experiments to open, or the text that a report's [b]Copy it[/b] copied.",
        ),
    ] = None,
    to_print: Annotated[
        bool, typer.Option("--print", help="Print the page's address, a local file; open nothing.")
    ] = False,
) -> None:
    """Open the playground: the simulator in a web page, with controls, plots and lessons. It needs no network."""
    import webbrowser

    from sojourn import playground as own
    from sojourn.errors import UsageError

    address = own.page().as_uri()
    most = 2
    if files and str(files[0]).startswith("#"):
        address += own.checked_fragment(" ".join(map(str, files)))
    elif files:
        if len(files) > most:
            raise UsageError(f"the playground shows two experiments, not {len(files)}", help="name one or two files")
        texts = [_text(file) for file in files]
        address += own.fragment(*texts)
    if to_print or not webbrowser.open(address):
        typer.echo(address)


def _text(file: Path) -> str:
    from sojourn.errors import UsageError

    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}", help="name an experiment file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not a text file", help="name an experiment file, TOML in UTF-8") from None
