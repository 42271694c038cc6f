"""What needs a built kernel: two cells and a call on both engines, and guests that end with whoever started them.

`make test-linux` builds a kernel first if there is none.
"""

import json
import math
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn.core.store import Folder
from sojourn.evidence.claims import Verdict, evaluate, registry
from sojourn.linux.kernels import kernels

pytestmark = pytest.mark.skipif(not kernels(), reason="no kernel is built: sojourn linux build")

TWO_CELLS = """\
[experiment]
name = "two-cells"
duration = "40s"
# PIE's shares scatter: five seeds of it are apart by chance at times, twenty-five are not.
seeds = 15
stack = "linux-7.3"

[axis.queue]
"fq_codel" = { hop.bottleneck.qdisc = "fq_codel" }
"pie" = { hop.bottleneck.qdisc = "pie ecn" }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"

[[flow]]
name = "first"
cc = "cubic"

[[flow]]
name = "second"
cc = "reno"
"""

CALL = """\
[experiment]
name = "call"
duration = "10s"
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "40ms"
qdisc = "codel"

[[flow]]
name = "bulk"
cc = "cubic"

[[flow]]
name = "call"
dscp = 46
video = { profile = "call-down", rate = "1800kbit", ecn = "ect1" }

[[flow]]
name = "pulses"
dscp = 10
start = "2s"
stop = "9s"
direction = "up"
udp = { rate = "1mbit", payload = 500 }
on_off = { on = "500ms", off = "300ms", exponential = true }
"""


APPLICATIONS = """\
[experiment]
name = "applications"
duration = "12s"
seeds = 1
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "40ms"
qdisc = "fq_codel"

[[flow]]
name = "pages"
cc = "cubic"
short_flows = { count = 30, mean_interval = "200ms", length_p5 = "5k", length_p95 = "200k" }

[[flow]]
name = "film"
cc = "cubic"
streaming = { ladder = ["1mbit", "3mbit"], segment = "2s", buffer = "6s" }

[[flow]]
name = "probe"
irtt = { interval = "20ms" }

[[flow]]
name = "slow"
cc = "cubic"
app_rate = "2mbit"
"""

PARKING_LOT = """\
[experiment]
name = "parking-lot"
duration = "30s"
seeds = 5
stack = "linux-7.3"

[[hop]]
name = "one"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"

[[hop]]
name = "two"
rate = "10mbit"
rtt = "10ms"
qdisc = "fq_codel"

[[hop]]
name = "three"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"

[[flow]]
name = "all"
cc = "cubic"

[[flow]]
name = "first"
cc = "cubic"
hops = ["one"]

[[flow]]
name = "second"
cc = "cubic"
hops = ["two"]

[[flow]]
name = "ends"
cc = "cubic"
hops = ["one", "three"]
"""

SWITCHED = """\
[experiment]
name = "switched"
duration = "8s"
seeds = 1
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "8mbit"
rtt = "20ms"
qdisc = "pfifo limit 100"

[[flow]]
name = "udp"
udp = { rate = "10mbit", payload = 1000 }

[[event]]
name = "off"
at = "3s"
hop = "bottleneck"
side = "down"
disable = ["qdisc"]

[[event]]
name = "slower"
at = "4s"
hop = "bottleneck"
side = "down"
rate = "4mbit"

[[event]]
name = "on"
at = "5s"
hop = "bottleneck"
side = "down"
enable = ["qdisc"]

[[event]]
name = "other"
at = "6s"
hop = "bottleneck"
side = "down"
replace = "tbf rate 5mbit burst 3000 limit 50000"
shaper = "own"
rate = "5mbit"

[[event]]
name = "back"
at = "7s"
hop = "bottleneck"
side = "down"
replace = "fq_codel limit 50"
shaper = "htb"
rate = "6mbit"
"""


