"""Mahimahi's shells: its words are hops, and a command runs behind them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.errors import UsageError
from sojourn.quick.mahimahi import Chain

UP, DOWN = "up.trace", "down.trace"


@pytest.fixture(autouse=True)
def _traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (UP, DOWN):
        (tmp_path / name).write_text("".join(f"{ms}\n" for ms in range(1, 101)))


def hops(*words: str) -> list[dict[str, object]]:
    chain, command = Chain.parse([*words, "curl", "server"], "60s")
    assert command == ["curl", "server"]
    return chain.hops()


def test_each_shell_is_a_hop_the_outermost_first() -> None:
    found = hops("mm-delay", "20", "mm-loss", "downlink", "0.02", "mm-link", UP, DOWN, "--")
    assert [hop["name"] for hop in found] == ["delay", "loss", "bottleneck"]
    assert found[0]["rtt"] == "40ms"
    assert found[1]["down"] == {"netem": ["loss 2%"]}
    traces = [found[2][side]["trace"] for side in ("up", "down")]  # type: ignore[index] # they are tables
    assert traces == [str(Path(name).resolve()) for name in (UP, DOWN)]


@pytest.mark.parametrize(
    ("arguments", "qdisc"),
    [
        ([], "pfifo limit 1000000"),
        (["--uplink-queue=droptail", "--uplink-queue-args=packets=50"], "pfifo limit 50"),
        (["--uplink-queue", "droptail", "--uplink-queue-args", "bytes=30000"], "bfifo limit 30000"),
        (
            ["--uplink-queue=codel", "--uplink-queue-args=packets=9, target=5, interval=100"],
            "codel limit 9 target 5ms interval 100ms noecn",
        ),
        (
            ["--uplink-queue=pie", "--uplink-queue-args=packets=9,qdelay_ref=20,max_burst=150"],
            "pie limit 9 target 20ms",
        ),
        (["--meter-all"], "pfifo limit 1000000"),
    ],
)
def test_a_queue_is_in_tc_s_words(arguments: list[str], qdisc: str) -> None:
    [hop] = hops("mm-link", UP, DOWN, *arguments, "--")
    assert hop["up"]["qdisc"] == qdisc  # type: ignore[index] # it is a table
    assert hop["down"]["qdisc"] == "pfifo limit 1000000"  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mm-delay", "needs a delay"),
        ("mm-delay 20ms", "whole number of milliseconds"),
        ("mm-loss up 0.1", "neither uplink nor downlink"),
        ("mm-loss uplink 10", "from 0 to 1"),
        ("mm-link up.trace", "two traces"),
        ("mm-link up.trace dwon.trace", "there is no trace dwon.trace"),
        ("mm-link up.trace down.trace --once", "--once has no counterpart"),
        ("mm-link up.trace down.trace --uplink-log=x", "--uplink-log has no counterpart"),
        ("mm-link up.trace down.trace --uplink-queu=x", "--uplink-queue"),
        ("mm-link up.trace down.trace --uplink-queue=drophead", "drophead has no counterpart"),
        ("mm-link up.trace down.trace --uplink-queue=droptial", "droptail"),
        ("mm-link up.trace down.trace --uplink-queue=droptail", "needs packets"),
        ("mm-link up.trace down.trace --uplink-queue=droptail --uplink-queue-args=packet=3", "packets"),
        ("mm-link up.trace down.trace --uplink-queue=codel --uplink-queue-args=packets=3", "target and interval"),
    ],
)
def test_a_mistake_is_named(words: str, said: str) -> None:
    with pytest.raises(UsageError) as wrong:
        Chain.parse(words.split(), "60s")
    assert said in f"{wrong.value.message} {wrong.value.help}"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_command_runs_behind_a_chain(tmp_path: Path) -> None:
    (tmp_path / "payload").write_bytes(b"x" * 50_000)
    command = [sys.executable, "-m", "sojourn", "mm-delay", "-o", "found"]
    server = f"{sys.executable} -m http.server 8000 --bind 10.9.9.1 --directory {tmp_path}"
    script = "until curl -s -o got http://$MAHIMAHI_BASE:8000/payload; do sleep 0.2; done"
    words = ["--server", server, "20", "mm-loss", "uplink", "0", "mm-link", UP, DOWN, "--", "sh", "-c", script]
    done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    if "namespaces" in done.stderr and done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "got").read_bytes() == (tmp_path / "payload").read_bytes()
    assert (tmp_path / "found" / "manifest.json").exists()
