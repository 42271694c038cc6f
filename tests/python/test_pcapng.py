"""A run's captures as one file: every packet of every capture, its flow, and its fate in each queue."""

import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn
from sojourn.errors import StoreError
from sojourn.interop.pcapng import export_folder

ONE = """
[experiment]
name = "one"
duration = "3s"
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "codel ecn"
[[flow]]
name = "cubic"
[[flow]]
name = "reno"
cc = "reno"
ecn = "off"
[[flow]]
name = "up"
direction = "up"
udp = { rate = "1mbit" }
"""


def blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """By draft-ietf-opsawg-pcapng, section 3.1: type, length, body, length again."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        yield kind, content[at + 8 : at + length - 4]
        at += length


def options(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            return
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def packets(file: Path) -> tuple[list[str], list[tuple[str, int, list[str]]]]:
    """Return the interfaces' names, and of each packet its interface, its time in ns and its comments."""
    names: list[str] = []
    found = []
    for kind, body in blocks(file.read_bytes()):
        if kind == 1:
            said = dict(options(body[8:]))
            assert said[9] == b"\x09"
            names.append(said[2].decode())
        if kind == 6:
            interface, high, low, kept, _ = struct.unpack_from("<IIIII", body)
            rest = body[20 + (kept + 3) // 4 * 4 :]
            found.append(
                (names[interface], high << 32 | low, [text.decode() for code, text in options(rest) if code == 1])
            )
    return names, found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("pcapng")
    (at / "one.toml").write_text(ONE)
    words = ["run", "one.toml", "--seeds", "1", "--pcap", "-o", "results"]
    subprocess.run([sys.executable, "-m", "sojourn", *words], cwd=at, check=True, capture_output=True)
    return at / "results"


@pytest.fixture(scope="module")
def file(folder: Path) -> Path:
    [made] = export_folder(folder, folder / "pcapng")
    return made


def test_every_packet_of_every_point_is_there_in_order(folder: Path, file: Path) -> None:
    names, found = packets(file)
    assert names == ["server", "bottleneck.left", "bottleneck.right", "client"]
    times = [at for _, at, _ in found]
    assert times == sorted(times)
    [run] = (folder / "runs").iterdir()
    counted = Counter(name for name, _, _ in found)
    for name in names:
        content = (run / f"{name}.pcap").read_bytes()
        at, number = 24, 0
        while at < len(content):
            at += 16 + struct.unpack_from("<I", content, at + 8)[0]
            number += 1
        assert counted[name] == number


def test_what_comments_say_is_what_the_queue_counted(folder: Path, file: Path) -> None:
    [run] = sojourn.open(folder)
    totals = {(row["subject"], row["name"]): row["value"] for row in run.table("totals").iter_rows(named=True)}
    _, found = packets(file)
    said = Counter(text for _, _, comments in found for text in comments)
    down = "bottleneck.down.qdisc"
    assert totals[down, "dropped"] > 5
    assert said["dropped in bottleneck down"] == totals[down, "dropped"]
    assert said["dropped in bottleneck up"] == totals["bottleneck.up.qdisc", "dropped"] == 0
    # On both sides of the queue.
    assert said["marked in bottleneck down: ECT(0) to CE"] == 2 * totals[down, "marked"] > 0
    waits = [float(text.split()[1]) for text in said.elements() if text.startswith("waited") and text.endswith("down")]
    longest = run.table("queues").filter(queue=down)["sojourn_max_s"].drop_nans().to_list()
    # A packet is on the wire for 0.6 ms more.
    assert max(waits) == pytest.approx(1e3 * max(longest), abs=0.7)
    assert {"flow cubic", "flow reno", "flow up"} <= said.keys()


def test_dropped_packets_are_of_those_who_lost_them(file: Path) -> None:
    _, found = packets(file)
    dropped = {tuple(comments) for _, _, comments in found if "dropped in bottleneck down" in comments}
    assert ("flow reno", "dropped in bottleneck down") in dropped
    assert ("flow cubic", "dropped in bottleneck down") not in dropped


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_shows_the_comments(file: Path) -> None:
    words = [
        "-Y",
        'frame.comment contains "marked"',
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "ip.dsfield.ecn",
    ]
    done = subprocess.run(["tshark", "-r", str(file), *words], capture_output=True, text=True, check=True)  # noqa: S607
    assert {"bottleneck.left\t2", "bottleneck.right\t3"} == set(done.stdout.splitlines())


def test_without_captures_it_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(ONE.replace('"3s"', '"100ms"'))
    words = [sys.executable, "-m", "sojourn", "run", "one.toml", "--seeds", "1", "-o", "results"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    with pytest.raises(StoreError) as caught:
        export_folder(tmp_path / "results", tmp_path / "to")
    assert caught.value.help == "make them again with --pcap"


def test_a_damaged_capture_is_named(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    [run] = (copy / "runs").iterdir()
    left = run / "bottleneck.left.pcap"
    left.write_bytes(left.read_bytes()[:2000])
    with pytest.raises(StoreError, match=r"bottleneck\.left\.pcap cannot be read"):
        export_folder(copy, tmp_path / "to")
    assert not list((tmp_path / "to").iterdir())
