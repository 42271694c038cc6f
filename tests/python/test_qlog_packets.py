"""QUIC's packets as qlog's events: read from captures, named as the draft names them, and true."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sojourn.core.store import Folder
from sojourn.errors import DataFileError, StoreError
from sojourn.experiments.experiment import parse
from sojourn.interop.importing import import_files
from sojourn.interop.qlog import export_folder
from sojourn.interop.qlog.datagrams import datagrams
from sojourn.interop.qlog.wire import NotQuicError, Packet, Reader
from sojourn.views.run import Run

WHOLE = 2000
"""Bytes that are kept of each packet: all."""

TEXT = """
[experiment]
name = "packets"
duration = "3s"
warmup = "1s"
[[hop]]
name = "b"
rate = "10mbit"
rtt = "20ms"
qdisc = "QDISC"
[[flow]]
name = "tcp"
cc = "cubic"
[[flow]]
name = "noq"
ip = 6
quic = { stack = "noq", cc = "cubic", streams = 2 }
[[flow]]
name = "quinn"
direction = "up"
quic = { stack = "quinn", cc = "cubic" }
"""


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    return _made(tmp_path_factory.mktemp("marked"), "fq_codel")


@pytest.fixture(scope="module")
def dropped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    return _made(tmp_path_factory.mktemp("dropped"), "pfifo limit 20")


def _made(to: Path, qdisc: str) -> tuple[Path, list[Path]]:
    parse(TEXT.replace("QDISC", qdisc), "packets.toml").run(to / "r", pcap=WHOLE)
    return to, export_folder(to / "r", to / "qlog", packets=True)


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("\x1e")) for line in file.read_text().rstrip("\n").split("\n")]


def events(file: Path, name: str) -> list[dict[str, Any]]:
    return [record for record in records(file)[1:] if record["name"] == f"quic:{name}"]


def frames(file: Path, name: str) -> Iterator[dict[str, Any]]:
    return (frame for event in events(file, name) for frame in event["data"]["frames"])


def flow_of(file: Path) -> str:
    return file.name.rpartition("-")[2].removesuffix(".sqlog")


def short(number: bytes, payload: bytes, peer: int = 0) -> Packet:
    """Read a packet with a short header and this payload."""
    whole = bytes([0x40 | len(number) - 1]) + bytes(peer) + number + payload + bytes(16)
    [packet] = Reader().packets(whole, len(whole), peer)
    return packet


def test_integers_are_those_of_the_specification() -> None:
    """RFC 9000 §A.1."""
    for text, value in (
        ("c2197c5eff14e88c", 151_288_809_941_952_652),
        ("9d7f3e7d", 494_878_333),
        ("7bbd", 15_293),
        ("25", 37),
        ("4025", 37),
    ):
        packet = short(b"\0", b"\x10" + bytes.fromhex(text))
        assert packet.frames == [{"frame_type": "max_data", "maximum": value}]


def test_numbers_are_completed_from_the_largest_before() -> None:
    """RFC 9000 §A.3: after 0xa82f30ea two bytes 0x9b32 are 0xa82f9b32. A reader is led there."""
    reader = Reader()
    numbers = []
    for sent in ("30000000", "60000000", "90000000", "a82f30ea", "9b32", "9b2f", "33"):
        number = bytes.fromhex(sent)
        whole = bytes([0x40 | len(number) - 1]) + number + b"\1" + bytes(16)
        [packet] = reader.packets(whole, len(whole), 0)
        numbers.append(packet.number)
    assert numbers[-4:] == [0xA82F30EA, 0xA82F9B32, 0xA82F9B2F, 0xA82F9B33]


def test_an_acknowledgement_has_its_ranges_and_counts() -> None:
    """RFC 9000 §19.3: largest 100, delay 5 units of 8 µs, 3 packets, a gap of 2 missing, one packet; ECN's counts."""
    packet = short(b"\0", bytes([0x03, 0x40, 100, 5, 1, 2, 1, 0, 7, 8, 9]))
    assert packet.frames == [
        {"frame_type": "ack", "ack_delay": 0.04, "acked_ranges": [[98, 100], [95]], "ect0": 7, "ect1": 8, "ce": 9}
    ]
    with pytest.raises(NotQuicError, match="below zero"):
        short(b"\0", bytes([0x02, 1, 0, 0, 2]))


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        ("00000001", [{"frame_type": "padding", "payload_length": 3}, {"frame_type": "ping"}]),
        ("0f04050161", [{"frame_type": "stream", "stream_id": 4, "offset": 5, "length": 1, "fin": True}]),
        ("08046161", [{"frame_type": "stream", "stream_id": 4, "offset": 0, "length": 2}]),
        ("060102aabb", [{"frame_type": "crypto", "offset": 1, "length": 2}]),
        ("1301", [{"frame_type": "max_streams", "stream_type": "unidirectional", "maximum": 1}]),
        ("1601", [{"frame_type": "streams_blocked", "stream_type": "bidirectional", "limit": 1}]),
        (
            "1c0a06026e6f",
            [
                {
                    "frame_type": "connection_close",
                    "error_space": "transport",
                    "error_code": 10,
                    "trigger_frame_type": 6,
                    "reason": "no",
                }
            ],
        ),
        ("1a0001020304050607", [{"frame_type": "path_challenge", "data": "0001020304050607"}]),
        (
            "40af0102400403",
            [
                {
                    "frame_type": "ack_frequency",
                    "sequence_number": 1,
                    "ack_eliciting_threshold": 2,
                    "request_max_ack_delay": 4,
                    "reordering_threshold": 3,
                }
            ],
        ),
    ],
)
def test_frames_are_read(payload: str, read: list[dict[str, Any]]) -> None:
    packet = short(b"\0", bytes.fromhex(payload))
    assert (packet.frames, packet.is_cut) == (read, False)


