"""The command line."""

import sys
import warnings
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Run the command line; leave with 0, or with the status of the error and its message, never a traceback."""
    from sojourn.cli.app import app
    from sojourn.errors import SojournError

    warnings.showwarning = _say(warnings.showwarning)
    try:
        app()
    except SojournError as error:
        from sojourn.cli.screen import show_error

        show_error(error)
        sys.exit(error.status)


def _say(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Return what shows warnings: those of extensions as a line, without a place in our code."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:  # noqa: ANN401
        if category.__module__ != "sojourn.core.extensions":
            otherwise(message, category, *rest, **more)
            return
        from sojourn.cli.screen import say

        say(f"warning: {message}")

    return show
