"""``sojourn router``: a queue of ours between two interfaces of this machine."""

import math
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sojourn.cli.options import LinkQdisc, LinkRate, LinkUp, LinkUpQdisc, Quiet, SaveSeen, SnapLen, Spin, Verbose
from sojourn.errors import RunError, UsageError

if TYPE_CHECKING:
    from sojourn import _core
    from sojourn.cli.live_results import Folders
    from sojourn.quick.routed import Routed

_PATH: Final = ("rate", "up", "rtt", "qdisc", "up_qdisc")
"""The options that a scenario replaces."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(router)


def router(
    ctx: typer.Context,
    left: Annotated[str, typer.Argument(metavar="LEFT", help="The interface towards the client.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The interface towards the server.")],
    rate: LinkRate = "20mbit",
    up: LinkUp = None,
    rtt: Annotated[str, typer.Option(help="Base RTT that the router adds.")] = "20ms",
    qdisc: LinkQdisc = "fq_codel",
    up_qdisc: LinkUpQdisc = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The path as the QUIC interop runner's SCENARIO names it: these options, or [b]'simple-p2p "
            "--delay=15ms --bandwidth=10Mbps --queue=25'[/b].",
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Results folder.")] = Path(
        "sojourn-router"
    ),
    save: SaveSeen = None,
    pcap: Annotated[bool, typer.Option("--pcap", help="Capture packets at both interfaces and at queues.")] = False,
    snap_len: SnapLen = None,
    longest: Annotated[str, typer.Option("--duration", metavar="TIME", help="End after this time.")] = "21600s",
    offload: Annotated[
        bool | None,
        typer.Option(
            "--offload/--no-offload",
            help="Packets of one TCP connection leave joined (default: above 200 Mbit/s).",
        ),
    ] = None,
    spin: Spin = False,
    status: Annotated[bool, typer.Option("--status/--no-status", help="Show a status line.")] = True,
    ready_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            metavar="PORT",
            help="Listen on this TCP port while the router forwards, and never answer.",
        ),
    ] = None,
    wait_for: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="First wait, 10 s at most, until a QUIC server there answers."),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Forward packets between two interfaces through a queue, as a router does, until Ctrl-C, SIGTERM or --duration.

    Needs CAP_NET_RAW and CAP_NET_ADMIN. [b]sojourn shell set rate 10mbit[/b] changes it from another terminal.

    docs/live.md says how hosts get their routes, and how a real router differs.
    """
    from sojourn.quick.routed import Routed
    from sojourn.quick.routed import scenario as read

    del quiet, verbose
    line = Routed(rate, rtt, qdisc, up, up_qdisc, longest, left, right)
    if scenario:
        written = [name for name in _PATH if _is_written(ctx, name)]
        if written:
            option = f"--{written[0].replace('_', '-')}"
            raise UsageError(f"--scenario and {option} exclude each other", help="write the path in one of them")
        link = read(scenario)
        line = Routed(
            link.rate or rate, link.rtt or rtt, link.qdisc or qdisc, link.up, link.up_qdisc, longest, left, right,
            link.is_wire,
        )  # fmt: skip
    with _until_asked() as is_over:
        if wait_for:
            wait_for_quic(wait_for, is_over)
        if not is_over():
            _route(
                line, is_over, output, save,
                pcap=pcap, snap_len=snap_len, offload=offload, spin=spin, shows=status, ready=ready_port,
            )  # fmt: skip


def _is_written(ctx: typer.Context, name: str) -> bool:
    """Whether the command line has an option. Typer has a copy of click's sources of its own."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _route(
    line: "Routed",
    is_over: Callable[[], bool],
    output: Path,
    save: Path | None,
    *,
    pcap: bool,
    snap_len: int | None,
    offload: bool | None,
    spin: bool,
    shows: bool,
    ready: int | None,
) -> None:
    """Forward until it is over, and write the results."""
    from sojourn import _core
    from sojourn.cli.live_results import keep
    from sojourn.cli.status_line import StatusLine

    def run(folders: "Folders") -> "tuple[_core.Run, list[str], dict[str, str]]":
        with StatusLine(wanted=shows) as shown:

            def look(text: str) -> bool:
                shown.show(text)
                return is_over()

            results, faults = _core.run_router(
                folders.base.resolved,
                line.left,
                line.right,
                on_status=look,
                offload=offload,
                spin=spin,
                captures=folders.captures,
                snap_len=folders.snap_len,
                door=folders.door,
                ready=ready,
            )
        return results, faults, {}

    keep(run, line, line.command([]), output, save, pcap=pcap, snap_len=snap_len)


@contextmanager
def _until_asked() -> Iterator[Callable[[], bool]]:
    """Lend the answer to whether SIGINT, SIGTERM or SIGHUP has come; results are written after them."""
    asked = False

    def note(*_: object) -> None:
        nonlocal asked
        asked = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_PATIENCE_S: Final = 10.0
_AGAIN_S: Final = 0.5
_LOOK_S: Final = 0.1
_DATAGRAM: Final = 1200
"""The least that a server may answer (RFC 9000 §14.1), bytes."""


def unknown_version() -> bytes:
    """Return a QUIC packet that makes a server name its versions (RFC 8999 §5.1, RFC 9000 §6.1).

    Long header, a version that is kept for this (RFC 9000 §15), two connection IDs of 8 bytes, padding.
    """
    ids = b"".join(bytes([8]) + os.urandom(8) for _ in range(2))
    return (bytes([0xC0]) + bytes.fromhex("1a2a3a4a") + ids).ljust(_DATAGRAM, b"\0")


def wait_for_quic(where: str, is_over: Callable[[], bool], patience_s: float = _PATIENCE_S) -> None:
    """Wait until a QUIC server answers a packet of an unknown version with any datagram.

    Args:
        where: ``HOST:PORT``. A name that nobody knows yet is asked for again: containers start in any order.
        is_over: whether to stop waiting.
        patience_s: how long to wait, s.

    Raises:
        UsageError: if the address has no port.
        RunError: if no answer comes.
    """
    host, _, port = where.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f'--wait-for {where}: "{where}" is not HOST:PORT', help="--wait-for server:443")
    end, again, why = time.monotonic() + patience_s, -math.inf, "no answer"
    sockets: dict[tuple[int, object], socket.socket] = {}
    try:
        while not is_over() and (now := time.monotonic()) < end:
            if now >= again:
                again = now + _AGAIN_S
                why = _ask(host.strip("[]"), int(port), sockets) or why
            if any(_has_answer(own) for own in sockets.values()):
                return
            time.sleep(_LOOK_S)
    finally:
        for own in sockets.values():
            own.close()
    if not is_over():
        raise RunError(
            f"{where} did not answer within {patience_s:g} s: {why}", help="start the server, or leave --wait-for out"
        )


def _ask(host: str, port: int, sockets: dict[tuple[int, object], socket.socket]) -> str | None:
    """Ask each address of a host, and return why one cannot be asked; the sockets stay for the answers."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        return error.strerror
    why = None
    for family, kind, protocol, _, address in found:
        own = sockets.get((family, address))
        try:
            if own is None:
                own = sockets[family, address] = socket.socket(family, kind, protocol)
                own.setblocking(False)
            own.sendto(unknown_version(), address)
        except OSError as error:
            why = error.strerror
    return why


def _has_answer(own: socket.socket) -> bool:
    try:
        return bool(own.recv(_DATAGRAM))
    except OSError:
        return False
