"""qlog of other implementations: every form that is about comes in, with the numbers that were worked out by hand."""

import gzip
import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sojourn import _core
from sojourn.errors import DataFileError
from sojourn.experiments.experiment import parse
from sojourn.interop.importing import import_files
from sojourn.interop.qlog import export_folder
from sojourn.interop.qlog.in_order import InOrder
from sojourn.interop.qlog.outstanding import Outstanding
from sojourn.views.run import Run

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus" / "qlog"
NONE = 2147483647

HEAD: dict[str, Any] = {
    "file_schema": "urn:ietf:params:qlog:file:sequential",
    "serialization_format": "application/qlog+json-seq",
    "title": "mine 1.0",
    "trace": {
        "vantage_point": {"type": "server"},
        "common_fields": {"reference_time": {"clock_type": "monotonic", "epoch": "unknown"}},
        "event_schemas": ["urn:ietf:params:qlog:events:quic-14"],
    },
}


def event(time: float, name: str, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": name, "data": data}


def sent(time: float, number: int, *, offset: int = 0, length: int = 1150) -> dict[str, Any]:
    frames = [{"frame_type": "stream", "stream_id": 0, "offset": offset, "raw": {"payload_length": length}}]
    header = {"packet_type": "1RTT", "packet_number": number}
    return event(time, "quic:packet_sent", header=header, raw={"length": 1200}, frames=frames)


def acked(time: float, *ranges: Sequence[object]) -> dict[str, Any]:
    frames = [{"frame_type": "ack", "acked_ranges": ranges}]
    return event(time, "quic:packet_received", header={"packet_type": "1RTT", "packet_number": 0}, frames=frames)


def sequence(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"\x1e{json.dumps(record)}\n" for record in records)


DRAFT_14 = [
    HEAD,
    event(1000.0, "quic:recovery_metrics_updated", congestion_window=12000, bytes_in_flight=0),
    sent(1001.0, 0),
    sent(1002.0, 1, offset=1150),
    event(1002.0, "quic:recovery_metrics_updated", bytes_in_flight=2400, pacing_rate=1_000_000),
    acked(1021.0, [0]),
    event(
        1021.0,
        "quic:recovery_metrics_updated",
        smoothed_rtt=20.0,
        latest_rtt=20.5,
        rtt_variance=10.0,
        min_rtt=19.5,
        bytes_in_flight=1200,
        congestion_window=13201,
    ),
    event(1040.0, "quic:packet_lost", header={"packet_type": "1RTT", "packet_number": 1}, trigger="time_threshold"),
    event(1040.0, "quic:congestion_state_updated", old="slow_start", new="recovery", trigger="packet_loss"),
    event(1040.0, "quic:recovery_metrics_updated", ssthresh=6000, congestion_window=6000),
    sent(1041.0, 2, offset=1150),
    acked(1062.0, [0], [2]),
]


def imported(folder: Path, content: str | bytes, name: str = "x.sqlog") -> Run:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    [done] = import_files([file], folder / "r", command="a test")
    return Run.stored(done.record)


def at(run: Run, t: float, flow: str | None = None) -> dict[str, Any]:
    """Return the row of a flow, the only one unless named, at this time."""
    rows = run.flows.filter((pl.col("t_s") - t).abs() < 1e-9)
    [row] = rows.filter(pl.col("flow") == flow).to_dicts() if flow else rows.to_dicts()
    return row


def test_a_trace_of_the_newest_draft(tmp_path: Path) -> None:
    """Times count from the first event; a step is 1 ms, since 62 ms are less than a hundred of any other."""
    run = imported(tmp_path, sequence(DRAFT_14))
    assert (run.engine, run.scenario["sample_interval"], run.scenario["experiment"]) == ("qlog", "1ms", "mine-1.0")
    [flow] = run.scenario["flows"]
    assert (flow["name"], flow["direction"], flow["traffic"]["stack"]) == ("server", "down", "mine")
    first, second, last = at(run, 0.002), at(run, 0.021), at(run, 0.062)
    # 12000 bytes in packets of the 1200 that the largest was.
    assert (first["cwnd"], first["inflight"], first["ssthresh"]) == (10, 2, NONE)
    assert math.isnan(first["srtt_s"])
    assert first["pacing_rate_bps"] == 1e6
    # Windows are rounded up: 13201 bytes are twelve packets.
    assert (second["cwnd"], second["inflight"], second["delivered"], second["lost"]) == (12, 1, 1, 0)
    assert (second["srtt_s"], second["rtt_s"], second["rttvar_s"]) == pytest.approx((0.020, 0.0205, 0.010))
    # Packet 0 was sent at 1 ms and acknowledged at 21: 1200 bytes in 20 ms.
    assert second["delivery_rate_bps"] == pytest.approx(1200 * 8 / 0.020)
    assert second["goodput_bps"] == pytest.approx(1150 * 8 / 0.001)
    assert (last["cwnd"], last["ssthresh"], last["state"]) == (5, 5, "Recovery")
    assert (last["lost"], last["retransmits"], last["delivered"]) == (1, 1, 2)
    # Nothing was in flight when packet 2 was sent at 41 ms, so that its sample begins there; it ends at 62.
    assert last["delivery_rate_bps"] == pytest.approx(1200 * 8 / 0.021)
    assert sum(run.flows["goodput_bps"].to_list()) * 0.001 / 8 == pytest.approx(2300)
    gauges = {row["name"]: row["value"] for row in run.table("flow_state").to_dicts()}
    assert gauges["min_rtt_s"] == pytest.approx(0.0195)
    assert (gauges["packets_sent"], gauges["bytes_sent"], gauges["packets_received"]) == (3, 3600, 2)
    [state] = run.table("events").filter(pl.col("what") == "congestion_state").to_dicts()
    assert (state["t_s"], state["detail"]) == (pytest.approx(0.040), "slow_start to recovery (packet_loss)")
    totals = {row["name"]: row["value"] for row in run.table("totals").to_dicts()}
    assert (totals["packets_sent"], totals["packets_lost"]) == (3, 1)


def test_what_is_not_in_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.sqlog"
    file.write_text(sequence([*DRAFT_14, event(1062, "http3:frame_parsed"), event(1062, "security:key_updated")]))
    [done] = import_files([file], tmp_path / "r", command="a test")
    about = done.record.head["imported"]
    assert about["not_in_the_file"] == ["ce", "ece"]
    assert about["events_passed_over"] == ["frame_parsed", "key_updated"]
    assert about["provenance"] == "sampled, imported"
    assert about["traces"][0]["goodput_at"] == "sender"
    [again] = import_files([file], tmp_path / "r", command="a test")
    assert not again.new


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    """Sequences, lines, a document; absolute and relative times, and differences; packed or not."""
    trace = HEAD["trace"]
    times = [record["time"] for record in DRAFT_14[1:]]
    steps = [now - before for now, before in zip(times, [0.0, *times], strict=False)]
    delta = [
        HEAD | {"trace": trace | {"common_fields": {"time_format": "relative_to_previous_event"}}},
        *(record | {"time": step} for record, step in zip(DRAFT_14[1:], steps, strict=True)),
    ]
    old = [record | {"name": record["name"].replace("quic:recovery_", "recovery:")} for record in DRAFT_14[1:]]
    fields = ["relative_time", "category", "event", "data"]
    arrays = [[str(r["time"]), *r["name"].split(":"), r["data"]] for r in old]
    document = {"qlog_version": "0.3", "title": "mine 1.0", "traces": [trace | {"events": old}]}
    forms = {
        "a.sqlog": sequence(DRAFT_14).encode(),
        "b.sqlog": sequence(delta).encode(),
        "c.qlog": "\n".join(map(json.dumps, DRAFT_14)).encode(),
        "d.qlog": json.dumps(document).encode(),
        "e.qlog.gz": gzip.compress(json.dumps(document, indent=1).encode()),
        "f.qlog": json.dumps(document | {"traces": [trace | {"event_fields": fields, "events": arrays}]}).encode(),
        "g.sqlog": b"\xef\xbb\xbf" + sequence(DRAFT_14).encode(),
    }
    [first, *others] = [imported(tmp_path, content, name).flows for name, content in forms.items()]
    for name, flows in zip(list(forms)[1:], others, strict=True):
        assert flows.equals(first, null_equal=True) or flows.fill_nan(-1).equals(first.fill_nan(-1)), name


def test_microseconds_are_distinguished_from_milliseconds(tmp_path: Path) -> None:
    """picoquic's and mvfst's files: a document of draft 00, by hand."""
    run = imported(tmp_path, (CORPUS / "02-arrays").read_bytes(), "p.qlog")
    row = at(run, 0.020)
    assert (row["cwnd"], row["delivered"], row["srtt_s"]) == (10, 1, pytest.approx(0.020))
    assert row["delivery_rate_bps"] == pytest.approx(1440 * 8 / 0.020)
    assert (run.scenario["flows"][0]["traffic"]["stack"], run.flows["lost"].max()) == ("picoquic", 1)
    mvfst = imported(tmp_path, (CORPUS / "04-mvfst").read_bytes(), "m.qlog").flows.to_dicts()
    assert (mvfst[0]["cwnd"], mvfst[0]["srtt_s"], mvfst[0]["lost"]) == (10, pytest.approx(80e-6), 2)


def test_a_threshold_of_all_ones_is_none(tmp_path: Path) -> None:
    run = imported(tmp_path, (CORPUS / "03-lines").read_bytes())
    assert run.flows["ssthresh"].unique().to_list() == [NONE]
    assert run.scenario["flows"][0]["direction"] == "up", "a client that sends"


def test_both_ends_see_the_same_goodput(tmp_path: Path) -> None:
    """The server learns later of the bytes that the client received in order."""
    receives = [
        HEAD | {"trace": {"vantage_point": {"type": "client"}, "common_fields": {}}},
        *(
            event(
                10.0 + i,
                "quic:packet_received",
                header={"packet_type": "1RTT", "packet_number": i},
                ecn="CE" if i == 3 else "ECT(0)",
                frames=[{"frame_type": "stream", "stream_id": 0, "offset": offset, "length": 1000}],
            )
            for i, offset in enumerate([0, 2000, 3000, 1000])
        ),
    ]
    run = imported(tmp_path, sequence(receives))
    assert run.scenario["flows"][0]["direction"] == "down"
    # Two packets wait for the one that comes last.
    assert run.flows["goodput_bps"].to_list() == [8e6, 0, 24e6]
    assert run.flows["ce"].to_list() == [0, 0, 1]
    assert run.flows["delivery_rate_bps"].is_nan().all()


def test_connections_in_one_file_are_flows(tmp_path: Path) -> None:
    """quinn writes all connections of an endpoint into one stream; other files have a trace each."""
    groups = [record | {"group_id": f"c{i % 2}"} for i, record in enumerate(DRAFT_14[1:])]
    run = imported(tmp_path, sequence([HEAD, *groups]))
    assert [flow["name"] for flow in run.scenario["flows"]] == ["server-1", "server-2"]
    clock = {"common_fields": {"time_format": "relative", "reference_time": 5000}}
    later = {"common_fields": {"time_format": "relative", "reference_time": 5030}}
    events = [event(0, "recovery:metrics_updated", smoothed_rtt=30.0)]
    point = {"vantage_point": {"type": "client"}}
    two = {"traces": [clock | {"events": events}, later | point | {"events": events}, {"error_description": "x"}]}
    run = imported(tmp_path, json.dumps(two), "two.qlog")
    starts = run.table("events").filter(pl.col("what") == "start")
    assert starts["t_s"].to_list() == [0.0, 0.03]
    assert starts["subject"].to_list() == ["flow connection", "flow client"]


@pytest.mark.parametrize("what", ["sequence", "document", "gzip"])
def test_what_is_whole_of_a_file_without_an_end_is_taken(tmp_path: Path, what: str) -> None:
    document = json.dumps({"qlog_version": "0.3", "traces": [HEAD["trace"] | {"events": DRAFT_14[1:]}]})
    content = {
        "sequence": sequence(DRAFT_14).encode()[:-20],
        "document": document.encode()[:-20],
        "gzip": gzip.compress(sequence(DRAFT_14).encode())[:-20],
    }[what]
    file = tmp_path / ("x.qlog.gz" if what == "gzip" else "x.qlog")
    file.write_bytes(content)
    [done] = import_files([file], tmp_path / "r", command="a test")
    assert len(done.left_out) >= 1
    assert "its end" in done.left_out[0]
    flows = Run.stored(done.record).flows
    assert flows["t_s"].to_list()[-1] >= 0.041, "all but the last record, or what gzip had written by then"
    assert flows["cwnd"].to_list()[-1] == 5


BROKEN: dict[str, tuple[Any, str]] = {
    "another thing": (b"\x89PNG, say", "it is not JSON"),
    "a list": (b"[]", "it contains no object"),
    "no traces": ({"qlog_version": "0.3"}, "it has no traces"),
    "no events": ({"traces": [{}]}, "traces[0] has no list of events"),
    "nothing": ({"traces": []}, "it has no events"),
    "no header": (sequence(DRAFT_14[1:]), "its first record is not a qlog header"),
    "HTTP/3 alone": (sequence([HEAD, event(0, "http3:frame_parsed")]), "none of its events is about recovery"),
    "a record": (sequence(DRAFT_14[:4]) + "\x1e{]\n" + sequence(DRAFT_14[4:]), "record 5 is not JSON"),
    "no event": (sequence(DRAFT_14[:2]) + '\x1e"x"\n', "record 3 is not an event: 'x'"),
    "no time": (sequence([HEAD, {"name": "quic:packet_lost"}]), "record 2 has no time that is a number: None"),
    "late": (sequence([HEAD, event(10**400, "quic:packet_lost")]), "record 2 has no time that is a number"),
    "far": (sequence([HEAD, event(0, "quic:packet_lost"), event(1e12, "quic:packet_lost")]), "2,000,000 steps"),
    "no name": (sequence([HEAD, {"time": 0, "data": {}}]), "record 2 has no name"),
    "no data": (sequence([HEAD, {"time": 0, "name": "a:b", "data": 1}]), "record 2: data is not an object: 1"),
    "format": (sequence([HEAD, event(0, "a:b") | {"time_format": "x"}]), "record 2 has the time format 'x'"),
    "text": (
        sequence([HEAD, event(0, "recovery:metrics_updated", smoothed_rtt="x")]),
        "record 2: smoothed_rtt is no number: 'x'",
    ),
    "below": (
        sequence([HEAD, event(0, "recovery:metrics_updated", congestion_window=-1)]),
        "record 2: congestion_window is below zero: -1",
    ),
    "ranges": (sequence([HEAD, acked(0, ["x"])]), "record 2: acked_ranges has ['x']"),
    "state": (
        sequence([HEAD, event(0, "quic:congestion_state_updated")]),
        "record 2: data.new is not the name of a state",
    ),
    "reference": (
        {"traces": [{"common_fields": {"reference_time": "noon"}, "events": DRAFT_14[1:]}]},
        "common_fields.reference_time is not a number: 'noon'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_damage_is_named(tmp_path: Path, what: str) -> None:
    content, said = BROKEN[what]
    file = tmp_path / "bad.qlog"
    text = json.dumps(content) if isinstance(content, dict) else content
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataFileError, match=re.escape(said)) as caught:
        import_files([file], tmp_path / "r", command="a test")
    assert str(caught.value).startswith(f"{file}: ")
    assert caught.value.status == 2


def test_the_command_line_takes_both_formats(tmp_path: Path) -> None:
    (tmp_path / "good.sqlog").write_text(sequence(DRAFT_14))
    (tmp_path / "cut.qlog").write_text(sequence(DRAFT_14)[:-9])
    (tmp_path / "bad.qlog").write_text("{}")
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "import", *sorted(tmp_path.glob("*qlog")), "-o", tmp_path / "r"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"error: {tmp_path / 'bad.qlog'}: it has no traces" in done.stderr
    assert "its end (record 12 is not whole)" in done.stderr
    assert "2 of 3 files imported" in done.stdout
    for command, more in (("table", []), ("plot", ["timeseries", "-o", str(tmp_path / "x.svg")])):
        shown = subprocess.run(
            [sys.executable, "-m", "sojourn", command, str(tmp_path / "r"), *more],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert shown.returncode == 0, shown.stderr


def test_parts_of_a_stream_add_up_in_any_order() -> None:
    """A naive twin: a set of bytes."""
    draw = random.Random(3)  # noqa: S311 - it is to be the same again
    for _ in range(50):
        ours, there = InOrder(), set[int]()
        for _ in range(60):
            offset, length = draw.randrange(200), draw.randrange(30)
            ours.add("0", offset, length)
            there.update(range(offset, offset + length))
            assert ours.total == next(i for i in range(300) if i not in there)


def test_acknowledgements_take_each_packet_once() -> None:
    """A naive twin: a set of numbers."""
    draw = random.Random(4)  # noqa: S311 - it is to be the same again
    ours, theirs, taken = Outstanding(), set[int](), 0
    for number in range(600):
        ours.send("a", number, number / 1e3, 1200, ())
        theirs.add(number)
        if draw.random() < 0.2:
            ours.lose("a", draw.randrange(number + 1))
        if draw.random() < 0.4:
            low = draw.randrange(number + 1)
            ranges = [(low // 3, low // 2), (low // 2 + 2, low + 2)]
            got = len(ours.acknowledge("a", number / 1e3, ranges))
            wanted = {n for n in theirs if any(a <= n <= b for a, b in ranges)}
            assert got == len(wanted)
            theirs -= wanted
            taken += got
    assert taken > 300
    assert ours.rate_bps is not None


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    """Every column of TCP's and QUIC's flows, down and up, from the start or later."""
    text = """
[experiment]
name = "out"
duration = "3s"
[[hop]]
name = "b"
rate = "10mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "cubic"
cc = "cubic"
ecn = "rfc3168"
[[flow]]
name = "bbr"
cc = "bbr"
[[flow]]
name = "quic"
direction = "up"
start = "1s"
quic = { stack = "noq", cc = "bbr3" }
[[flow]]
name = "datagrams"
udp = { rate = "1mbit" }
"""
    [before] = parse(text, "out.toml").run(tmp_path / "a")
    files = export_folder(tmp_path / "a", tmp_path / "out")
    again = export_folder(tmp_path / "a", tmp_path / "again")
    assert [f.read_bytes() for f in files] == [f.read_bytes() for f in again], "the same run is the same bytes"
    assert len(files) == 3, "datagrams are no connection"
    done = import_files(files, tmp_path / "r", command="a test")
    for name, one in zip(("cubic", "bbr", "quic"), done, strict=True):
        after = Run.stored(one.record)
        [flow] = after.scenario.flows
        [own] = [f for f in before.scenario.flows if f["name"] == name]
        assert (flow["name"], flow["direction"]) == (name, own["direction"])
        assert flow.sender == own.sender
        was = before.flows.filter(pl.col("flow").cast(pl.String) == name).select(pl.exclude("flow", "state"))
        now = after.flows.select(pl.exclude("flow", "state"))
        # A rate is a whole number of bits in qlog.
        assert_frame_equal(was, now, rel_tol=1e-6, abs_tol=1e-12)
        states = before.flows.filter(pl.col("flow").cast(pl.String) == name)["state"].cast(pl.String).to_list()
        assert after.flows["state"].cast(pl.String).to_list() == states
        lost = {row["name"]: row["value"] for row in after.table("totals").to_dicts()}["packets_lost"]
        assert lost >= was["lost"].to_list()[-1]


def test_the_options_write_what_the_export_does(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        '[experiment]\nname = "x"\nduration = "1s"\n[[hop]]\nname = "b"\nrate = "5mbit"\nrtt = "10ms"\n'
        'qdisc = "pfifo"\n[[flow]]\nname = "a"\n'
    )
    for words in (["run", "x.toml", "-o", "r", "--qlog"], ["export", "qlog", "r", "-o", "s"]):
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    [one], [two] = ((tmp_path / folder).glob("*.sqlog") for folder in ("r/qlog", "s"))
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "try", "cubic", "reno", "--duration", "1s", "--qlog", tmp_path / "t"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "2 connections as qlog" in done.stdout
    assert len(list((tmp_path / "t").glob("*.sqlog"))) == 2


def test_a_scenario_of_an_import_is_one_that_is_checked(tmp_path: Path) -> None:
    run = imported(tmp_path, sequence(DRAFT_14))
    _core.Scenario(json.dumps(run.scenario)).check()
    assert all(hop[side] == [] for hop in run.scenario["hops"] for side in ("down", "up")), "nothing is made up"
