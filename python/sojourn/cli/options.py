"""Options that several commands have, each stated once."""

from pathlib import Path
from typing import Annotated, Literal

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
    """Return the engine with the requested kernel.

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
        help="The engine: [b]sim[/b] (the simulator), [b]linux[/b] (a kernel in virtual time; [b]linux:NAME[/b] "
        "chooses one) or [b]live[/b] (the machine's own TCP behind our queues).",
        metavar="NAME",
        autocompletion=complete.engines,
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="The kernel, with [b]--engine linux[/b] (default: the distribution's newest of the stack's series). "
        "[b]sojourn linux list[/b] shows them.",
        metavar="NAME",
        autocompletion=complete.kernels,
    ),
]
LinkRate = Annotated[str, typer.Option("--rate", help="Rate to the client.")]
LinkUp = Annotated[str | None, typer.Option("--up", metavar="RATE", help="Rate to the server; defaults to --rate.")]
LinkQdisc = Annotated[
    str,
    typer.Option(
        "--qdisc", help="The queue, in tc syntax: [b]'fq_codel target 5ms'[/b].", autocompletion=complete.qdiscs
    ),
]
LinkUpQdisc = Annotated[
    str | None,
    typer.Option("--up-qdisc", metavar="QDISC", help="The queue to the server; defaults to --qdisc."),
]
SaveSeen = Annotated[
    Path | None,
    typer.Option("--save", metavar="FILE.toml", help="Write what was seen as an experiment for [b]sojourn run[/b]."),
]
Spin = Annotated[bool, typer.Option("--spin", help="Keep a processor busy for more exact departures.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Parallel runs (default: the number of cores).")]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where to run: [b]processes:4[/b] on this machine, [b]dask://HOST:8786[/b], [b]slurm:PARTITION[/b], "
        "or an installed executor (docs/howto/run-on-many-machines.md). Default: threads of this process.",
    ),
]
ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Run only part I of N; every machine divides the same way, and [b]sojourn merge[/b] joins the parts.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a setting: [b]--set hop.bottleneck.rate=10mbit[/b] (repeatable).",
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="Load a shared library with queue disciplines or congestion controls (docs/plugins.md): native code, "
        "which runs with your rights (repeatable).",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="AXIS=LABEL",
        help="Only cells with this label: [b]--only rtt=20ms[/b] (repeatable; several labels of one axis: any).",
    ),
]
Keep = Annotated[
    Literal["summary", "series", "all"] | None,
    typer.Option(
        "--keep",
        help="How much of each run the folder keeps: "
        + "; ".join(f"[b]{word}[/b]: {meaning}" for word, meaning in _core.keeps())
        + ". Default: the file's, or [b]all[/b].",
        show_default=False,
    ),
]
SnapLen = Annotated[
    int | None,
    typer.Option(
        "--snap-len",
        metavar="BYTES",
        min=14,
        max=65535,
        help="Captured bytes per packet; the default holds all headers.",
        show_default="128",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", callback=_quiet, help="Print nothing but results and errors.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", callback=_verbose, help="Print each step.")]
Results = Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.")]
