"""``sojourn router``: three namespaces with the interop runner's addresses, the router in the middle one.

A machine without namespaces skips tests that need them, and says why.
"""

import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sojourn.cli.router import unknown_version, wait_for_quic
from sojourn.core.store import Folder, Record
from sojourn.errors import RunError, UsageError
from sojourn.quick.routed import Link, Routed, scenario

# As the runner's compose file has them: of the hosts, and of the network's two interfaces.
CLIENT = ("193.167.0.100", "fd00:cafe:cafe:0::100")
SERVER = ("193.167.100.100", "fd00:cafe:cafe:100::100")
LEFT = ("193.167.0.2", "fd00:cafe:cafe:0::2")
RIGHT = ("193.167.100.2", "fd00:cafe:cafe:100::2")
LENGTH = {4: 24, 6: 64}


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (
            "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25",
            Link("10mbit", None, "30ms", "pfifo limit 25", None, is_wire=True),
        ),
        (
            "simple-p2p --queue 1 --bandwidth 2.5Gb/s --delay 750us",
            Link("2.5gbit", None, "1500us", "pfifo limit 1", None, is_wire=True),
        ),
        ("--rate=10mbit --rtt 30ms --qdisc 'dualpi2 target 10ms'", Link("10mbit", None, "30ms", "dualpi2 target 10ms")),
        ("--up 1mbit --up-qdisc pie", Link(None, "1mbit", None, None, "pie")),
        ("", Link()),
    ],
)
def test_a_scenario_is_a_path(text: str, link: Link) -> None:
    assert scenario(text) == link


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=3",
            "drop-rate has no counterpart here",
        ),
        ("blackhole --delay=15ms --on=5s --off=2s", "blackhole has no counterpart here"),
        ("rebind --delay=15ms --first-rebind=1s", "rebind has no counterpart here"),
        ("nat", "nat has no counterpart here"),
        ("droplist --drops_to_client=1,2", "droplist has no counterpart here"),
        ("corrupt-rate --rate_to_client=3", "corrupt-rate has no counterpart here"),
        ("asymmetric-p2p --queue=25", "--rate 10mbit --up 2mbit"),
        ("tcp-cross-traffic --crossdatarate=10Mbps", "iperf3"),
        ("udp-cross-traffic --crossdatarate=10Mbps", "iperf3"),
        ("simple-p2 --queue=25", 'did you mean "simple-p2p"?'),
        ("simple-p2p --delay=15ms --bandwidth=10Mbps", "simple-p2p needs --queue"),
        ("simple-p2p --delay=15ms --bandwidth=10Mbps --queue", "--queue needs a value"),
        ("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=0", "--queue=0 is no number of packets"),
        ("simple-p2p --delay=15ms --bandwidth=10MBps --queue=25", "--bandwidth=10MBps is no rate in bits per second"),
        ("simple-p2p --delay=15 --bandwidth=10Mbps --queue=25", "--delay=15 is no delay"),
        ("simple-p2p --dela=15ms", 'did you mean "--delay"?'),
        ("--rat 10mbit", 'did you mean "--rate"?'),
        ("--qdisc 'pie", "No closing quotation"),
    ],
)
def test_a_scenario_that_is_something_else_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        scenario(text)
    assert said in str(caught.value)


def test_the_scenario_of_the_runner_is_a_link_without_bursts() -> None:
    line = Routed("10mbit", "30ms", "pfifo limit 25", left="a", right="b", is_wire=True)
    assert [hop["shaper"] for hop in line.hops()] == ["line"]
    assert line.command([]) == "sojourn router a b --rate 10mbit --rtt 30ms --qdisc 'pfifo limit 25'"
    assert 'name = "router"' in line.toml()


def test_the_packet_that_a_server_answers_has_an_unknown_version() -> None:
    packet = unknown_version()
    assert (len(packet), packet[0] & 0xC0) == (1200, 0xC0)
    # RFC 9000 §15: 0x?a?a?a?a.
    assert [byte & 0x0F for byte in packet[1:5]] == [0x0A] * 4
    assert (packet[5], packet[14]) == (8, 8)


