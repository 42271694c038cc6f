"""A plan states the needs of runs before they are made, and runs that cannot fit are refused."""

import json
import math
from pathlib import Path

import pytest

import sojourn as package
from sojourn import runner
from sojourn.errors import Refused
from sojourn.runner import foresight
from test_cli import sojourn

DATAGRAMS = """\
[experiment]
name     = "wide"
duration = "10s"
warmup   = "0s"
ping     = false

[[hop]]
name  = "b"
rate  = "{rate}"
rtt   = "10s"
qdisc = "pfifo"

[[flow]]
name = "datagrams"
udp  = {{ rate = "{rate}", payload = 1250 }}
"""


def file(tmp_path: Path, rate: str) -> Path:
    path = tmp_path / f"{rate}.toml"
    path.write_text(DATAGRAMS.format(rate=rate))
    return path


def test_a_plan_is_worked_out_by_hand(tmp_path: Path) -> None:
    """10 Mbit/s in datagrams of 1250 bytes are 1000 a second for 10 s, all on their way at the end."""
    keys = package.load(file(tmp_path, "10mbit")).run_keys
    found = runner.needs(keys, engine="sim", threads=2)
    assert found.packets == pytest.approx(10_000)
    assert found.simulated_s == 10
    assert found.expected_s(2) == found.cpu_s, "one run is made by one core"
    assert foresight.PROCESS_BYTES < found.memory_bytes < foresight.PROCESS_BYTES + 20e6
    twice = runner.needs([*keys, *keys], engine="sim", threads=2)
    assert twice.cpu_s == pytest.approx(2 * found.cpu_s)
    assert twice.expected_s(2) == pytest.approx(found.cpu_s)
    alone = runner.needs([*keys, *keys], engine="sim", threads=1)
    assert alone.memory_bytes == found.memory_bytes, "one is made after the other"
    assert twice.memory_bytes - alone.memory_bytes == pytest.approx(found.memory_bytes - foresight.PROCESS_BYTES)


def test_the_linux_engine_foresees_its_runs(tmp_path: Path) -> None:
    """A guest boots in half a second, takes 6.2 µs a packet, and is asked of each flow in each second: 0.9 ms."""
    keys = package.load(file(tmp_path, "10mbit")).run_keys
    found = runner.needs(keys, engine="linux", threads=1)
    assert found.packets == pytest.approx(10_000)
    assert found.cpu_s == pytest.approx(0.5 + 10_000 * 6.2e-6 + 10 * 0.9e-3)
    assert found.memory_bytes > foresight.PROCESS_BYTES + 40e6 + 10_000 * 2816


def test_what_a_program_has_to_say_nobody_foresees() -> None:
    text = (
        '[experiment]\nname = "p"\nduration = "1s"\n\n[[hop]]\nname = "b"\nrate = "10mbit"\nrtt = "10ms"\n'
        'qdisc = "pfifo"\n\n[[flow]]\nname = "page"\nprogram = { client = ["curl"] }\n'
    )
    keys = package.parse(text, "p.toml").run_keys
    assert math.isnan(runner.needs(keys, engine="linux", threads=1).cpu_s)


def test_a_dry_run_says_what_is_needed(tmp_path: Path) -> None:
    small = str(file(tmp_path, "10mbit"))
    output = sojourn("run", small, "--dry-run").stdout
    assert "10 k packets" in output
    assert "These are estimates." in output
    planned = json.loads(sojourn("run", small, "--dry-run", "--json").stdout)
    [own] = planned["experiments"]
    assert own["packets"] == pytest.approx(10_000)
    assert own["expected_cpu_s"] > 0
    assert own["memory_bytes"] == planned["memory_bytes"] > foresight.PROCESS_BYTES
    assert own["disk_bytes"] > 0


def test_what_cannot_fit_is_refused_by_name(tmp_path: Path) -> None:
    refused = sojourn("run", str(file(tmp_path, "1000gbit")), "-o", str(tmp_path / "r"))
    assert refused.returncode == 2
    assert "the run wide#1 would need about 1" in refused.stderr
    assert "this machine has" in refused.stderr
    assert "packets on their way" in refused.stderr
    assert not list((tmp_path / "r").glob("runs/*"))
    given = sojourn("run", str(file(tmp_path, "10mbit")), "-o", str(tmp_path / "r"), "--memory", "0.1")
    assert given.returncode == 2
    assert "it may take 100 MB" in given.stderr
    fits = sojourn("run", str(file(tmp_path, "10mbit")), "-o", str(tmp_path / "r"), "--memory", "1")
    assert fits.returncode == 0, fits.stderr


def test_python_refuses_what_cannot_fit_too(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"would need about 1\d\d GB"):
        package.load(file(tmp_path, "1000gbit")).run(quiet=True)
    with pytest.raises(Refused, match="it may take 100 MB"):
        package.load(file(tmp_path, "10mbit")).run(quiet=True, memory=100e6)


def test_fewer_at_a_time_may_fit(tmp_path: Path) -> None:
    keys = package.load(file(tmp_path, "1gbit"), seeds=4).run_keys
    one, four = (runner.needs(keys, engine="sim", threads=n).memory_bytes for n in (1, 4))
    most = foresight.PROCESS_BYTES + 2.5 * (one - foresight.PROCESS_BYTES)
    assert one < most < four
    with pytest.raises(Refused, match="4 runs at a time would need") as refused:
        runner.refuse_what_cannot_fit(keys, engine="sim", threads=4, most_bytes=most)
    assert refused.value.help == "make fewer at a time: 2 fit (--threads 2)"
    runner.refuse_what_cannot_fit(keys, engine="sim", threads=2, most_bytes=most)


def test_many_flows_are_what_needs_the_memory() -> None:
    text = (
        '[experiment]\nname = "crowd"\nduration = "1s"\nping = false\n\n'
        '[[hop]]\nname = "b"\nrate = "10mbit"\nrtt = "10ms"\nqdisc = "pfifo"\n\n[[flow]]\nname = "f"\ncount = 1000\n'
    )
    keys = package.parse(text, "crowd.toml", settings=["experiment.sample_interval=1s"]).run_keys
    with pytest.raises(Refused) as refused:
        runner.refuse_what_cannot_fit(keys, engine="sim", threads=1, most_bytes=100e6)
    assert str(refused.value.help).startswith("its 1,000 flows take 10 MB of it")


def test_numbers_for_people() -> None:
    assert [foresight.count(n) for n in (0, 999, 1000, 9_960_000, 2e15)] == ["0", "999", "1.0 k", "10 M", "2000 T"]
    assert foresight.size(math.nan) == "–"
