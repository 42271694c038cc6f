"""The commands and their options. Each imports its module when it is called."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import complete
from sojourn.cli.options import (
    AsJson,
    Engine,
    Keep,
    Kernel,
    On,
    Only,
    Plugins,
    Quiet,
    Results,
    Settings,
    ShardOf,
    SnapLen,
    Threads,
    Verbose,
    on_kernel,
)
from sojourn.cli.program import WithProgram

app = typer.Typer(
    name="sojourn",
    help="A laboratory for congestion control and queue management.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from sojourn import _core

        typer.echo(f"sojourn {_core.version()}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """A laboratory for congestion control and queue management."""
    del version, quiet, verbose


@app.command()
def run(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="SUITE|SUITE/SCENARIO|FILE...",
            help="Suites (see [b]sojourn suites[/b]), [b]all[/b] published ones, experiment files, Flent's .batch "
            "files, or a stored run's scenario.json.",
            autocompletion=complete.runnable,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Results folder (required unless --dry-run)."),
    ] = None,
    batches: Annotated[
        list[str] | None,
        typer.Option(
            "-b",
            "--batch",
            metavar="NAME",
            help="Batches of a .batch file: a name, or a pattern such as [b]'l4s-s6*'[/b] (repeatable).",
        ),
    ] = None,
    engine: Engine = "sim",
    kernel: Kernel = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds (1, 2, ...) per cell (default: the file's)."),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(min=1, help="Runs per seed, on an engine where two runs of one seed differ ([b]live[/b])."),
    ] = 1,
    precision: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=WITHIN|checks|claims",
            help="Add seeds until the median of a metric is this precise in every cell, in base units "
            "([b]'share(goodput, prague)=0.01'[/b]), or until the checks ([b]checks[/b]) or the published claims on "
            "these cells ([b]claims[/b]) have a verdict. The first look has --seeds (default: 10). Repeatable.",
        ),
    ] = None,
    max_seeds: Annotated[
        int | None, typer.Option(min=1, help="Maximum seeds per cell with --precision (default: 80).")
    ] = None,
    threads: Threads = None,
    on: On = None,
    shard: ShardOf = None,
    settings: Settings = None,
    pcap: Annotated[
        bool, typer.Option("--pcap", help="Capture packets at client, server and both sides of each queue.")
    ] = False,
    snap_len: SnapLen = None,
    qlog: Annotated[
        bool, typer.Option("--qlog", help="Write each connection as qlog into DIR/qlog, one sample per interval.")
    ] = False,
    only: Only = None,
    keep: Keep = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation above 100 000 runs.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the plan and its estimated cost; run nothing."),
    ] = False,
    memory: Annotated[
        float | None,
        typer.Option(
            "--memory",
            metavar="GB",
            min=0,
            help="Refuse runs that need more memory, in 10^9 bytes (default: the machine's memory).",
        ),
    ] = None,
    plugins: Plugins = None,
    real_tcp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CC",
            help="With --engine linux: a Linux 7.3 kernel sends and receives the TCP flows with this congestion "
            "control; the simulator runs the queues and all other flows ([b]--real-tcp cubic[/b]; repeatable). Runs "
            "without such a flow are left out.",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run experiments into a results folder. Existing runs are not repeated.

    Exits with status 1 if a check fails in a run, or has no value.

    docs/howto/which-check.md compares checks, compare, claims, validate and parity.
    """
    from sojourn.cli.run import run as command

    del quiet, verbose
    command(
        what,
        output,
        engine=on_kernel(engine, kernel),
        seeds=seeds,
        threads=threads,
        on=on,
        shard=shard,
        settings=settings or [],
        pcap=pcap,
        snap_len=snap_len,
        qlog=qlog,
        keep=keep,
        batches=batches or [],
        only=only or [],
        yes=yes,
        dry_run=dry_run,
        memory=memory,
        plugins=plugins or [],
        real_tcp=real_tcp or [],
        as_json=as_json,
        aims=precision or [],
        max_seeds=max_seeds,
        repeat=repeat,
    )


SEEDS_BESIDE = 5
"""Seeds of a quick run with calls or transfers: one seed has only ten transfers."""