def test_what_is_behind_an_unknown_frame_is_missing() -> None:
    packet = short(b"\0", bytes.fromhex("014099aabb"))
    assert packet.frames == [{"frame_type": "ping"}, {"frame_type": "unknown", "frame_type_bytes": 0x99}]
    assert packet.is_cut


def test_no_bytes_break_the_reader() -> None:
    draw = random.Random(8)  # noqa: S311 - it is to be the same again
    read = 0
    for _ in range(20_000):
        length = draw.randrange(1, 80)
        kept = bytearray(draw.randbytes(draw.randrange(1, length + 1)))
        if draw.random() < 0.5:
            kept[0] &= 0x7F
        try:
            read += len(Reader().packets(bytes(kept), length, draw.choice((None, 0, 8))))
        except NotQuicError:
            continue
    assert read > 1000


# What the draft's CDDL says of the events that are written: name, and the type of each field; "?" is one that may lack.
Number = (int, float)
SCHEMA: dict[str, dict[str, Any]] = {
    "packet_sent": {
        "header": dict,
        "?frames": list,
        "?raw": dict,
        "?datagram_id": int,
        "?is_mtu_probe_packet": bool,
        "?sojourn_is_cut": bool,
    },
    "packet_received": {"header": dict, "?frames": list, "?raw": dict, "?datagram_id": int},
    "packets_acked": {"?packet_number_space": str, "?packet_numbers": list},
    "packet_lost": {"?header": dict, "?frames": list, "?trigger": str},
    "udp_datagrams_sent": {"?count": int, "?raw": list, "?ecn": list, "?datagram_ids": list},
    "udp_datagrams_received": {"?count": int, "?raw": list, "?ecn": list, "?datagram_ids": list},
    "congestion_state_updated": {"?old": str, "new": str},
}
HEADER = {
    "packet_type": str,
    "?packet_number": int,
    "?flags": int,
    "?token": dict,
    "?length": int,
    "?version": str,
    "?scil": int,
    "?dcil": int,
    "?scid": str,
    "?dcid": str,
}
FRAMES: dict[str, dict[str, Any]] = {
    "padding": {"payload_length": int},
    "ping": {},
    "ack": {"?ack_delay": Number, "?acked_ranges": list, "?ect1": int, "?ect0": int, "?ce": int},
    "crypto": {"offset": int, "length": int},
    "stream": {"stream_id": int, "offset": int, "length": int, "?fin": bool},
    "max_data": {"maximum": int},
    "max_stream_data": {"stream_id": int, "maximum": int},
    "max_streams": {"stream_type": str, "maximum": int},
    "stream_data_blocked": {"stream_id": int, "limit": int},
    "data_blocked": {"limit": int},
    "new_connection_id": {
        "sequence_number": int,
        "retire_prior_to": int,
        "?connection_id_length": int,
        "connection_id": str,
        "?stateless_reset_token": str,
    },
    "retire_connection_id": {"sequence_number": int},
    "handshake_done": {},
    # Any map is a frame; this one is draft-ietf-quic-ack-frequency's.
    "immediate_ack": {},
}