POLICED = """\
[experiment]
name = "policed"
duration = "10s"
seeds = 1
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "50mbit"
# The simulator's policer is behind this delay, Linux's in front of it.
rtt = "20us"
qdisc = "pfifo"

[[hop.element]]
name = "police"
side = "down"
policer = { rate = "5mbit", burst = "30k", exceed = "mark" }

[[flow]]
name = "not"
udp = { rate = "3mbit", payload = 1000 }

[[flow]]
name = "ect0"
udp = { rate = "4mbit", payload = 1000, ecn = "ect0" }

[[flow]]
name = "ect1"
udp = { rate = "5mbit", payload = 1000, ecn = "ect1" }
"""

NETEMS = """\
[experiment]
name = "netems"
duration = "16s"
seeds = 1
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"

[[flow]]
name = "bulk"
cc = "cubic"

[[flow]]
name = "probe"
irtt = { interval = "10ms" }

[[event]]
name = "far"
at = "4s"
hop = "bottleneck"
rtt = "60ms"

[[event]]
name = "slow"
at = "7s"
hop = "bottleneck"
side = "down"
netem = ["delay 15ms rate 30mbit limit 10000"]

[[event]]
name = "off"
at = "10s"
hop = "bottleneck"
side = "down"
disable = ["netem"]

[[event]]
name = "on"
at = "13s"
hop = "bottleneck"
side = "down"
enable = ["netem"]
"""

HOST_QUEUES = """\
[experiment]
name = "host-queues"
duration = "12s"
seeds = 1
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "40mbit"
rtt = "40ms"
qdisc = "fq_codel"

[[flow]]
name = "shaped"
cc = "cubic"
ip = 6
host_qdisc = "tbf rate 5mbit burst 3000 limit 30000"

[[flow]]
name = "paced"
cc = "bbr"
host_qdisc = "fq"

[[flow]]
name = "plain"
cc = "cubic"

[[flow]]
name = "back"
cc = "cubic"
direction = "up"
"""

NO_ECHO = """\
[experiment]
name = "no-echo"
duration = "8s"
seeds = 1
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
qdisc = "fq_codel"

[[hop.element]]
name = "rule"
side = "down"
rewrite = { rule = "RULE", flows = ["six"] }

[[flow]]
name = "six"
cc = "cubic"
ip = 6

[[flow]]
name = "four"
cc = "cubic"
"""


def mean(table: pl.DataFrame, column: str) -> float:
    """The mean of what a column knows; NaN if it knows nothing."""
    known = table[column].drop_nulls().drop_nans().to_list()
    return statistics.fmean(known) if known else math.nan


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sojourn", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def descendants(pid: int) -> set[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(after[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def ends(pids: set[int], within: float) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


def test_two_cells_agree(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO_CELLS)
    process = start("parity", str(file), "-o", str(tmp_path / "results"), "--json")
    output, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    summary = {line["metric"]: line for line in json.loads(output)["summary"] if line["by"] == "all"}
    assert summary["sum"]["equivalent"] == summary["sum"]["cells"] == 2
    assert summary["queue_delay_mean"]["different"] == summary["share"]["different"] == 0


def test_flows_pass_by_hops_on_both_engines(tmp_path: Path) -> None:
    file = tmp_path / "lot.toml"
    file.write_text(PARKING_LOT)
    goodput: dict[str, dict[str, float]] = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        runs = list(sojourn.open(tmp_path / engine))
        assert len(runs) == 5
        values: dict[str, list[float]] = {}
        for run in runs:
            rows = run.table("flows")
            for flow, at, rate in zip(rows["flow"], rows["t_s"], rows["goodput_bps"], strict=True):
                if at > 10:
                    values.setdefault(flow, []).append(rate)
        goodput[engine] = {flow: statistics.mean(rates) for flow, rates in values.items()}
    ours, linux = goodput["sim"], goodput["linux"]
    for flow in ["all", "first", "second", "ends"]:
        assert linux[flow] == pytest.approx(ours[flow], rel=0.02), (flow, ours, linux)
    # Two fill 10 Mbit/s, three 20, and one of these ends at the second hop: 1448 of 1514 bytes are payload.
    assert linux["all"] + linux["second"] == pytest.approx(10e6 * 1448 / 1514, rel=0.01)
    assert linux["all"] + linux["first"] + linux["ends"] == pytest.approx(20e6 * 1448 / 1514, rel=0.01)


