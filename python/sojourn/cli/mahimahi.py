"""``sojourn mm-delay``, ``mm-link`` and ``mm-loss``: Mahimahi's shells, with its arguments and trace files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from sojourn.cli.shell import run_on, words_of

_ARGUMENTS: Final = {
    "mm-delay": ("MILLISECONDS [COMMAND]", "Run a command behind a delay each way, in Mahimahi's words."),
    "mm-link": (
        "UP.trace DOWN.trace [--uplink-queue=droptail --uplink-queue-args=packets=100] [-- COMMAND]",
        "Run a command behind a link with recorded capacity, in Mahimahi's words and trace files.",
    ),
    "mm-loss": ("uplink|downlink RATE [COMMAND]", "Run a command behind random loss, in Mahimahi's words."),
}
"""Of each shell, its arguments and its help."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, (metavar, summary) in _ARGUMENTS.items():
        # What follows the first argument is Mahimahi's, or the command's.
        settings = {"ignore_unknown_options": True, "allow_interspersed_args": False}
        app.command(name, help=f"{summary} See docs/live.md.", context_settings=settings)(_shell(name, metavar))


def _shell(name: str, metavar: str) -> Callable[..., None]:
    def shell(
        words: Annotated[
            list[str] | None,
            typer.Argument(metavar=metavar, help="COMMAND may be another of these shells.", show_default=False),
        ] = None,
        output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Results folder.")] = Path(
            "sojourn-shell"
        ),
        server: Annotated[
            list[str] | None,
            typer.Option(metavar="COMMAND", help="A program for the host [b]server[/b], 10.9.9.1. Repeatable."),
        ] = None,
        longest: Annotated[
            str, typer.Option("--duration", metavar="TIME", help="End the command after this time.")
        ] = "21600s",
    ) -> None:
        from sojourn.quick.mahimahi import Chain

        chain, program = Chain.parse([name, *(words or [])], longest)
        # Programs that were written for Mahimahi find the host outside the shells by this.
        os.environ["MAHIMAHI_BASE"] = "10.9.9.1"
        shown = bool(program)
        program = program or [os.environ.get("SHELL", "/bin/sh")]
        asked = {"servers": [words_of("--server", text) for text in server or []]}
        raise typer.Exit(run_on(chain, program, asked, output, None, pcap=False, snap_len=None, shows=shown))

    return shell