@app.command(name="try", cls=WithProgram)
def try_(
    ctx: typer.Context,
    flows: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CC...",
            help="One flow per congestion control: cubic reno; noq/bbr3 is QUIC. With [b]--engine linux[/b], [b]--[/b] "
            "precedes the command of a client program.",
            autocompletion=complete.ccs,
            show_default=False,
        ),
    ] = None,
    rate: Annotated[str, typer.Option(help="Rate of the bottleneck.")] = "50mbit",
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Upload rate; defaults to --rate.")] = None,
    trace: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|WORDS",
            help="A varying link instead of --rate: a trace file in Mahimahi's format, or a synthetic LTE link: "
            "[b]'cellular max 40mbit seed 3'[/b].",
        ),
    ] = None,
    rtt: Annotated[str, typer.Option(help="Base RTT.")] = "20ms",
    qdisc: Annotated[
        list[str] | None,
        typer.Option(
            help="Its queue, in tc syntax: [b]'fq_codel target 5ms'[/b]. Repeat to compare queues.",
            autocompletion=complete.qdiscs,
            show_default="fq_codel",
        ),
    ] = None,
    upload: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Number of uploads, with the first flow's congestion control."),
    ] = 0,
    rrul: Annotated[
        bool,
        typer.Option(
            "--rrul", help="Four downloads and four uploads, as in Flent's rrul, with the first flow's control."
        ),
    ] = False,
    ecn: Annotated[
        str | None,
        typer.Option(
            metavar="off|rfc3168|accecn",
            help="The flows' ECN negotiation (default: the stack's).",
        ),
    ] = None,
    voice: Annotated[bool, typer.Option("--voice", help="Add a voice call, both ways.")] = False,
    web: Annotated[bool, typer.Option("--web", help="Add one web transfer per second.")] = False,
    video: Annotated[bool, typer.Option("--video", help="Add a video call, both ways.")] = False,
    duration: Annotated[str, typer.Option(help="Duration of the run.")] = "30s",
    stack: Annotated[
        str,
        typer.Option(help="The stack of hosts and queue (see [b]sojourn stacks[/b]).", autocompletion=complete.stacks),
    ] = "linux-7.3",
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of seeds, counting up from --seed; ranges are over these. "
            f"Defaults to 1, and to {SEEDS_BESIDE} with --voice, --web or --video.",
        ),
    ] = None,
    engine: Engine = "sim",
    kernel: Kernel = None,
    settings: Settings = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Write the experiment to a file for [b]sojourn run[/b].")
    ] = None,
    pcap: Annotated[
        Path | None, typer.Option("--pcap", metavar="DIR", help="Capture packets into this folder.")
    ] = None,
    snap_len: SnapLen = None,
    qlog: Annotated[
        Path | None,
        typer.Option("--qlog", metavar="DIR", help="Write each connection as qlog into this folder."),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="The server program for the client after [b]--[/b].")
    ] = None,
    ready: Annotated[
        str | None,
        typer.Option(
            help="How to tell that the server is up: [b]'port 443'[/b], [b]'output TEXT'[/b], [b]2s[/b] "
            "(default: it listens)."
        ),
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A text file for both programs' folders.")
    ] = None,
    as_json: AsJson = False,
    plugins: Plugins = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Try queues with a few flows: findings in words, a table and a small plot, in about a second."""
    from sojourn.cli.program import programs_of
    from sojourn.cli.quick_run import quick_run
    from sojourn.quick.asked import RRUL, UPLOADS, Asked

    del quiet, verbose
    engine = on_kernel(engine, kernel)
    if rrul:
        flows, upload = [(flows or [UPLOADS])[0]] * RRUL, RRUL
    loads = [name for name, wanted in (("voice", voice), ("web", web), ("video", video)) if wanted]
    asked = Asked(
        flows=flows or [],
        uploads=upload,
        ecn=ecn,
        trace=trace,
        rate=rate,
        rtt=rtt,
        qdiscs=qdisc or ["fq_codel"],
        duration=duration,
        stack=stack,
        seeds=range(seed, seed + (seeds or (SEEDS_BESIDE if loads and engine == "sim" else 1))),
        up=up,
        loads=loads,
        programs=programs_of(ctx, flows or ([UPLOADS] if upload else None), server=server, ready=ready, files=file),
        engine=engine,
    )
    quick_run(
        asked,
        engine=engine,
        settings=settings or [],
        pcap=pcap,
        snap_len=snap_len,
        qlog=qlog,
        save=save,
        as_json=as_json,
        plugins=plugins or [],
    )


@app.command()
def report(
    folder: Results,
    template: Annotated[
        list[str] | None,
        typer.Option(
            "-t",
            "--template",
            metavar="NAME|FILE.md",
            help="A template (docs/reports.md): your own file, the name of a published report, or [b]runs[/b] for a "
            "page of every run (default: the reports of the suites in the folder). Repeatable.",
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of processes for drawing.")] = None,
    panels: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of cells that the page of every run draws; it folds the others."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report of a results folder: one self-contained HTML page, and Markdown."""
    from sojourn.cli.report import report as command

    command(folder, chosen=template or [], threads=threads, panels=panels, as_json=as_json)