def test_a_queue_is_switched_and_replaced_the_same_on_both_engines(tmp_path: Path) -> None:
    file = tmp_path / "switched.toml"
    file.write_text(SWITCHED)
    rows: dict[str, dict[float, tuple[int, int, int]]] = {}
    flushed: dict[str, list[tuple[float, int]]] = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        run = sojourn.open(tmp_path / engine)[0]
        queues = [row for row in run.table("queues").iter_rows(named=True) if row["queue"] == "bottleneck.down.qdisc"]
        rows[engine] = {round(row["t_s"], 3): (row["packets"], row["sent_packets"], row["drops"]) for row in queues}
        signals = run.table("queue_signals").iter_rows(named=True)
        flushed[engine] = [(row["t_s"], row["count"]) for row in signals if row["reason"] == "flushed"]
    # At each sample the queue holds, has sent and has dropped the same, but for packets at the edge of a step.
    assert sorted(rows["sim"])[-160:] == sorted(rows["linux"])[-160:]
    for at, ours in rows["sim"].items():
        if at > 0:
            assert rows["linux"][at] == pytest.approx(ours, abs=3), at
    assert [at for at, _ in flushed["linux"]] == pytest.approx([3, 6, 7])
    for (at, linux), (_, ours) in zip(flushed["linux"], flushed["sim"], strict=True):
        assert linux == pytest.approx(ours, abs=3), at
    # Each of the three times it held something; and off, nothing.
    assert flushed["sim"][0][1] > 90
    assert rows["linux"][4.0] == rows["linux"][3.0] == (0, *rows["linux"][3.0][1:])


def test_a_netem_is_changed_the_same_on_both_engines(tmp_path: Path) -> None:
    """The delays that events make are in the probe's and the flow's round trips; a rate adds the time of a packet."""
    file = tmp_path / "netems.toml"
    file.write_text(NETEMS)
    parts = [(1, 4, 20), (5, 7, 60), (8, 10, 45), (10.5, 13, 30), (14, 15.9, 45)]
    means: dict[str, list[tuple[float, ...]]] = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        run = sojourn.open(tmp_path / engine)[0]
        flows, pings = run.table("flows").filter(pl.col("flow") == "bulk"), run.table("pings")
        means[engine] = []
        for start_s, end_s, base in parts:
            within = pl.col("t_s").is_between(start_s, end_s)
            of = [(pings, "rtt_s"), (flows, "srtt_s"), (flows, "rtt_s")]
            probe, smoothed, latest = (mean(table.filter(within), name) * 1e3 for table, name in of)
            assert base < probe < base + 2, (engine, start_s, probe)
            # The stamps do not show how long a netem with a rate holds a packet, so nobody knows when it was sent.
            assert math.isnan(latest) == (engine == "linux" and base == 45), (start_s, latest)
            means[engine].append((probe, smoothed, latest))
    for linux, ours in zip(means["linux"], means["sim"], strict=True):
        for found, expected, most in zip(linux, ours, [0.3, 1.5, 2.5], strict=True):
            assert math.isnan(found) or found == pytest.approx(expected, abs=most), means


