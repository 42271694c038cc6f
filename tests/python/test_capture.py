"""Captures, read by programs that are not ours: dpkt always, tshark where it is installed."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dpkt
import polars as pl
import pytest

from sojourn import _core
from sojourn.core.store import Folder
from sojourn.experiments.experiment import Experiment, parse
from sojourn.views.results import results
from sojourn.views.run import Run

TEXT = """\
[experiment]
name = "wire"
duration = "5s"
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "codel limit 80 ecn"
[[flow]]
name = "cubic"
cc = "cubic"
ecn = "rfc3168"
[[flow]]
name = "reno"
cc = "reno"
ecn = "off"
[[flow]]
name = "prague"
cc = "prague"
ecn = "accecn"
"""

WHOLE = 65_535


def experiment() -> Experiment:
    return parse(TEXT, "wire.toml")


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    folder = tmp_path_factory.mktemp("wire")
    [run] = experiment().run(folder / "r", pcap=WHOLE)
    [path] = (folder / "r" / "runs").iterdir()
    return run, path


def total(run: Run, subject: str, name: str) -> float:
    row = run.totals.filter((pl.col("subject").cast(pl.String) == subject) & (pl.col("name").cast(pl.String) == name))
    return float(row["value"].item())


def test_dpkt_reads_it_and_counts_the_same(captured: tuple[Run, Path]) -> None:
    run, path = captured
    retransmitted: Counter[int] = Counter()
    marked: Counter[int] = Counter()
    sums_wrong = 0
    for name in ("server", "client"):
        highest: dict[int, int] = {}
        with (path / f"{name}.pcap").open("rb") as file:
            for _, frame in dpkt.pcap.Reader(file):
                ip = dpkt.ethernet.Ethernet(frame).data
                if not isinstance(ip.data, dpkt.tcp.TCP):
                    continue
                tcp = ip.data
                stated, ip.sum, tcp.sum = (ip.sum, tcp.sum), 0, 0
                again = dpkt.ip.IP(bytes(ip))
                sums_wrong += (again.sum, again.data.sum) != stated
                flow = tcp.dport - 50_000
                if flow < 0 or not len(tcp.data):
                    continue
                end = (tcp.seq + len(tcp.data)) & 0xFFFFFFFF
                before = highest.get(flow)
                behind = before is not None and (end - before) % 2**32 not in range(1, 2**31)
                if name == "server":
                    retransmitted[flow] += behind
                else:
                    marked[flow] += ip.tos & 3 == 3
                if not behind:
                    highest[flow] = end
    assert sums_wrong == 0
    for i, flow in enumerate(("cubic", "reno", "prague")):
        assert retransmitted[i] == total(run, flow, "retransmits"), flow
        assert marked[i] == total(run, flow, "ce_packets"), flow
    assert sum(retransmitted.values()) > 0
    assert sum(marked.values()) > 0


def tshark(*words: object) -> str:
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed (apt install tshark): dpkt alone has read the captures")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True, timeout=300)
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("Running as user")]
    assert not said, said
    return done.stdout


CHECKS = ("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE")


APPLICATIONS = """\
[experiment]
name = "applications"
duration = "8s"
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
qdisc = "codel limit 60 ecn"
[[flow]]
name = "cubic"
cc = "cubic"
[[flow]]
name = "short"
short_flows = { mean_interval = "100ms", count = 40, length_p5 = "10k", length_p95 = "100k" }
[[flow]]
name = "stream"
ecn = "accecn"
streaming = { profile = "live-sd" }
"""


@pytest.fixture(scope="module")
def applications(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    folder = tmp_path_factory.mktemp("applications")
    [run] = parse(APPLICATIONS, "applications.toml").run(folder / "r", pcap=WHOLE)
    [path] = (folder / "r" / "runs").iterdir()
    return run, path


def test_tshark_reads_applications_without_a_warning(applications: tuple[Run, Path]) -> None:
    """Each connection of the short flows is one stream to it, opened and never closed."""
    run, path = applications
    test_tshark_reads_it_without_a_warning(applications)
    said = tshark("-r", path / "server.pcap", "-T", "fields", "-e", "tcp.stream", "-Y", "tcp.flags.syn==1")
    assert len(set(said.split())) == total(run, "short", "connections") + 2
    assert not tshark("-r", path / "server.pcap", "-Y", "tcp.flags.fin==1 || tcp.analysis.zero_window")
    # What answers is the server: it sends downwards.
    again = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.spurious_retransmission"
    counted = tshark("-r", path / "server.pcap", "-Y", f"({again}) && tcp.srcport < 50000 && tcp.len > 0")
    assert len(counted.splitlines()) >= total(run, "short", "retransmits")


def test_tshark_reads_version_6_without_a_warning(tmp_path: Path) -> None:
    [run] = parse(TEXT.replace("[experiment]", "[experiment]\nip = 6"), "wire.toml").run(tmp_path / "r", pcap=WHOLE)
    [path] = (tmp_path / "r" / "runs").iterdir()
    test_tshark_reads_it_without_a_warning((run, path))
    server = path / "server.pcap"
    assert not tshark("-r", server, "-Y", "!ipv6")
    for i, payload in enumerate(("1428", "1428", "1416")):
        # Prague alone negotiates Accurate ECN here; its option has 12 bytes on linux-7.3.
        full = f"tcp.dstport=={50_000 + i} && tcp.len > 1000"
        assert set(tshark("-r", server, "-Y", full, "-T", "fields", "-e", "tcp.len").split()) == {payload}
    assert not tshark("-r", server, "-Y", "icmpv6.checksum.status == 0")
    assert tshark("-r", server, "-Y", "icmpv6.type == 128")


def test_tshark_reads_it_without_a_warning(captured: tuple[Run, Path]) -> None:
    """What it warns of is loss at the most, and that only where there is loss: behind the queue."""
    _, path = captured
    # It warns of the duplicate that a D-SACK tells of (RFC 2883), too.
    lost = "tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment || tcp.analysis.out_of_order"
    lost += " || tcp.options.sack.dsack"
    for file in sorted(path.glob("*.pcap")):
        bad = "ip.checksum.status==0 || tcp.checksum.status==0 || _ws.malformed || icmp.checksum.status==0"
        assert not tshark("-r", file, *CHECKS, "-Y", bad), file.name
        allowed = f" && !({lost})"
        warned = tshark("-r", file, *CHECKS, "-Y", f"_ws.expert.severity >= 6291456{allowed}")
        assert not warned, f"{file.name}: {warned[:2000]}"


def test_tshark_counts_the_same(captured: tuple[Run, Path]) -> None:
    """At the server, where a sender's packets leave in order, whatever tshark takes for out of order is sent again."""
    run, path = captured
    again = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    for i, flow in enumerate(("cubic", "reno", "prague")):
        mine = f"tcp.dstport=={50_000 + i} && tcp.len>0"
        sent = tshark("-r", path / "server.pcap", "-Y", f"{mine} && ({again})", "-T", "fields", "-e", "frame.number")
        assert len(sent.split()) == total(run, flow, "retransmits"), flow
        marked = tshark(
            "-r", path / "client.pcap", "-Y", f"{mine} && ip.dsfield.ecn==3", "-T", "fields", "-e", "frame.number"
        )
        assert len(marked.split()) == total(run, flow, "ce_packets"), flow