def test_a_server_is_waited_for() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        heard = []

        def serve() -> None:
            # The first is lost.
            server.recvfrom(2000)
            data, peer = server.recvfrom(2000)
            heard.append(data)
            server.sendto(b"\x80\0\0\0\0", peer)

        thread = threading.Thread(target=serve)
        thread.start()
        wait_for_quic(f"127.0.0.1:{port}", lambda: False, patience_s=60)
        thread.join()
    assert [len(data) for data in heard] == [1200]


def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RunError, match="did not answer within"):
            wait_for_quic(where, lambda: False, patience_s=0.3)
        wait_for_quic(where, lambda: True)
    with pytest.raises(UsageError, match="is not HOST:PORT"):
        wait_for_quic("server", lambda: False)


class Space:
    """A network namespace, and a process that holds it."""

    def __init__(self, held: subprocess.Popen[bytes]) -> None:
        self.held = held
        enter = ["nsenter", "--target", str(held.pid), "--user", "--preserve-credentials", "--net", "--"]
        self.enter = enter

    def command(self, *words: str | Path) -> list[str]:
        return [*self.enter, *map(str, words)]

    def run(self, *words: str | Path, **more: str | Path) -> subprocess.CompletedProcess[str]:
        cwd = more.pop("cwd", None)
        return subprocess.run(
            self.command(*words), capture_output=True, text=True, check=False, timeout=120, cwd=cwd,
            env={**os.environ, "COLUMNS": "200", **{name: str(value) for name, value in more.items()}},
        )  # fmt: skip

    def ip(self, words: str) -> str:
        ran = self.run("ip", *words.split())
        assert ran.returncode == 0, f"ip {words}: {ran.stderr}"
        return ran.stdout

    def sojourn(self, *words: str | Path, **more: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "sojourn", *words, **more)