def test_a_host_queue_of_one_flow_is_the_same_on_both_engines(tmp_path: Path) -> None:
    file = tmp_path / "host-queues.toml"
    file.write_text(HOST_QUEUES)
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        rows = sojourn.open(tmp_path / engine)[0].table("flows").filter(pl.col("t_s") > 4)
        found[engine] = {}
        for flow in ["shaped", "paced", "plain", "back"]:
            own = rows.filter(pl.col("flow") == flow)
            found[engine][flow] = mean(own, "goodput_bps") / 1e6, mean(own, "srtt_s") * 1e3
    # The bucket holds its own flow for 10 ms and more, and not the acknowledgements of the flow that comes back.
    assert found["linux"]["shaped"] == pytest.approx(found["sim"]["shaped"], rel=0.005)
    for flow, (goodput, srtt) in found["linux"].items():
        assert goodput == pytest.approx(found["sim"][flow][0], rel=0.05), found
        assert srtt == pytest.approx(found["sim"][flow][1], rel=0.1), found


@pytest.mark.parametrize("rule", ["dscp_to_notect", "bleach_ecn"])
def test_a_rewriter_knows_version_6_on_both_engines(tmp_path: Path, rule: str) -> None:
    file = tmp_path / "no-echo.toml"
    file.write_text(NO_ECHO.replace("RULE", rule))
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        last = sojourn.open(tmp_path / engine)[0].table("flows").group_by("flow").last()
        flows = {row["flow"]: row for row in last.iter_rows(named=True)}
        assert flows["six"]["ce"] == 0, engine
        assert flows["four"]["ce"] > 5, engine
        assert flows["six"]["retransmits"] > 5, engine
        assert flows["four"]["retransmits"] == 0, engine


def test_a_policer_marks_the_same_on_both_engines(tmp_path: Path) -> None:
    file = tmp_path / "policed.toml"
    file.write_text(POLICED)
    counted = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        rows = sojourn.open(tmp_path / engine)[0].table("totals")
        counters = zip(rows["subject"], rows["name"], rows["value"], strict=True)
        counted[engine] = {name: value for subject, name, value in counters if subject == "bottleneck.down.police"}
    ours, linux = counted["sim"], counted["linux"]
    # The same datagrams come but for the last; who has tokens is a matter of microseconds, how many there are is not.
    assert linux["entered"] == pytest.approx(ours["entered"], abs=3)
    assert ours["marked"] > 2000
    assert ours["dropped"] > 500
    found, expected = (both["marked"] + both["dropped"] for both in (linux, ours))
    assert found == pytest.approx(expected, abs=5)
    for name in ["marked", "dropped"]:
        assert linux[name] == pytest.approx(ours[name], rel=0.05), name


def datagrams(capture: Path, dscp: int) -> list[tuple[int, int, int]]:
    """When each UDP datagram with this DSCP passed, in nanoseconds, how long it was on the wire, and its TOS byte."""
    data = capture.read_bytes()
    found, at = [], 24
    while at < len(data):
        seconds, nanos, kept, length = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + kept]
        if packet[23] == socket.IPPROTO_UDP and packet[15] >> 2 == dscp:
            found.append((seconds * 10**9 + nanos, length, packet[15]))
        at += 16 + kept
    return found


def test_both_engines_send_the_same_call(tmp_path: Path) -> None:
    file = tmp_path / "call.toml"
    file.write_text(CALL)
    seen = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine), "--pcap", "--seeds", "1")
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        (server,) = (tmp_path / engine).rglob("server.pcap")
        (client,) = (tmp_path / engine).rglob("client.pcap")
        seen[engine] = [datagrams(server, 46), datagrams(client, 10)]
    for ours, linux in zip(seen["sim"], seen["linux"], strict=True):
        assert len(ours) == len(linux) > 500
        assert [d[1:] for d in ours] == [d[1:] for d in linux]
        # Hosts let a packet go up to 6 us late, on either engine, and a group of segments before it takes a few.
        assert max(abs(a[0] - b[0]) for a, b in zip(ours, linux, strict=True)) < 10_000


