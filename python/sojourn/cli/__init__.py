"""The command line."""

import errno
import io
import os
import resource
import sys
import warnings
from collections.abc import Callable
from typing import Any, Final


def _version() -> None:
    from sojourn import _core

    sys.stdout.write(f"sojourn {_core.version()}\n")


def main() -> None:
    """Run the command line; leave with 0, or with the status of the error and its message, never a traceback."""
    # Scripts ask for the version often: no command is imported for it.
    app = _version
    if sys.argv[1:] != ["--version"]:
        from sojourn.cli.app import app
    from sojourn.errors import SojournError

    warnings.showwarning = _say(warnings.showwarning)
    _say_if_memory_is_short()
    if sys.stdout is None:
        # Closed by who called; whoever does that wants none of it.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - it stays until the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What an ASCII terminal has no sign for is a question mark, not an error.
        sys.stdout.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except SojournError as error:
        from sojourn.cli.screen import show_error

        show_error(error)
        sys.exit(error.status)
    except OSError as error:
        # Files that cannot be read or written are SojournErrors; an error without a name concerns standard output.
        if error.filename is not None or error.errno not in _OF_OUTPUT:
            raise
        # Python itself writes once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"error: standard output could not be written: {error.strerror}\n")
        sys.exit(1)


_LEAST_BYTES: Final = 2 << 30
"""Of address space: twice the measured use of a run on two threads."""


def _say_if_memory_is_short() -> None:
    """Warn where the shell limits memory so much that the system may end this process without a word of ours."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if 0 <= limit < _LEAST_BYTES:
        sys.stderr.write(
            f"warning: this shell limits memory to {limit >> 20} MiB (ulimit -v); runs may end with "
            '"memory allocation failed". Finished runs are kept\n'
        )


_OF_OUTPUT: Final = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF})
"""What writing to standard output fails with."""


def _say(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Return what shows warnings: those of extensions as a line, without a place in our code."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:  # noqa: ANN401
        if category.__module__ != "sojourn.core.extensions":
            otherwise(message, category, *rest, **more)
            return
        from sojourn.cli.screen import say

        say(f"warning: {message}")

    return show
