"""``sojourn linux``: the kernels of the Linux engine."""

from pathlib import Path
from typing import Annotated

import typer

_commands = typer.Typer(help="Kernels for the Linux engine.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_commands, name="linux")


@_commands.command()
def build(
    version: Annotated[
        str | None, typer.Option(metavar="X.Y", help="The series; the newest that apt has unless given.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A kernel tree to build instead of the distribution's source.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("-j", "--jobs", min=1, help="Compilers at a time.")] = None,
) -> None:
    """Build a kernel for the Linux engine, once; about ten minutes on two cores."""
    from sojourn.cli.screen import out, say
    from sojourn.core import listings
    from sojourn.errors import Interrupted, SojournError, UsageError
    from sojourn.linux import iproute
    from sojourn.linux.build import build as make
    from sojourn.linux.build import terminal_say

    if version is not None and source is not None:
        raise UsageError("--version and --source are two different sources", help="give one of them")
    try:
        kernel = make(version=version, source=source, jobs=jobs, say=terminal_say())
    except KeyboardInterrupt:
        say("")
        raise Interrupted("interrupted: nothing was kept") from None
    say("")
    out().print(f"kernel {kernel.version} ({kernel.config}) is in {kernel.folder}")
    lacking = iproute.unknown(entry["name"] for entry in listings.qdiscs() if entry["name"] in kernel.qdiscs)
    if lacking:
        say(f"no tc here knows {', '.join(lacking)}: building a newer one")
        try:
            out().print(f"tc is in {iproute.build()}")
        except SojournError as error:
            say(f"that failed, and everything else works: {error.message}")
    out().print(f"try it: sojourn try --engine linux --stack {kernel.stack} cubic reno", markup=False)


@_commands.command()
def tc(
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A tree of iproute2 to build instead of Debian's source.")
    ] = None,
) -> None:
    """Build a newer tc, for disciplines that this machine's does not know; a minute."""
    from sojourn.cli.screen import out
    from sojourn.errors import Interrupted
    from sojourn.linux import iproute

    try:
        out().print(f"tc is in {iproute.build(source=source)}")
    except KeyboardInterrupt:
        raise Interrupted("interrupted: nothing was kept") from None


@_commands.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the kernels that were built."""
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import print_json, say
    from sojourn.linux.kernels import kernels

    found = kernels()
    if as_json:
        print_json(
            [
                {
                    "version": k.version,
                    "config": k.config,
                    "stack": k.stack,
                    "source": k.source,
                    "qdiscs": k.qdiscs,
                    "ccs": k.ccs,
                    "folder": str(k.folder),
                }
                for k in found
            ]
        )
        return
    if not found:
        say("no kernel has been built; about ten minutes: sojourn linux build")
        return
    rows = [[k.version, k.config, k.stack, k.source] for k in found]
    print_table(["version", "configuration", "stands for", "source"], rows, prose=(3,))
