"""``sojourn docs``: opens the documentation of this version, which needs no network."""

from typing import Annotated

import typer

from sojourn.cli import complete
from sojourn.cli.options import AsJson


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(docs)


def docs(
    page: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAGE]",
            help="A page by its name, or by words in its name or title: [b]metrics[/b], [b]first experiment[/b].",
            autocompletion=complete.pages,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the pages; open nothing.")] = False,
    to_print: Annotated[
        bool, typer.Option("--print", help="Print the page's address, a local file; open nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Open this version's documentation in a browser, from the installation, without a network."""
    import webbrowser

    from rich.table import Table

    from sojourn import manual
    from sojourn.cli.screen import out, print_json

    if listed or as_json:
        titles = {name: manual.title(path) for name, path in manual.pages().items()}
        if as_json:
            print_json({"pages": [{"name": name, "title": title} for name, title in titles.items()]})
            return
        table = Table("page", "title", box=None, padding=(0, 2, 0, 0))
        for name, title in titles.items():
            table.add_row(name, title)
        out().print(table)
        return
    address = manual.find(" ".join(page) if page else manual.START).as_uri()
    if to_print or not webbrowser.open(address):
        typer.echo(address)
