"""The command line."""

import sys


def main() -> None:
    """Run the command line; leave with 0, or with the status of the error and its message, never a traceback."""
    from sojourn.cli.app import app
    from sojourn.errors import SojournError

    try:
        app()
    except SojournError as error:
        from sojourn.cli.screen import show_error

        show_error(error)
        sys.exit(error.status)