def test_applications_do_the_same_on_both_engines(tmp_path: Path) -> None:
    file = tmp_path / "applications.toml"
    file.write_text(APPLICATIONS)
    runs = {}
    for engine in ["sim", "linux"]:
        process = start("run", str(file), "--engine", engine, "-o", str(tmp_path / engine))
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        runs[engine] = sojourn.open(tmp_path / engine)[0]
    ours, linux = runs["sim"], runs["linux"]
    # The same connections, opened when both say; the time that they take is the transports'.
    a, b = ours.table("completions"), linux.table("completions")
    assert a["bytes"].to_list() == b["bytes"].to_list()
    assert len(a) == 30
    assert max(abs(x - y) for x, y in zip(a["t_s"], b["t_s"], strict=True)) < 1e-5
    assert statistics.median(b["duration_s"]) == pytest.approx(statistics.median(a["duration_s"]), rel=0.1)
    # The same segments, as far as the same levels are chosen: there is room for both.
    a, b = ours.table("segments"), linux.table("segments")
    assert abs(len(a) - len(b)) <= 1
    assert len(a) > 4
    for column in ["number", "bitrate_bps", "bytes"]:
        assert all(x == y for x, y in zip(a[column], b[column], strict=False)), column
    a, b = ours.table("pings"), linux.table("pings")
    assert abs(len(a) - len(b)) <= 1
    for column in ["rtt_s", "owd_s", "owd_back_s"]:
        x, y = ([value for value in table[column] if not math.isnan(value)] for table in (a, b))
        assert statistics.median(y) == pytest.approx(statistics.median(x), rel=0.05), column
    for run in (ours, linux):
        rows = run.table("flows")
        times = zip(rows["flow"], rows["t_s"], rows["goodput_bps"], strict=True)
        slow = [goodput for flow, at, goodput in times if flow == "slow" and at > 2]
        assert statistics.mean(slow) == pytest.approx(2e6, rel=0.02)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_guest_outlives_whoever_started_it(tmp_path: Path, how: signal.Signals) -> None:
    process = start("try", "--engine", "linux", "--duration", "600s", "cubic", "reno")
    deadline = time.monotonic() + 60
    while len(guests := descendants(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert len(guests) >= 2, "the kernel and its user space"
    os.kill(process.pid, how)
    process.communicate(timeout=60)
    assert ends(guests, 20)


def test_bits_do_not_depend_on_how_busy_the_machine_is(tmp_path: Path) -> None:
    def bits() -> str:
        process = start(
            "try", "--engine", "linux", "--duration", "10s", "--qdisc", "pie ecn", "--json", "cubic", "reno"
        )
        output, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
        return output

    idle = bits()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        assert bits() == idle
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_what_a_kernel_alone_has_runs_as_anything_else(tmp_path: Path) -> None:
    """The simulator has neither Westwood nor hhf; a kernel that has them knows it itself."""
    kernel = next((k for k in kernels() if {"westwood"} <= set(k.ccs) and "hhf" in k.qdiscs), None)
    if kernel is None:
        pytest.skip("no kernel here has westwood and hhf")
    file = tmp_path / "own.toml"
    file.write_text(
        CALL.replace('qdisc = "codel"', 'qdisc = "hhf"')
        .replace('cc = "cubic"', 'cc = "westwood"')
        .replace("linux-7.3", kernel.stack)
    )
    words = ("run", str(file), "--engine", "linux", "--kernel", kernel.label, "-o", str(tmp_path / "results"))
    output, said = start(*words, "--json").communicate(timeout=300)
    assert json.loads(output)["cells"][0]["engine"] == f"linux:{kernel.label}", said
    [record] = Folder.open(tmp_path / "results").records()
    assert f"kernel {kernel.id}, plan " in record.brief.version
    _, said = start("run", str(file), "-o", str(tmp_path / "sim")).communicate(timeout=60)
    assert 'the simulator has no congestion control "westwood"' in said
    assert "--engine linux" in said


@pytest.mark.skipif(not any(k.tree for k in kernels()), reason="no tree of one's own has been built")
def test_a_kernel_of_ones_own_repeats_its_runs(tmp_path: Path) -> None:
    """All of its congestion controls at once, twice: the same numbers to the last digit."""
    for kernel in (k for k in kernels() if k.tree):
        answers = []
        for _ in range(2):
            words = ("try", *kernel.ccs, "--engine", "linux", "--kernel", kernel.id, "--stack", kernel.stack)
            output, said = start(*words, "--duration", "5s", "--json").communicate(timeout=300)
            assert output, said
            answers.append(output)
        assert answers[0] == answers[1]
        [queue] = json.loads(answers[0])["queues"]
        rates = {flow["flow"]: flow["goodput_mbps"] for flow in queue["flows"] if flow["kind"] == "tcp"}
        assert set(rates) == set(kernel.ccs)
        assert min(rates.values()) > 0.0


FIFO = """\
from sojourn.custom import Aqm


class Fifo(Aqm):
    def __init__(self):
        self.held = []

    def enqueue(self, packet, queue):
        if len(self.held) == 50:
            packet.drop("tail")
        else:
            self.held.append(packet)

    def dequeue(self, queue):
        return self.held.pop(0) if self.held else None
"""
ROUND = """\
[experiment]
name = "round"
duration = "6s"
stack = "linux-7.3"

[[hop]]
name = "bottleneck"
by = "sojourn"
rate = "20mbit"
rtt = "20ms"
qdisc = "python:own.py:Fifo"

[[flow]]
name = "kernel"
cc = "cubic"

[[flow]]
name = "model"
cc = "bbr3"
by = "sojourn"
"""


@pytest.mark.skipif(
    not any("CONFIG_VIRTIO_UML=y" in (k.folder / "config").read_text() for k in kernels() if k.stack == "linux-7.3"),
    reason="no kernel of 7.3 with network cards has been built: sojourn linux build",
)
def test_a_queue_in_python_takes_flows_of_a_kernel_and_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FIFO)
    (tmp_path / "round.toml").write_text(ROUND)
    words = ("run", str(tmp_path / "round.toml"), "--engine", "linux", "-o", str(tmp_path / "results"), "--json")
    output, said = start(*words).communicate(timeout=120)
    assert output, said
    [run] = sojourn.open(tmp_path / "results")
    rates = dict(run.table("flows").group_by("flow").agg(pl.col("goodput_bps").mean()).iter_rows())
    assert rates["kernel"] > 2e6
    assert rates["model"] > 2e6
    assert 17e6 < rates["kernel"] + rates["model"] < 19.5e6
    drops = run.table("queue_signals").filter(pl.col("queue") == "bottleneck.down.qdisc")["reason"].unique().to_list()
    assert drops == ["tail"]


def test_a_claim_is_judged_with_a_kernels_tcp_in_a_queue_that_no_kernel_has(tmp_path: Path) -> None:
    words = ["run", "sce-l4s-ect1/erased", "--only", "rtt=20ms", "--only", "marks=erased", "--seeds", "6"]
    words += ["--engine", "linux", "--real-tcp", "cubic", "-o", str(tmp_path / "results")]
    ran = subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    runs = sojourn.results(tmp_path / "results")
    by = {flow.name: (flow["by"], flow["stack"]) for flow in runs[0].scenario.flows}
    assert by["cubic"] == ("kernel", "linux-7.3")
    assert by["sce"] == ("sojourn", "sce-2020-03")
    (claim,) = (own for own in registry() if own.id == "ECT1-13")

    def verdict(engine: str) -> Verdict:
        (judged,) = evaluate([claim], runs, engine=engine, seeds=6)
        return next(cell.verdict for cell in judged.parts[0].cells if cell.title == "20ms")

    assert verdict("linux") is Verdict.REPRODUCED
    assert verdict("sim") is Verdict.NOT_RUN