def conforms(value: dict[str, Any], shape: dict[str, Any]) -> bool:
    known = {name.removeprefix("?"): kind for name, kind in shape.items()}
    needed = {name for name in shape if not name.startswith("?")}
    return (
        needed <= value.keys() <= known.keys()
        and all(isinstance(one, known[name]) for name, one in value.items())
        and not any(isinstance(one, bool) and known[name] is int for name, one in value.items())
    )


def test_every_event_is_of_the_drafts_form(marked: tuple[Path, list[Path]], dropped: tuple[Path, list[Path]]) -> None:
    seen = set[str]()
    for file in (*marked[1], *dropped[1]):
        for record in records(file)[1:]:
            name = record["name"].removeprefix("quic:")
            if name.startswith("recovery_"):
                continue
            data = record["data"]
            seen.add(name)
            assert conforms(data, SCHEMA[name]), record
            if header := data.get("header"):
                assert conforms(header, HEADER), record
                assert header["packet_type"] in {"initial", "handshake", "1RTT"}
            assert set(data.get("ecn", [])) <= {"Not-ECT", "ECT(0)", "ECT(1)", "CE"}
            for frame in data.get("frames", []):
                kind = frame["frame_type"]
                seen.add(kind)
                assert conforms(frame, FRAMES[kind] | {"frame_type": str}), frame
    assert seen >= {"packet_sent", "packet_received", "packets_acked", "packet_lost", "ack", "stream", "crypto", "ping"}


def test_only_quic_has_packets(marked: tuple[Path, list[Path]]) -> None:
    tcp, *quic = marked[1]
    assert events(tcp, "packet_sent") == []
    for file in quic:
        times = [record["time"] for record in records(file)[1:]]
        assert times == sorted(times)
        sent = [event["data"]["header"]["packet_number"] for event in events(file, "packet_sent")]
        assert len(sent) > 1000
        assert not any("sojourn_is_cut" in event["data"] for event in events(file, "packet_sent"))


def test_import_is_the_run_again(marked: tuple[Path, list[Path]], dropped: tuple[Path, list[Path]]) -> None:
    """With the packets between the samples, too."""
    for to, files in (marked, dropped):
        before = _only_run(to / "r")
        for file, done in zip(files, import_files(files, to / "back", command="a test"), strict=True):
            name = flow_of(file)
            was = before.flows.filter(pl.col("flow").cast(pl.String) == name)
            now = Run.stored(done.record).flows
            # What waits out of order at the receiver is not in a sender's log.
            known = pl.exclude("flow", "state", "out_of_order_bytes")
            assert_frame_equal(was.select(known), now.select(known), rel_tol=1e-6)


def _only_run(folder: Path) -> Run:
    [record] = Folder.open(folder).records()
    return Run.stored(record)


def test_packets_alone_say_what_the_run_counted(dropped: tuple[Path, list[Path]]) -> None:
    """Without our samples and our name the importer counts the packets itself, and comes to our numbers."""
    to, files = dropped
    before = _only_run(to / "r")
    for file in files[1:]:
        head, *rest = records(file)
        del head["trace"]["common_fields"]["sojourn"]
        bare = to / f"bare-{flow_of(file)}.sqlog"
        kept = [head, *(record for record in rest if "recovery_metrics" not in record["name"])]
        bare.write_text("".join(f"\x1e{json.dumps(record)}\n" for record in kept))
        [done] = import_files([bare], to / "bare", command="a test")
        now = Run.stored(done.record).flows.row(-1, named=True)
        was = before.flows.filter(pl.col("flow").cast(pl.String) == flow_of(file)).row(-1, named=True)
        assert now["lost"] == was["lost"] > 0
        # The control that we watch does not see acknowledgements of the handshake, but those of MTU probes.
        assert now["delivered"] == pytest.approx(was["delivered"], abs=8)


