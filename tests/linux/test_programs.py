"""Programs of the machine as a flow: the command's output, and their pages."""

import json
import subprocess
import sys
from pathlib import Path

import dpkt
import pytest

from sojourn.core.store import Folder
from sojourn.linux.kernels import kernels

_THERE = any("CONFIG_CGROUP_PIDS=y" in (k.folder / "config").read_text().splitlines() for k in kernels())

pytestmark = pytest.mark.skipif(not _THERE, reason="no kernel for programs has been built: sojourn linux build")

PORT = 80
BYTES = 2_000_000

SERVE = """\
import socket
s = socket.socket()
s.bind(("0.0.0.0", 80))
s.listen()
c, _ = s.accept()
c.recv(10)
c.sendall(bytes(2_000_000))
"""

FETCH = """\
import socket
s = socket.create_connection(("server", 80))
s.send(b"go")
n = 0
while part := s.recv(1 << 16):
    n += len(part)
print("got", n)
"""


def sojourn(*words: str) -> str:
    ran = subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(name="asked")
def _asked(tmp_path: Path) -> list[str]:
    (tmp_path / "serve.py").write_text(SERVE)
    (tmp_path / "fetch.py").write_text(FETCH)
    words = ["try", "--engine", "linux", "--rate", "20mbit", "--duration", "3s"]
    for name in ["serve.py", "fetch.py"]:
        words += ["--file", str(tmp_path / name)]
    return [*words, "--server", "/usr/bin/python3 serve.py"]


CLIENT = ["--", "/usr/bin/python3", "fetch.py"]


def test_a_program_is_tried(asked: list[str]) -> None:
    (queue,) = json.loads(sojourn(*asked, "--json", *CLIENT))["queues"]
    (flow,) = [flow for flow in queue["flows"] if flow["kind"] == "program"]
    # 2 MB of payload at 20 Mbit/s, 1514 bytes for 1448 of them, and a few round trips of 20 ms.
    assert 0.8365 < flow["program_s"] < 1.0
    assert 20 < flow["rtt_ms"] < 40
    said = sojourn(*asked, *CLIENT)
    assert "python3: got 2000000" in said
    assert "python3 took" in said


def test_a_program_has_a_page(asked: list[str], tmp_path: Path) -> None:
    file, results = tmp_path / "program.toml", tmp_path / "results"
    sojourn(*asked, "--save", str(file), *CLIENT)
    sojourn("run", str(file), "--engine", "linux", "-o", str(results))
    sojourn("report", str(results))
    pages = list(results.rglob("*.html"))
    assert any("python3" in page.read_text() for page in pages), pages


def test_a_programs_packets_are_captured_and_nothing_changes(asked: list[str], tmp_path: Path) -> None:
    def answer(*words: str) -> list[object]:
        return json.loads(sojourn(*asked, "--json", *words, *CLIENT))["queues"]

    packets = tmp_path / "packets"
    assert answer("--pcap", str(packets)) == answer()
    arrived = {}
    for name in ("server", "bottleneck.left", "bottleneck.right", "client"):
        opened, payload = {}, {}
        with (packets / f"{name}.pcap").open("rb") as file:
            for at, frame in dpkt.pcap.Reader(file):
                ip = dpkt.ethernet.Ethernet(frame).data
                if not isinstance(ip.data, dpkt.tcp.TCP):
                    continue
                if ip.data.flags & dpkt.tcp.TH_SYN:
                    opened[ip.data.sport == PORT] = at
                if ip.data.sport == PORT:
                    # Headers alone are kept: the sizes are the headers' own.
                    payload[ip.data.seq] = ip.len - 4 * (ip.hl + ip.data.off)
        # The client opens it, the server answers, and every byte passes each place.
        assert opened[False] < opened[True]
        assert sum(payload.values()) == BYTES
        arrived[name] = opened[True]
    # A bridge takes no time, the queue and the delay before it do.
    assert arrived["server"] == arrived["bottleneck.left"] < arrived["bottleneck.right"] <= arrived["client"]


AXIS = """\
[experiment]
name = "one-fails"
duration = "2s"
warmup = "0s"
stack = "linux-7.3"
seeds = 1

[axis.status]
"good" = { flow.page.program.client = ["sh", "-c", "exit 0"] }
"bad" = { flow.page.program.client = ["sh", "-c", "echo cannot; exit 3"] }
"hangs" = { flow.page.program.client = ["sleep", "1000"] }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
qdisc = "pfifo"

[[flow]]
name = "page"
program = { client = ["true"], ready = "0s", within = "1s" }
"""


def test_a_failed_run_leaves_the_others(tmp_path: Path) -> None:
    file, results = tmp_path / "axis.toml", tmp_path / "results"
    file.write_text(AXIS)
    words = [sys.executable, "-m", "sojourn", "run", str(file), "--engine", "linux", "-o", str(results)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "exit status 3" in ran.stderr
    assert "cannot" in ran.stderr
    # The one that hangs.
    assert "and 1 more run" in ran.stderr
    assert "Traceback" not in ran.stderr
    (run,) = Folder.open(results).records()
    assert run.table("flows").height
