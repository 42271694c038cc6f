"""The program behind ``--`` of ``sojourn try`` and ``sojourn shell``."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
import typer.core

from sojourn.errors import UsageError

if TYPE_CHECKING:
    from sojourn.quick.asked import Programs

_COMMAND: Final = "sojourn.command"
"""The context's key for the words after ``--``."""


class WithProgram(typer.core.TyperCommand):
    """A command that takes the words after ``--`` as a program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - a class that typer keeps to itself
        """Take the program off, and read the rest as ever."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)


def command_of(ctx: typer.Context) -> list[str]:
    """Return the words behind ``--``; none if there are none."""
    return list(ctx.meta.get(_COMMAND, []))


def programs_of(
    ctx: typer.Context,
    flows: Sequence[str] | None,
    *,
    server: str | None,
    ready: str | None,
    files: Sequence[Path] | None,
) -> "Programs | None":
    """Return the programs that are asked for, if any are.

    Raises:
        UsageError: if there is neither a program nor a flow, or a server without a client.
    """
    from sojourn.quick.asked import Programs

    client = command_of(ctx)
    if client:
        try:
            words = shlex.split(server or "")
        except ValueError as error:
            raise UsageError(f"--server {server}: {error}", help="quote it as in a shell") from error
        return Programs(client, words, ready, files or ())
    if server is not None or ready is not None or files:
        raise UsageError(
            "there is no client for the server", help="write its command after --: sojourn try … -- curl server"
        )
    if not flows:
        raise UsageError(
            "Missing argument 'CC...': a congestion control for each flow, or a program after --",
            help="sojourn try cubic reno, or sojourn try --engine linux --server COMMAND -- COMMAND",
        )
    return None
