"""``sojourn shell``: a program of the user's behind a queue of ours, on this machine and without root."""

import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from sojourn.cli.options import LinkQdisc, LinkRate, LinkUp, LinkUpQdisc, Quiet, SaveSeen, SnapLen, Spin, Verbose
from sojourn.cli.program import WithProgram, command_of
from sojourn.errors import UsageError

if TYPE_CHECKING:
    from sojourn.quick.line import Way

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
    rate: LinkRate = "20mbit",
    up: LinkUp = None,
    rtt: Annotated[str, typer.Option(help="Base RTT.")] = "20ms",
    qdisc: LinkQdisc = "fq_codel",
    up_qdisc: LinkUpQdisc = None,
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
    save: SaveSeen = None,
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
    spin: Spin = False,
    status: Annotated[
        bool | None,
        typer.Option("--status/--no-status", help="Show a status line (default: yes, with a command)."),
    ] = None,
    pid: Annotated[int | None, typer.Option(help="With set and status: which shell.")] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run a command behind a queue on this machine, without root, in network namespaces of its own.

    Exits with the status of the command (124 after --duration).

    Without a command it runs your $SHELL. docs/live.md says how it works and when its numbers are valid.
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
    from sojourn.cli.live_results import Folders, keep
    from sojourn.cli.screen import say
    from sojourn.cli.status_line import StatusLine

    _check_control(asked.get("control"))
    command = line.command(program)
    status: int | None = None

    def run(folders: Folders) -> tuple[_core.Run, Sequence[str], dict[str, str]]:
        nonlocal status
        with _ignored_interrupts(), StatusLine(wanted=shows) as shown, tempfile.TemporaryFile() as server_output:
            results, status, faults, lacking = _core.run_shell(
                folders.base.resolved,
                list(program),
                server_output=server_output.fileno(),
                on_status=shown.show,
                hosts=_hosts(),
                captures=folders.captures,
                snap_len=folders.snap_len,
                door=folders.door,
                **asked,
            )
            server_output.seek(0)
            said = server_output.read().decode(errors="replace")
        for text in lacking:
            say(f"warning: {text}")
        return results, faults, {"server.log": said} if asked["servers"] else {}

    def ended() -> None:
        if status is None:
            say(f"stopped the command after {line.longest}")

    keep(run, line, command, output, save, pcap=pcap, snap_len=snap_len, ended=ended)
    return _TIMED_OUT if status is None else status


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