def test_what_tc_says_is_kept(captured: tuple[Run, Path]) -> None:
    run, path = captured
    record = Folder.open(path.parents[1]).named(path.name)
    before, after = (record.text(f"{when}.log").decode() for when in ("setup", "teardown"))
    assert before.count("\n# ") + 1 == after.count("\n# ") + 1 == 4, "a delay and a queue each way"
    assert "# bottleneck.down.qdisc\nqdisc htb " in after
    assert "\nqdisc codel limit 80p " in after
    assert f" {total(run, 'bottleneck.down.qdisc', 'left'):.0f} pkt (dropped " in after


def test_captures_are_added_to_a_run_that_is_there(tmp_path: Path) -> None:
    [bare] = experiment().run(tmp_path / "r")
    tables = {p: p.read_bytes() for p in (tmp_path / "r").glob("segments/*")}
    experiment().run(tmp_path / "r", pcap=_core.SNAP_LEN)
    assert {p: p.read_bytes() for p in tables} == tables
    [folder] = (tmp_path / "r" / "runs").iterdir()
    names = sorted(p.name for p in folder.glob("*.pcap"))
    assert names == ["bottleneck.left.pcap", "bottleneck.right.pcap", "client.pcap", "server.pcap"]
    written = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    experiment().run(tmp_path / "r", pcap=_core.SNAP_LEN)
    assert {p: p.stat().st_mtime_ns for p in folder.iterdir()} == written
    assert len(results(tmp_path / "r")) == 1
    assert bare.label == results(tmp_path / "r")[0].label


def test_the_command_line(tmp_path: Path) -> None:
    def sojourn(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sojourn", *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    file = tmp_path / "wire.toml"
    file.write_text(TEXT)
    done = sojourn("run", file, "-o", tmp_path / "r", "--pcap", "--snap-len", "96")
    assert done.returncode == 0, done.stderr
    [server] = tmp_path.glob("r/runs/*/server.pcap")
    with server.open("rb") as opened:
        reader = dpkt.pcap.Reader(opened)
        assert (reader.snaplen, max(len(frame) for _, frame in reader)) == (96, 96)
    tried = sojourn("try", "cubic", "--duration", "2s", "--pcap", tmp_path / "p")
    assert tried.returncode == 0, tried.stderr
    assert len(list((tmp_path / "p").iterdir())) == 4
    short = sojourn("try", "cubic", "--duration", "2s", "--snap-len", "96")
    assert short.returncode == 2
    assert "add --pcap" in short.stderr
    (tmp_path / "taken").write_text("")
    taken = sojourn("try", "cubic", "--pcap", tmp_path / "taken" / "x")
    assert (taken.returncode, "cannot create" in taken.stderr) == (2, True)