def test_what_is_lost_never_arrived(dropped: tuple[Path, list[Path]]) -> None:
    """In a FIFO no packet overtakes another: those held for lost are those that the other host's capture lacks."""
    to, files = dropped
    [folder] = (to / "r" / "runs").iterdir()
    for file, number in zip(files[1:], (1, 2), strict=True):
        lost = [event["data"]["header"]["packet_number"] for event in events(file, "packet_lost")]
        assert lost == sorted(lost)
        assert len(lost) > 3
        sent = {
            event["data"]["header"]["packet_number"]
            for event in events(file, "packet_sent")
            if event["data"]["header"]["packet_type"] == "1RTT" and not event["data"].get("is_mtu_probe_packet")
        }
        far = folder / ("client.pcap" if flow_of(file) == "noq" else "server.pcap")
        ours, theirs, arrived = Reader(), Reader(), set[int]()
        for one in datagrams(far, number):
            reader, peer = (ours, theirs) if one.sent else (theirs, ours)
            for packet in reader.packets(one.kept, one.length, peer.own_id):
                if one.sent and packet.space == "application_data":
                    arrived.add(packet.number)
        assert set(lost) <= sent - arrived


def test_marks_are_where_the_draft_has_them(marked: tuple[Path, list[Path]]) -> None:
    """The counts of the last acknowledgement are those of the packets that arrived marked."""
    run = _only_run(marked[0] / "r")
    for file in marked[1][1:]:
        assert {codepoint for event in events(file, "udp_datagrams_sent") for codepoint in event["data"]["ecn"]} >= {
            "ECT(0)"
        }
        ce = [frame["ce"] for frame in frames(file, "packet_received") if "ce" in frame]
        was = run.flows.filter(pl.col("flow").cast(pl.String) == flow_of(file))["ce"].max()
        assert isinstance(was, int)
        # The last marks may be under way still when the run ends.
        assert was - 3 <= max(ce) <= was
        assert max(ce) > 0


def test_the_same_run_is_the_same_bytes(marked: tuple[Path, list[Path]], tmp_path: Path) -> None:
    again = export_folder(marked[0] / "r", tmp_path, packets=True)
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in marked[1]]


SMALL = """
[experiment]
name = "small"
duration = "1s"
[[hop]]
name = "b"
rate = "5mbit"
rtt = "10ms"
qdisc = "pfifo"
[[flow]]
name = "a"
"""


def test_tls_shows_its_datagrams_alone(tmp_path: Path) -> None:
    parse(f'{SMALL}quic = {{ stack = "quinn", crypto = "tls" }}\n', "x.toml").run(tmp_path / "r", pcap=128)
    [file] = export_folder(tmp_path / "r", tmp_path / "q", packets=True)
    assert len(events(file, "udp_datagrams_sent")) > 100
    assert events(file, "packet_sent") == []


@pytest.mark.parametrize(
    ("flow", "pcap", "said"),
    [
        ('cc = "cubic"', WHOLE, "has a QUIC flow"),
        ('quic = { stack = "noq" }', None, "has no captures to take packets from"),
        ('quic = { stack = "noq" }', 128, "is cut off before what it acknowledges"),
        ('quic = { stack = "noq" }', 40, "it has no datagrams of flow 0"),
        ('quic = { stack = "noq" }', 60, "is not understood: the capture has no complete header"),
    ],
)
def test_what_cannot_be_had_is_said(tmp_path: Path, flow: str, pcap: int | None, said: str) -> None:
    parse(f"{SMALL}{flow}\n", "x.toml").run(tmp_path / "r", pcap=pcap)
    with pytest.raises((StoreError, DataFileError), match=re.escape(said)) as caught:
        export_folder(tmp_path / "r", tmp_path / "q", packets=True)
    assert caught.value.status == 2
    if flow.startswith("quic"):
        assert "--pcap --snap-len 2000" in str(caught.value.help)


def test_a_damaged_capture_is_named(marked: tuple[Path, list[Path]], tmp_path: Path) -> None:
    [folder] = (marked[0] / "r" / "runs").iterdir()
    content = (folder / "server.pcap").read_bytes()
    for bad, said in (
        (content[:10], "it ends within its header"),
        (content[:-1], "it ends within a packet"),
        (content[:24] + content[24:30], "it ends within a packet"),
        (b"\0" * 30, "it is no pcap with stamps in ns of Ethernet"),
    ):
        file = tmp_path / "bad.pcap"
        file.write_bytes(bad)
        with pytest.raises(DataFileError, match=said):
            list(datagrams(file, 1))


def test_the_option_writes_them(tmp_path: Path) -> None:
    parse(f'{SMALL}quic = {{ stack = "noq" }}\n', "x.toml").run(tmp_path / "r", pcap=WHOLE)
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "export", "qlog", "r", "--packets"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "r" / "qlog").glob("*.sqlog")
    assert len(events(file, "packet_sent")) > 100