@app.command()
def validate(
    folder: Results,
    against: Annotated[Path, typer.Option(metavar="FILE.csv", help="The published rows.")],
    noise: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="The published replicate noise (default: NAME_replicate_noise.csv in the same folder).",
        ),
    ] = None,
    linux: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Results of the Linux engine to show next to the simulator's (repeatable)."),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Write the tables to this file, as Markdown.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a results folder with a table of published rows.

    Supported: ect1.csv, ect1_pcap.csv and ect1_phases.csv (in the first one's folder), iccrg.csv,
    rtt_independence.csv, disproof_summary.csv, and tables with the columns rate_mbit, qdisc, qdisc_tc (in tc syntax),
    cc1, rtt1_ms, d1_mbps, the same with 2 for a second flow, window_s, length_s. Lists rows without runs.

    docs/howto/which-check.md compares checks, compare, claims, validate and parity.
    """
    from sojourn.cli.validate import validate as command

    command(folder, against, noise=noise, linux=linux or [], markdown=markdown, as_json=as_json)


@app.command()
def suites(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[SUITE|SUITE/SCENARIO]",
            help="Show one in detail: axes, cells, runs, cost, source.",
            autocompletion=complete.suites,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the suites that Sojourn ships, or show one in detail."""
    from sojourn.cli.lists import suites as command

    command(name, as_json=as_json)


@app.command()
def qdiscs(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one in detail.", autocompletion=complete.qdiscs)
    ] = None,
    as_json: AsJson = False,
    plugins: Plugins = None,
    engine: Engine = "sim",
) -> None:
    """List the queue disciplines, or show the options of one; with [b]--engine linux[/b] those of each kernel."""
    from sojourn.cli.lists import qdiscs as command

    command(name, as_json=as_json, plugins=plugins or [], engine=engine)


@app.command()
def ccs(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one in detail.", autocompletion=complete.ccs)
    ] = None,
    as_json: AsJson = False,
    plugins: Plugins = None,
    engine: Engine = "sim",
) -> None:
    """List the congestion controls, or show one; with [b]--engine linux[/b] those of each kernel."""
    from sojourn.cli.lists import ccs as command

    command(name, as_json=as_json, plugins=plugins or [], engine=engine)


@app.command()
def elements(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one in detail.", autocompletion=complete.elements)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the path elements for [b]middlebox[/b], or show the options of one."""
    from sojourn.cli.lists import elements as command

    command(name, as_json=as_json)


@app.command()
def links(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one in detail.", autocompletion=complete.links)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the links for a hop's [b]link[/b], or show the options of one."""
    from sojourn.cli.lists import links as command

    command(name, as_json=as_json)


@app.command()
def apps(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one in detail.", autocompletion=complete.apps)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the applications for a flow's [b]app[/b], or show the options of one."""
    from sojourn.cli.lists import apps as command

    command(name, as_json=as_json)


@app.command()
def stacks(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show one in detail.", autocompletion=complete.stacks)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the stacks, or show the switches of one."""
    from sojourn.cli.lists import stacks as command

    command(name, as_json=as_json)


@app.command()
def plugin_header() -> None:
    """Print the C header for plugins, [b]sojourn.h[/b] (docs/plugins.md)."""
    from sojourn import _core

    typer.echo(_core.plugin_header(), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors."""
    from sojourn import _core

    typer.echo(_core.json_schema())


# A command is one file with `register`, and its name here.
for _name in (
    "bdp",
    "check",
    "claims",
    "cluster",
    "compare",
    "conformance",
    "data",
    "docs",
    "doctor",
    "evaluate",
    "explore",
    "init",
    "lab",
    "linux",
    "mahimahi",
    "merge",
    "parity",
    "playground",
    "plot",
    "router",
    "score",
    "search",
    "shell",
    "store",
    "table",
):
    import_module(f"sojourn.cli.{_name}").register(app)
