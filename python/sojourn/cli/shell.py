"""``sojourn shell``: a program of the user's behind a queue of ours, on this machine and without root."""

import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from sojourn.cli import complete
from sojourn.cli.options import Quiet, SnapLen, Verbose
from sojourn.cli.program import WithProgram, command_of
from sojourn.errors import UsageError

if TYPE_CHECKING:
    from sojourn.quick.line import Way
    from sojourn.views.run import Run

_TIMED_OUT: Final = 124
"""The status of a command that ran longer than the run may be, as timeout(1) gives it."""

_SERVERS: Final = "10.9.9.1 server\n10.9.9.2 client\nfd00:9:9::1 server\nfd00:9:9::2 client\n"
"""The names of the hosts."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=WithProgram)(shell)


def shell(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[set NAME VALUE | status]",
            help="Instead of a command: change or show the shell in another terminal. [b]set rate 10mbit[/b]; "
            "names are rate, up, rtt, qdisc, up-qdisc.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[str, typer.Option(help="Rate to the client.")] = "20mbit",
    up: Annotated[str | None, typer.Option(metavar="RATE", help="Rate to the server; defaults to --rate.")] = None,
    rtt: Annotated[str, typer.Option(help="Base RTT.")] = "20ms",
    qdisc: Annotated[
        str,
        typer.Option(help="The queue, in tc syntax: [b]'fq_codel target 5ms'[/b].", autocompletion=complete.qdiscs),
    ] = "fq_codel",
    up_qdisc: Annotated[
        str | None,
        typer.Option(metavar="QDISC", help="The queue to the server; defaults to --qdisc."),
    ] = None,
    cc: Annotated[
        str | None,
        typer.Option(metavar="CC", help="Congestion control of both hosts (default: the machine's)."),
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Connections ask for ECN.")] = False,
    server: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="A program for the host [b]server[/b], 10.9.9.1. Repeatable."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Results folder.")] = Path(
        "sojourn-shell"
    ),
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Write what was seen as an experiment for [b]sojourn run[/b]."),
    ] = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Capture packets at hosts and queues.")] = False,
    snap_len: SnapLen = None,
    longest: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="End the command after this time.")
    ] = "21600s",
    offload: Annotated[
        bool | None,
        typer.Option(
            "--offload/--no-offload",
            help="Hosts send super-packets, which the relay splits (default: above 200 Mbit/s).",
        ),
    ] = None,
    internet: Annotated[
        bool,
        typer.Option(
            "--internet",
            help="The queue leads to this machine's network, by [b]pasta[/b] (package passt), not to a server.",
        ),
    ] = False,
    spin: Annotated[bool, typer.Option("--spin", help="Keep a processor busy for more exact departures.")] = False,
    status: Annotated[
        bool | None,
        typer.Option("--status/--no-status", help="Show a status line (default: yes, with a command)."),
    ] = None,
    pid: Annotated[int | None, typer.Option(help="With set and status: which shell.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run a command behind a queue, on this machine and without root; its host is a network namespace of its own.

    Exits with the status of the command (124 after --duration).

    Without a command it is your $SHELL. docs/live.md says how it works and when its numbers are valid.
    """
    from sojourn.quick.line import Line

    del quiet, verbose
    program = command_of(ctx)
    if words:
        _control(words, program, pid)
        return
    if pid is not None:
        raise UsageError("--pid goes with set and status", help="sojourn shell --pid 1234 set rate 10mbit")
    if internet and server:
        raise UsageError("--internet and --server exclude each other", help="leave one of them out")
    line = Line(rate, rtt, qdisc, up, up_qdisc, longest)
    wants_status = bool(program) if status is None else status
    program = program or [os.environ.get("SHELL", "/bin/sh")]
    asked: dict[str, Any] = {
        "servers": [words_of("--server", text) for text in server or []],
        "control": cc,
        "ecn": ecn,
        "offload": offload,
        "spin": spin,
        "internet": internet,
    }
    raise typer.Exit(run_on(line, program, asked, output, save, pcap=pcap, snap_len=snap_len, shows=wants_status))


