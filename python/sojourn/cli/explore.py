"""``sojourn explore``: a results folder in the browser."""

from typing import Annotated

import typer

from sojourn.cli.options import Results


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explore)


def explore(
    folder: Results,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="The port to listen on.", show_default="a free one"),
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only; open no browser.")] = False,
) -> None:
    """Explore a results folder in the browser: filter, pivot, plot any metric, overlay runs.

    Serves the folder to this machine only, at an unguessable address. Ctrl-C ends it.
    """
    import signal
    import webbrowser

    from sojourn.cli.screen import say
    from sojourn.core.store import Folder
    from sojourn.explore.catalogue import Catalogue
    from sojourn.explore.server import Server

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with Server(Catalogue(Folder.open(folder)), port) as server:
        signal.signal(signal.SIGTERM, end)
        # The caller may have made background processes ignore it.
        signal.signal(signal.SIGINT, end)
        typer.echo(server.address)
        say("Anyone with this address can read the folder. Ctrl-C ends it.")
        if not no_browser and not webbrowser.open(server.address):
            say("Cannot open a browser: open the address yourself.")
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say("Ended.")
