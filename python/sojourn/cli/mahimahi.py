"""``sojourn mm-delay``, ``mm-link`` and ``mm-loss``: Mahimahi's shells, with its arguments and trace files."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.shell import run_on, words_of

_WITHOUT_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
"""What follows is Mahimahi's, or the command's."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("mm-delay", context_settings=_WITHOUT_OPTIONS)(mm_delay)
    app.command("mm-link", context_settings=_WITHOUT_OPTIONS)(mm_link)
    app.command("mm-loss", context_settings=_WITHOUT_OPTIONS)(mm_loss)


Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Results folder.")]
Server = Annotated[
    list[str] | None,
    typer.Option(metavar="COMMAND", help="A program for the host [b]server[/b], 10.9.9.1. Repeatable."),
]
Longest = Annotated[str, typer.Option("--duration", metavar="TIME", help="End the command after this time.")]

_FOLDER = Path("sojourn-shell")


def mm_delay(ctx: typer.Context, output: Output = _FOLDER, server: Server = None, longest: Longest = "21600s") -> None:
    """Mahimahi's shell with a delay: mm-delay MILLISECONDS [COMMAND], each way."""
    _run("mm-delay", ctx, output, server, longest)


def mm_link(ctx: typer.Context, output: Output = _FOLDER, server: Server = None, longest: Longest = "21600s") -> None:
    """Mahimahi's shell with a link: mm-link UP.trace DOWN.trace [--uplink-queue=droptail ...] [-- COMMAND]."""
    _run("mm-link", ctx, output, server, longest)


def mm_loss(ctx: typer.Context, output: Output = _FOLDER, server: Server = None, longest: Longest = "21600s") -> None:
    """Mahimahi's shell with random loss: mm-loss uplink|downlink RATE [COMMAND]."""
    _run("mm-loss", ctx, output, server, longest)


def _run(shell: str, ctx: typer.Context, output: Path, server: list[str] | None, longest: str) -> None:
    from sojourn.quick.mahimahi import Chain

    chain, program = Chain.parse([shell, *ctx.args], longest)
    # Programs that were written for Mahimahi find the host outside the shells by this.
    os.environ["MAHIMAHI_BASE"] = "10.9.9.1"
    program = program or [os.environ.get("SHELL", "/bin/sh")]
    asked = {"servers": [words_of("--server", text) for text in server or []]}
    raise typer.Exit(run_on(chain, program, asked, output, None, pcap=False, snap_len=None, shows=bool(ctx.args)))