def words_of(option: str, text: str) -> list[str]:
    """Return the words of an option that is a command."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}", help="quote it as in a shell") from error
    if not words:
        raise UsageError(f"{option} has no program", help=f"{option} 'iperf3 -s'")
    return words


def _control(words: Sequence[str], program: Sequence[str], pid: int | None) -> None:
    """Say something to the shell that runs."""
    import json

    from sojourn.cli.doors import ask
    from sojourn.cli.screen import print_json, say

    if program:
        raise UsageError(f"{words[0]} and a command exclude each other", help="write only the command, after --")
    if list(words) == ["status"]:
        print_json(json.loads(ask("status", pid) or "null"))
        return
    if words[0] != "set":
        raise UsageError(
            f"there is no {words[0]!r}", help="sojourn shell set rate 10mbit, sojourn shell status, or -- COMMAND"
        )
    ask(" ".join(words), pid)
    say(" ".join(words))


def run_on(
    line: "Way",
    program: Sequence[str],
    asked: dict[str, Any],
    output: Path,
    save: Path | None,
    *,
    pcap: bool,
    snap_len: int | None,
    shows: bool,
) -> int:
    """Run the program; return its status."""
    from sojourn import _core
    from sojourn.cli import doors
    from sojourn.cli.capture import snap_length
    from sojourn.cli.screen import out, say
    from sojourn.cli.status_line import StatusLine
    from sojourn.cli.tables import print_summary
    from sojourn.core import cells
    from sojourn.core.store import Folder
    from sojourn.experiments.experiment import parse
    from sojourn.quick.asked import FILE
    from sojourn.runner.runs import run_keys
    from sojourn.views.run import Run

    engine = "live"
    base = parse(line.toml(), FILE, settings=[], engine=engine, plugins=[]).run_keys[0]
    snap = snap_length(snap_len, pcap=pcap)
    _check_control(asked.get("control"))
    command = line.command(program)
    with ExitStack() as stack:
        store = stack.enter_context(Folder.create(output, version=_core.version(engine), command=command))
        captures = stack.enter_context(store.captures(base)) if pcap else None
        server_output = stack.enter_context(tempfile.TemporaryFile())
        door = doors.own()
        with _ignored_interrupts(), StatusLine(wanted=shows) as shown:
            results, status, faults, lacking = _core.run_shell(
                base.resolved,
                list(program),
                server_output=server_output.fileno(),
                on_status=shown.show,
                hosts=_hosts(),
                captures=None if captures is None else str(captures),
                snap_len=snap or _core.SNAP_LEN,
                door=str(door),
                **asked,
            )
        for text in lacking:
            say(f"warning: {text}")
        [key] = run_keys([results.scenario], engine=engine)
        while key in store:
            key = replace(key, repetition=key.repetition + 1)
        server_output.seek(0)
        texts = {"server.log": server_output.read().decode(errors="replace")} if asked["servers"] else {}
        encoded = _core.encode_run(results, key.version, command=command, repetition=key.repetition, texts=texts)
        store.add_encoded(encoded)
        if captures is not None:
            store.add_captures(key, captures)
        run = Run.fresh(key, results)
        if save is not None:
            _save(save, line, run, command)
    if status is None:
        say(f"stopped the command after {line.longest}")
    for fault in faults:
        say(f"warning: not valid: {fault} (docs/live.md)")
    if not _is_quiet():
        print_summary(cells.group([run]))
        out().print(
            f"results in {output}; for pictures: sojourn report {shlex.quote(str(output))}",
            soft_wrap=True,
            markup=False,
        )
    return _TIMED_OUT if status is None else status


def _is_quiet() -> bool:
    from sojourn.cli.screen import TALK

    return TALK.quiet


def _check_control(name: str | None) -> None:
    """Refuse a congestion control that this machine's kernel does not have."""
    if name is None:
        return
    file = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    known = file.read_text().split()
    if name not in known:
        raise UsageError(
            f"this machine's kernel has no congestion control {name}: it has {', '.join(known)}",
            help=f"as root: modprobe tcp_{name}",
        )


def _hosts() -> str:
    """Return what programs see as ``/etc/hosts``: the names of the two hosts, and the machine's."""
    known = Path("/etc/hosts")
    return _SERVERS + (known.read_text() if known.exists() else "127.0.0.1 localhost\n")


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to the command, which the terminal sends it, too; SIGTERM and SIGHUP end the shell."""

    def leave(number: int, frame: FrameType | None) -> None:
        del frame
        sys.exit(128 + number)

    # A handler, because the command would inherit an ignored signal.
    before = {
        number: signal.signal(number, handler)
        for number, handler in ((signal.SIGINT, lambda *_: None), (signal.SIGTERM, leave), (signal.SIGHUP, leave))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _save(path: Path, line: "Way", run: "Run", command: str) -> None:
    """Write an experiment like the run."""
    import polars as pl

    from sojourn.cli.screen import say
    from sojourn.core.store.atomic import write_file

    events = run.table("events").cast({pl.Categorical: pl.String})
    events = events.filter((pl.col("what") == "event") & (pl.col("subject") == "command"))
    text = line.of_run(run.scenario, list(events.select("t_s", "detail").iter_rows()))
    try:
        comment = "".join(f"# {row}\n" for row in f"seen of: {command}".splitlines())
        write_file(path, f"{comment}\n{text}".encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    say(f"the observed line is in {path}; to simulate it: sojourn run {path} -o DIR")
