"""Options that several commands have, each stated once."""

from pathlib import Path
from typing import Annotated

import typer

from sojourn import _core
from sojourn.cli import complete
from sojourn.errors import UsageError


def _quiet(wanted: bool) -> None:
    if wanted:
        from sojourn.cli.screen import TALK

        TALK.quiet = True


def _verbose(wanted: bool) -> None:
    if wanted:
        from sojourn.cli.screen import TALK

        TALK.verbose = True


def on_kernel(engine: str, kernel: str | None) -> str:
    """Return the engine with the kernel that is asked for.

    Raises:
        UsageError: if the engine has no kernels, or names another one.
    """
    if kernel is None:
        return engine
    if ":" in engine or not _core.facts(engine).kernels:
        able = next(name for name in _core.engines() if _core.facts(name).kernels)
        raise UsageError(f"--kernel goes with --engine {able}, not {engine}", help=f"--engine {able} --kernel {kernel}")
    return f"{engine}:{kernel}"


Engine = Annotated[
    str,
    typer.Option(
        help="What runs it: [b]sim[/b], the simulator, or [b]linux[/b], the kernel itself; [b]linux:NAME[/b], "
        "the kernel of this name.",
        metavar="NAME",
        autocompletion=complete.engines,
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="The kernel that runs it, with [b]--engine linux[/b]; the distribution's newest of the stack's series "
        "unless given. [b]sojourn linux list[/b] has them.",
        metavar="NAME",
        autocompletion=complete.kernels,
    ),
]
Threads = Annotated[int | None, typer.Option(min=1, help="Runs at a time; as many as there are cores unless given.")]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Who makes the runs: [b]processes:4[/b] of this machine, [b]dask://HOST:8786[/b], "
        "[b]slurm:PARTITION[/b], or what another distribution adds (docs/howto/run-on-many-machines.md); "
        "threads of this process unless given.",
    ),
]
ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Only the I-th of N parts, the same wherever it is asked for; [b]sojourn merge[/b] puts them together.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a setting: [b]--set hop.bottleneck.rate=10mbit[/b]. May be repeated.",
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="Load a shared library with queue disciplines or congestion controls (docs/plugins.md): native code, "
        "which runs with your rights. May be repeated.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS=LABEL",
        help="Only the cells with this label: [b]--only rtt=20ms[/b]. May be repeated; of one axis, any.",
    ),
]
SnapLen = Annotated[
    int | None,
    typer.Option(
        "--snap-len",
        metavar="BYTES",
        min=14,
        max=65535,
        help="Keep so many bytes of each captured packet; all headers fit the default.",
        show_default="128",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", callback=_quiet, help="Print nothing but results and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", callback=_verbose, help="Say what is done, step by step.")]
Results = Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")]
