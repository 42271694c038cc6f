"""What measuring tools write, as runs: iperf3, ss, irtt, Mahimahi. The samples are the programs' own."""

import gzip
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import DataFileError
from sojourn.interop.importing import import_files
from sojourn.views.run import Run

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"


def run_of(content: bytes | str, folder: Path, name: str = "x.json") -> tuple[Run, dict[str, Any]]:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    [done] = import_files([file], folder / "r", command="a test")
    return Run.stored(done.record), done.record.head["imported"]


def sample(tool: str, name: str) -> bytes:
    return (CORPUS / tool / name).read_bytes()


def wrong(content: bytes | str, folder: Path) -> DataFileError:
    with pytest.raises(DataFileError) as caught:
        run_of(content, folder)
    return caught.value


def test_iperf3s_own_total_is_what_goodput_says(tmp_path: Path) -> None:
    said = json.loads(sample("iperf3", "00-two"))
    run, about = run_of(sample("iperf3", "00-two"), tmp_path)
    names = [flow["name"] for flow in run.scenario["flows"]]
    assert names == ["stream-1", "stream-2"]
    assert [flow["direction"] for flow in run.scenario["flows"]] == ["up", "up"]
    assert [flow["traffic"]["cc"] for flow in run.scenario["flows"]] == ["cubic", "cubic"]
    flows = run.table("flows")
    step = 0.25
    arrived = sum(flows["goodput_bps"].fill_nan(0.0).to_list()) * step / 8
    assert arrived == pytest.approx(said["end"]["sum_sent"]["bytes"], rel=1e-6)
    last = flows.filter(flow="stream-1")["srtt_s"].to_list()[0]
    assert last == said["intervals"][0]["streams"][0]["rtt"] / 1e6
    assert about["goodput_at"] == {"stream-1": "sender", "stream-2": "sender"}
    assert "ssthresh" in about["not_in_the_file"]
    assert "goodput_bps" not in about["not_in_the_file"]


@pytest.mark.parametrize(
    ("name", "ways", "ends"),
    [
        ("01-udp", ["up"], ["sender"]),
        ("02-bidir", ["up", "down"], ["sender", "receiver"]),
        ("03-reverse", ["down"], ["receiver"]),
    ],
)
def test_iperf3_the_other_ways(name: str, ways: list[str], ends: list[str], tmp_path: Path) -> None:
    run, about = run_of(sample("iperf3", name), tmp_path)
    assert [flow["direction"] for flow in run.scenario["flows"]] == ways
    assert list(about["goodput_at"].values()) == ends
    assert max(run.table("flows")["goodput_bps"].to_list()) > 0


def test_iperf3s_lines_are_the_same_run(tmp_path: Path) -> None:
    said = json.loads(sample("iperf3", "00-two"))
    lines = [{"event": "start", "data": said["start"]}]
    lines += [{"event": "interval", "data": interval} for interval in said["intervals"]]
    lines += [{"event": "end", "data": said["end"]}]
    whole, _ = run_of(sample("iperf3", "00-two"), tmp_path)
    (tmp_path / "lines").mkdir()
    cut = "".join(json.dumps(line) + "\n" for line in lines)
    streamed, _ = run_of(cut, tmp_path / "lines")
    assert streamed.table("flows").equals(whole.table("flows"))
    (tmp_path / "cut").mkdir()
    # What a test that was ended wrote last is passed over.
    ended, _ = run_of(cut[: cut.rindex('{"event": "end"') + 30], tmp_path / "cut")
    assert ended.table("flows").height == whole.table("flows").height


def test_intervals_that_are_omitted_are_left_out(tmp_path: Path) -> None:
    said = json.loads(sample("iperf3", "00-two"))
    before = json.loads(json.dumps(said["intervals"][0]))
    for stream in before["streams"]:
        stream["omitted"] = True
    said["intervals"].insert(0, before)
    run, _ = run_of(json.dumps(said), tmp_path)
    own, _ = run_of(sample("iperf3", "00-two"), tmp_path / "r", "y.json")
    assert run.table("flows").equals(own.table("flows"))


def test_a_test_that_failed_says_so(tmp_path: Path) -> None:
    error = wrong('{"start": {}, "intervals": [], "end": {}, "error": "unable to connect to server"}', tmp_path)
    assert "unable to connect to server" in str(error)


def ss(*rows: str) -> str:
    return "".join(f"Time: {1600000000 + at / 5}\n{row}\n" for at, row in enumerate(rows))


def socket(acked: int, more: str = "", ends: str = "10.0.0.1:40000 10.0.0.2:443") -> str:
    own = f"ts sack cubic wscale:7,7 rtt:40.5/2.25 cwnd:20 data_segs_out:100 bytes_acked:{acked}{more}"
    return f"ESTAB 0 0 {ends}\n\t {own}"