@contextmanager
def _space(*enter: str) -> Iterator[Space]:
    """Hold a new namespace: of a new user, or of an older one, which `enter` enters."""
    new = [*enter, "unshare", "--net"] if enter else ["unshare", "--user", "--map-root-user", "--net"]
    with subprocess.Popen([*new, "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE) as held:
        try:
            assert held.stdout is not None
            if not held.stdout.readline():
                pytest.skip(f"no namespaces: {' '.join(new)} was refused")
            yield Space(held)
        finally:
            held.kill()


@pytest.fixture
def spaces() -> Iterator[tuple[Space, Space, Space]]:
    """Client, router and server, connected by two pairs of interfaces; the router's kernel would forward."""
    for program in ("unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on this machine")
    with ExitStack() as stack:
        router = stack.enter_context(_space())
        inside = router.enter
        client, server = (stack.enter_context(_space(*inside)) for _ in range(2))
        for host, name, own, gateway in ((client, "left", CLIENT, LEFT), (server, "right", SERVER, RIGHT)):
            router.ip(f"link add {name} type veth peer name eth0 netns {host.held.pid}")
            router.ip(f"link set {name} up")
            host.ip("link set eth0 up")
            host.ip("link set lo up")
            for version, address, by in zip(LENGTH, own, gateway, strict=True):
                more = "" if version == 4 else " nodad"
                host.ip(f"addr add {address}/{LENGTH[version]} dev eth0{more}")
                router.ip(f"addr add {by}/{LENGTH[version]} dev {name}{more}")
                host.ip(f"-{version} route add default via {by}")
        router.ip("link set lo up")
        on = "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"
        ran = router.run("sh", "-c", on)
        assert ran.returncode == 0, ran.stderr
        yield client, router, server


@contextmanager
def _router(space: Space, tmp_path: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a router between the two interfaces, and end it by SIGTERM."""
    doors = tmp_path / "doors"
    doors.mkdir(mode=0o700)
    command = space.command(sys.executable, "-m", "sojourn", "router", "left", "right", *words)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(doors), "COLUMNS": "200"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            end = time.monotonic() + 60
            while not list(doors.glob("sojourn/shell-*")) and running.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            yield running
        finally:
            # nsenter has become the program: without --fork it executes it.
            running.terminate()
            try:
                running.wait(timeout=60)
            except subprocess.TimeoutExpired:
                running.kill()


def _rules(space: Space) -> list[str]:
    return [line for v in LENGTH for line in space.ip(f"-{v} rule").splitlines() if "blackhole" in line]


SEND = (
    "import socket, sys\n"
    "family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET\n"
    "with socket.create_server((sys.argv[1], 4433), family=family) as server:\n"
    "    print(flush=True)\n"
    "    peer, _ = server.accept()\n"
    "    peer.sendall(bytes(int(sys.argv[2])))\n"
    "    peer.close()\n"
)
TAKE = (
    "import socket, sys, time\n"
    "began, count = time.monotonic(), 0\n"
    "with socket.create_connection((sys.argv[1], 4433), timeout=60) as own:\n"
    "    while part := own.recv(65536):\n"
    "        count += len(part)\n"
    "print(count, time.monotonic() - began)\n"
)


def _transfer(client: Space, server: Space, address: str, size: int) -> float:
    """Transfer bytes to the client, and return the goodput, bit/s."""
    command = server.command(sys.executable, "-c", SEND, address, str(size))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdout is not None
        sender.stdout.readline()
        ran = client.run(sys.executable, "-c", TAKE, address)
        sender.kill()
    assert ran.returncode == 0, ran.stderr
    count, seconds = ran.stdout.split()
    assert int(count) == size
    return size * 8 / float(seconds)


# Not every machine has ping(8). Arguments: the address, the number of requests, the TTL.
PING = (
    "import json, os, socket, struct, sys, time\n"
    "to, count, ttl = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\n"
    "v6, own = ':' in to, os.getpid() & 0xffff\n"
    "kind = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else (socket.AF_INET, socket.IPPROTO_ICMP)\n"
    "with socket.socket(kind[0], socket.SOCK_RAW, kind[1]) as raw:\n"
    "    raw.settimeout(0.01)\n"
    "    raw.setsockopt(*((socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS) if v6 else (0, socket.IP_TTL)), ttl)\n"
    "    sent, rtts, seen, hops = [], {}, 0, 0\n"
    "    for number in range(count):\n"
    "        words = [0x8000 if v6 else 0x0800, 0, own, number]\n"
    "        total = sum(words)\n"
    "        words[1] = 0 if v6 else 0xffff - ((total & 0xffff) + (total >> 16))\n"
    "        sent.append(time.monotonic())\n"
    "        raw.sendto(struct.pack('!4H', *words), (to, 0))\n"
    "        while time.monotonic() < sent[-1] + (1.2 if number == count - 1 else 0.2):\n"
    "            try: got = raw.recv(200)\n"
    "            except TimeoutError: continue\n"
    "            message = got if v6 else got[(got[0] & 15) * 4 :]\n"
    "            of, _, _, mine, back = struct.unpack('!BBHHH', message[:8])\n"
    "            if of == (129 if v6 else 0) and mine == own:\n"
    "                rtts.setdefault(back, time.monotonic() - sent[back])\n"
    "                seen, hops = seen + 1, 0 if v6 else got[8]\n"
    "print(json.dumps({'ms': [rtt * 1e3 for rtt in rtts.values()], 'answers': seen, 'ttl': hops}))\n"
)


def _ping(space: Space, address: str, count: int = 2, ttl: int = 64) -> dict[str, Any]:
    """Return the RTTs (ms) of the requests that were answered, the number of answers, and their TTL over IPv4."""
    ran = space.run(sys.executable, "-c", PING, address, str(count), str(ttl))
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_a_router_forwards_once_by_its_queues(spaces: tuple[Space, Space, Space], tmp_path: Path) -> None:
    client, router, server = spaces
    assert _ping(client, SERVER[0])["answers"] == 2, "the kernel would forward"
    words = [
        "--rate",
        "10mbit",
        "--up",
        "5mbit",
        "--rtt",
        "40ms",
        "--qdisc",
        "fq_codel",
        "-o",
        "r",
        "--save",
        "seen.toml",
    ]
    with _router(router, tmp_path, *words, "--pcap", "--ready-port", "57832") as running:
        assert running.poll() is None, running.stderr and running.stderr.read()
        assert len(_rules(router)) == 4
        for address in SERVER:
            found = _ping(client, address, count=5)
            assert (len(found["ms"]), found["answers"]) == (5, 5), "each once"
            assert found["ttl"] == (63 if address == SERVER[0] else 0), "one router"
            # Whatever the machine does, no packet is early; the least of five has met the fewest stalls.
            assert 40 <= min(found["ms"]) < 80
        # The router's own addresses are the kernel's, and so is the port that says that it runs.
        assert min(_ping(client, LEFT[0], count=5)["ms"]) < 40
        knock = "import socket, sys; socket.create_connection((sys.argv[1], 57832), timeout=30)"
        for address in LEFT:
            assert client.run(sys.executable, "-c", knock, address).returncode == 0
        for address in SERVER:
            assert 2e6 < _transfer(client, server, address, 3_000_000) < 10e6
        doors = str(tmp_path / "doors")
        slower = router.sojourn("shell", "set", "rate", "4mbit", cwd=tmp_path, XDG_RUNTIME_DIR=doors)
        assert slower.returncode == 0, slower.stderr
        assert _transfer(client, server, SERVER[0], 1_000_000) < 4e6
        seen = router.sojourn("shell", "status", cwd=tmp_path, XDG_RUNTIME_DIR=doors)
        assert len(json.loads(seen.stdout)["queues"]) == 2
    assert running.returncode == 0, running.stderr and running.stderr.read()
    assert _rules(router) == []
    assert _ping(client, SERVER[0])["answers"] == 2, "the kernel forwards again"
    _check_results(router, tmp_path)


# As tcpdump does. Arguments: the interface, the number of its outgoing frames to see.
LOOK = (
    "import socket, sys\n"
    "with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as raw:\n"
    "    raw.bind((sys.argv[1], 0))\n"
    "    raw.settimeout(60)\n"
    "    print(flush=True)\n"
    "    seen = 0\n"
    "    while seen < int(sys.argv[2]):\n"
    "        frame, at = raw.recvfrom(65536)\n"
    "        seen += at[2] == socket.PACKET_OUTGOING and len(frame) > 1000\n"
)


def test_a_capture_on_the_routers_interface_has_what_leaves_it(
    spaces: tuple[Space, Space, Space], tmp_path: Path
) -> None:
    """The interop runner reads both directions from tcpdump's files."""
    client, router, server = spaces
    with _router(router, tmp_path, "--rate", "10mbit", "-o", "r"):
        command = router.command(sys.executable, "-c", LOOK, "left", "100")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as looking:
            assert looking.stdout is not None
            looking.stdout.readline()
            _transfer(client, server, SERVER[0], 1_000_000)
            assert looking.wait(timeout=90) == 0


def _totals(record: Record) -> dict[str, float]:
    """Return what the relay counted of itself."""
    rows = record.table("totals").iter_rows(named=True)
    return {row["name"]: row["value"] for row in rows if row["subject"] == "live"}


def _check_results(router: Space, tmp_path: Path) -> None:
    [record] = Folder.open(tmp_path / "r").records()
    assert {"client.pcap", "server.pcap"} <= {file.name for file in record.captures}
    by_name = _totals(record)
    assert by_name["unknown_frames"] == by_name["expired_frames"] == by_name["unresolved_packets"] == 0
    assert by_name["ignored_frames"] > 0
    assert by_name["unsent_packets"] == 0
    events = record.table("events")
    flows = [row["detail"] for row in events.iter_rows(named=True) if row["what"] == "start"]
    assert sum(f"TCP {SERVER[0]}:4433 to {CLIENT[0]}:" in flow for flow in flows) == 2
    assert sum(f"TCP [{SERVER[1]}]:4433 to " in flow for flow in flows) == 1
    # The sender's own numbers are unknown.
    rows = list(record.table("flows").iter_rows(named=True))
    assert max(row["goodput_bps"] for row in rows if row["goodput_bps"] is not None) > 2e6
    assert all(row["rtt_s"] is None or math.isnan(row["rtt_s"]) for row in rows)
    assert {row["cwnd"] for row in rows} <= {0, None}
    saved = (tmp_path / "seen.toml").read_text()
    assert 'name = "router"' in saved
    assert 'rate = "4Mbit"' in saved
    assert router.sojourn("table", "r", "p99(sojourn, bottleneck.down.qdisc)", cwd=tmp_path).returncode == 0


def test_a_neighbour_that_is_not_there_costs_its_packets_alone(
    spaces: tuple[Space, Space, Space], tmp_path: Path
) -> None:
    client, router, _ = spaces
    with _router(router, tmp_path, "-o", "r", "-q") as running:
        assert _ping(client, "193.167.100.77", count=3)["answers"] == 0
        assert _ping(client, SERVER[0], ttl=1)["answers"] == 0
        assert _ping(client, SERVER[0])["answers"] == 2
    assert running.returncode == 0
    [record] = Folder.open(tmp_path / "r").records()
    found = _totals(record)
    assert (found["unresolved_packets"], found["expired_frames"]) == (3, 2)


def test_super_packets_are_split_and_joined(spaces: tuple[Space, Space, Space], tmp_path: Path) -> None:
    client, router, server = spaces
    with _router(router, tmp_path, "--rate", "20mbit", "--rtt", "2ms", "-o", "r", "-q", "--offload") as running:
        assert _transfer(client, server, SERVER[0], 2_000_000) < 20e6
    assert running.returncode == 0
    [record] = Folder.open(tmp_path / "r").records()
    found = _totals(record)
    assert found["super_packets"] > 0
    assert found["oversized_frames"] == 0


def test_a_router_ends_after_its_duration(spaces: tuple[Space, Space, Space], tmp_path: Path) -> None:
    _, router, _ = spaces
    ran = router.sojourn("router", "left", "right", "--duration", "300ms", "-o", "r", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert len(Folder.open(tmp_path / "r").records()) == 1
    assert _rules(router) == []


def test_rules_that_a_killed_router_left_are_taken_over(spaces: tuple[Space, Space, Space], tmp_path: Path) -> None:
    _, router, _ = spaces
    with _router(router, tmp_path, "-o", "r", "-q") as running:
        running.kill()
        running.wait()
        assert len(_rules(router)) == 4, "as docs/live.md says"
    ran = router.sojourn("router", "left", "right", "--duration", "100ms", "-o", "s", "-q", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert _rules(router) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("left", "rihgt"), "did you mean right?"),
        (("left", "left"), "LEFT and RIGHT are the same interface, left"),
        (("left", "lo"), "the interface lo is no Ethernet"),
        (("left", "right", "--qdisc", "dualpi3"), "dualpi3"),
        (("left", "right", "--rate", "20"), "has no unit"),
        (("left", "right", "--scenario", "drop-rate --queue=2"), "drop-rate has no counterpart"),
        (("left", "right", "--scenario", "--rate 1mbit", "--rtt", "3ms"), "--scenario and --rtt exclude each other"),
        (("left", "right", "--wait-for", "server"), "is not HOST:PORT"),
        (("left",), "RIGHT"),
    ],
)
def test_a_mistake_is_named(
    spaces: tuple[Space, Space, Space], tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    _, router, _ = spaces
    ran = router.sojourn("router", *words, cwd=tmp_path)
    assert ran.returncode == 2
    assert said in re.sub(r"[\s│]+", " ", ran.stderr), ran.stderr
    assert "Traceback" not in ran.stderr
    assert _rules(router) == []


def test_a_user_without_the_capabilities_is_refused(spaces: tuple[Space, Space, Space], tmp_path: Path) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv on this machine")
    _, router, _ = spaces
    drop = ["setpriv", "--bounding-set=-net_raw,-net_admin", "--inh-caps=-all"]
    ran = router.run(*drop, sys.executable, "-m", "sojourn", "router", "left", "right", cwd=tmp_path)
    assert ran.returncode == 2, ran.stderr
    assert "CAP_NET_RAW and CAP_NET_ADMIN" in re.sub(r"[\s│]+", " ", ran.stderr)
