"""``sojourn linux``: the kernels of the Linux engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import complete

if TYPE_CHECKING:
    from sojourn.linux.kernels import Kernel

_commands = typer.Typer(help="Kernels for the Linux engine.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_commands, name="linux")


@_commands.command()
def build(
    version: Annotated[
        str | None,
        typer.Option(metavar="X.Y", help="The series (default: the newest in apt with a stack)."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A kernel tree to build instead of the distribution's source, with all its congestion controls and "
            "queue disciplines. A second build compiles only changes.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A name for [b]--engine linux --kernel NAME[/b]."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="More configuration options, one CONFIG_NAME=y per line; `tunnels`: those of tunnels by the kernel.",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option("-j", "--jobs", min=1, help="Parallel compilers.")] = None,
) -> None:
    """Build a kernel for the Linux engine, once; about ten minutes on two cores.

    Boots the kernel once to detect its features. `sojourn linux list` shows all kernels.
    """
    from sojourn.cli.screen import out, say
    from sojourn.core import listings
    from sojourn.errors import Interrupted, SojournError, UsageError
    from sojourn.linux import iproute
    from sojourn.linux.build import build as make
    from sojourn.linux.configuration import controls_beyond_mainline
    from sojourn.linux.progress import terminal_say
    from sojourn.linux.source import known_series

    if version is not None and source is not None:
        raise UsageError("--version and --source exclude each other", help="give one of them")
    try:
        kernel = make(version=version, tree=source, name=name, config=config, jobs=jobs, say=terminal_say())
    except KeyboardInterrupt:
        say("")
        kept = "what was compiled is kept: the next build goes on from there" if source else "nothing was kept"
        raise Interrupted(f"interrupted: {kept}") from None
    say("")
    out().print(f"kernel {_called(kernel)} is in {kernel.folder}", soft_wrap=True, markup=False)
    disciplines = [entry["name"] for entry in listings.qdiscs()]
    if own := controls_beyond_mainline(kernel):
        out().print(f"congestion controls that mainline does not have: {', '.join(own)}", markup=False)
    if kernel.stack.removeprefix("linux-") not in known_series():
        say(f"the simulator has no stack {kernel.stack}: only the engine linux can use it, with stack = {kernel.stack}")
    lacking = iproute.unknown(qdisc for qdisc in disciplines if qdisc in kernel.qdiscs)
    if lacking:
        say(f"no tc here knows {', '.join(lacking)}: building a newer one")
        try:
            out().print(f"tc is in {iproute.build()}")
        except SojournError as error:
            say(f"this step failed; everything else works: {error.message}")
    chosen = f" --kernel {kernel.label}" if kernel.tree or kernel.name else ""
    first = own[0] if own else "reno"
    out().print(f"try it: sojourn try --engine linux{chosen} --stack {kernel.stack} {first} cubic", markup=False)


def _called(kernel: "Kernel") -> str:
    return f"{kernel.name} ({kernel.id})" if kernel.name else kernel.id


@_commands.command()
def remove(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Its name or id from `sojourn linux list`.", autocompletion=complete.kernels
        ),
    ],
) -> None:
    """Remove a kernel. Its runs remain."""
    from sojourn.cli.screen import out
    from sojourn.linux.kernels import named
    from sojourn.linux.kernels import remove as remove_it

    for folder in remove_it(named(name)):
        out().print(f"removed {folder}", soft_wrap=True, markup=False)


@_commands.command()
def tc(
    source: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A tree of iproute2 to build instead of Debian's source.")
    ] = None,
) -> None:
    """Build a newer tc, for disciplines that this machine's tc lacks; a minute."""
    from sojourn.cli.screen import out
    from sojourn.errors import Interrupted
    from sojourn.linux import iproute

    try:
        out().print(f"tc is in {iproute.build(source=source)}")
    except KeyboardInterrupt:
        raise Interrupted("interrupted: nothing was kept") from None


@_commands.command("list")
def list_(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the built kernels."""
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out, print_json, say
    from sojourn.linux.kernels import kernels, standing

    found, stands = kernels(), standing()
    if as_json:
        print_json(
            [
                {
                    "id": k.id,
                    "name": k.name,
                    "version": k.version,
                    "hash": k.hash,
                    "config": k.config,
                    "compiler": k.compiler,
                    "stack": k.stack,
                    "stands_for": stands.get(k.id),
                    "source": k.source,
                    "tree": k.tree,
                    "options": k.options,
                    "qdiscs": k.qdiscs,
                    "ccs": k.ccs,
                    "accecn": k.accecn,
                    "folder": str(k.folder),
                }
                for k in found
            ]
        )
        return
    if not found:
        say("no kernel is built; about ten minutes: sojourn linux build")
        return
    rows = [[k.name or "", k.id, stands.get(k.id, "–"), k.source, ", ".join(k.ccs)] for k in found]
    print_table(["name", "kernel", "stands for", "source", "congestion controls"], rows, prose=(3, 4))
    if len(stands) < len(found):
        out().print("to run a kernel without a stack: --engine linux:KERNEL", markup=False)
    out().print("more: sojourn ccs --engine linux, sojourn qdiscs --engine linux", markup=False)