def test_ss_says_what_was_acknowledged_since(tmp_path: Path) -> None:
    one = " ssthresh:14 unacked:9 retrans:0/3 delivered:90 pacing_rate 8.5Mbps delivery_rate 8000000bps minrtt:40"
    run, about = run_of(ss(socket(1000), socket(26000, one), socket(76000, one)), tmp_path)
    flows = run.table("flows")
    # 25 000 bytes in 200 ms, then 50 000.
    assert flows["goodput_bps"].to_list() == pytest.approx([1e6, 2e6])
    assert flows["t_s"].to_list() == pytest.approx([0.2, 0.4])
    row = flows.row(0, named=True)
    wanted = {"srtt_s": 0.0405, "rttvar_s": 0.00225, "pacing_rate_bps": 8.5e6, "delivery_rate_bps": 8e6}
    assert {key: row[key] for key in wanted} == pytest.approx(wanted)
    assert (row["cwnd"], row["ssthresh"], row["inflight"], row["retransmits"], row["delivered"]) == (20, 14, 9, 3, 90)
    [flow] = run.scenario["flows"]
    assert (flow["direction"], flow["traffic"]["cc"]) == ("up", "cubic")
    assert about["sockets"] == {"socket-1": "10.0.0.1:40000 to 10.0.0.2:443"}


def test_ss_on_one_line_and_on_two_is_the_same(tmp_path: Path) -> None:
    two = ss(socket(1000), socket(26000))
    (tmp_path / "one").mkdir()
    assert (
        run_of(two, tmp_path)[0]
        .table("flows")
        .equals(run_of(two.replace("\n\t", ""), tmp_path / "one")[0].table("flows"))
    )
    assert run_of(sample("ss", "00-two-forms"), tmp_path / "one", "y.log")[0].table("flows").height > 0


def test_ss_of_no_time_or_no_sender_is_said(tmp_path: Path) -> None:
    assert "sends" in str(wrong(ss(socket(1000).replace("data_segs_out:100", "data_segs_out:2")), tmp_path))
    late = f"{socket(1000)}\n{ss(socket(2000))}"
    assert "line 2 has no time" in str(wrong(late, tmp_path))


def test_irtts_round_trips_are_pings(tmp_path: Path) -> None:
    said = json.loads(sample("irtt", "00-ten"))
    run, _ = run_of(gzip.compress(sample("irtt", "00-ten")), tmp_path, "x.json.gz")
    pings = run.table("pings")
    assert pings.height == said["stats"]["rtt"]["n"] == 10
    assert pings["rtt_s"].mean() == pytest.approx(said["stats"]["rtt"]["mean"] / 1e9, rel=1e-5)
    assert pings["owd_s"].max() == pytest.approx(said["stats"]["send_delay"]["max"] / 1e9)
    assert pings["owd_back_s"].min() == pytest.approx(said["stats"]["receive_delay"]["min"] / 1e9)
    assert pings["sequence"].to_list() == list(range(10))


def test_what_irtt_lost_is_lost_on_its_way(tmp_path: Path) -> None:
    said = json.loads(sample("irtt", "00-ten"))
    for trip, lost in zip(said["round_trips"], ("true", "true_up", "true_down"), strict=False):
        trip["lost"] = lost
    run, _ = run_of(json.dumps(said), tmp_path)
    fates = {
        row["sequence"]: (row["lost"], math.isnan(row["rtt_s"])) for row in run.table("pings").iter_rows(named=True)
    }
    assert [fates[number] for number in range(4)] == [("lost", True), ("there", True), ("back", True), ("", False)]


def test_mahimahis_link_is_the_bottleneck(tmp_path: Path) -> None:
    """Five opportunities of 1504 B in 150 ms; three packets leave, after 8, 38 and 54 ms. Times count from 1000 ms."""
    run, about = run_of(sample("mahimahi", "00-small"), tmp_path, "down.log")
    queues = run.table("queues")
    assert queues["queue"].unique().to_list() == ["path.down.qdisc"]
    assert queues["sent_packets"].to_list() == [1, 3, 3]
    assert queues["drops"].to_list() == [0, 2, 2]
    assert queues["packets"].to_list() == [2, 0, 0]
    assert queues["sojourn_mean_s"].to_list()[:2] == pytest.approx([0.008, 0.046])
    assert queues["sojourn_max_s"].to_list()[:2] == pytest.approx([0.008, 0.054])
    assert about["capacity_bps"] == pytest.approx(5 * 1504 * 8 / 0.15)
    assert run.table("flows")["goodput_bps"].to_list() == pytest.approx([1504 * 160, 2 * 1504 * 160, 0])
    assert about["queue"] == "droptail [packets=100]"


@pytest.mark.parametrize("line", ["1010 ? 5", "1010 - 5", "x # 1504", "999 # 1504", "1010 # -4"])
def test_what_is_no_line_of_mm_links_is_named(line: str, tmp_path: Path) -> None:
    text = sample("mahimahi", "00-small").decode() + line + "\n"
    assert "line 18: " in str(wrong(text, tmp_path))


def test_one_bad_file_ends_no_import(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(sample("iperf3", "00-two"))
    bad.write_bytes(sample("iperf3", "00-two")[:900])
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "import", str(bad), str(good), "-o", str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "bad.json" in done.stderr
    assert "Traceback" not in done.stderr
    assert "1 of 2 files imported" in done.stdout
    table = subprocess.run(
        [sys.executable, "-m", "sojourn", "table", str(tmp_path / "r")], capture_output=True, text=True, check=False
    )
    assert table.returncode == 0, table.stderr
    assert "stream-1" in table.stdout
