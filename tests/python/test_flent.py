"""Flent's data files: an export can be imported, the real Flent draws it, and damage is named."""

import bz2
import gzip
import json
import lzma
import math
import os
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

from conftest import Make
from sojourn import _core
from sojourn.core.scenario import rate_mbit
from sojourn.errors import DataFileError
from sojourn.experiments.experiment import parse
from sojourn.interop.flent import export, export_folder, read
from sojourn.interop.flent.export import packed, title
from sojourn.interop.importing import import_files
from sojourn.views.results import results
from sojourn.views.run import Run

reading = sys.modules["sojourn.interop.flent.read"]

LAYOUTS = {
    "tcp_nup": ["cubic up", "reno up"],
    "tcp_ndown": ["cubic down", "reno down", "cubic down"],
    "rrul_be": ["cubic up", "reno down", "cubic down", "udp down"],
    "rrul_be_nflows": ["cubic down", *["cubic up"] * 5],
    "ping": ["udp down"],
}


def experiment(flows: Sequence[str], *, seconds: float = 3, origin: str = "first-flow") -> str:
    text = f"""
[experiment]
name = "out"
duration = "{seconds}s"
origin = "{origin}"
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "pfifo limit 60"
"""
    for i, flow in enumerate(flows):
        what, direction = flow.split()
        sends = 'udp = { rate = "1mbit" }' if what == "udp" else f'cc = "{what}"'
        text += f'[[flow]]\nname = "{what}-{i}"\n{sends}\ndirection = "{direction}"\n'
    return text


def run(folder: Path, flows: Sequence[str], **settings: Any) -> Run:
    [made] = parse(experiment(flows, **settings), "out.toml").run(folder)
    return made


def sorted_by_time(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with its times to a microsecond, the resolution of such a file."""
    columns = [c for c in ("t_s", "flow", "sequence") if c in frame.columns]
    return frame.with_columns(pl.col("t_s").round(6)).sort(columns)


def same(was: pl.DataFrame, now: pl.DataFrame) -> None:
    times = [abs(a - b) for a, b in zip(was["t_s"], now["t_s"], strict=True)]
    assert max(times) < 2e-6
    assert_frame_equal(
        was.select(pl.exclude("t_s")),
        now.select(pl.exclude("t_s")),
        rel_tol=1e-12,
        abs_tol=1e-15,
        check_dtypes=False,
        categorical_as_str=True,
    )


@pytest.mark.parametrize("origin", ["first-flow", "flent"])
@pytest.mark.parametrize("test", LAYOUTS)
def test_what_is_exported_comes_back(tmp_path: Path, test: str, origin: str) -> None:
    before = run(tmp_path / "a", LAYOUTS[test], origin=origin, seconds=12 if origin == "flent" else 3)
    [file] = export_folder(tmp_path / "a", tmp_path / "out")
    assert read(file).name == test
    [done] = import_files([file], tmp_path / "b", command="a test")
    assert done.new
    assert not done.left_out
    after = Run.stored(done.record)
    assert after.scenario == before.scenario
    assert after.engine == "flent"
    assert done.record.head["imported"]["provenance"] == "sampled, imported"
    for table in ("flows", "pings"):
        was, now = sorted_by_time(before.table(table)), sorted_by_time(after.table(table))
        if table == "pings":
            # Where a packet was lost is not in the file.
            was, now = (t.with_columns(pl.col("lost").cast(pl.String) == "") for t in (was, now))
        same(was, now)
    if test != "ping":
        assert after.metric("sum(goodput)") == pytest.approx(before.metric("sum(goodput)"))


def test_what_goes_down_is_a_download_unless_it_is_said(tmp_path: Path) -> None:
    """The suites call the way of the data down: in their testbeds it was an upload."""
    before = run(tmp_path / "a", LAYOUTS["rrul_be"])
    plain, turned = (read(export_folder(tmp_path / "a", tmp_path / way, way)[0]) for way in ("download", "upload"))
    streams = {
        way: {
            meta["SOJOURN_FLOW"]: series
            for series, meta in file.metadata["SERIES_META"].items()
            if not series.startswith("Ping")
        }
        for way, file in (("plain", plain), ("turned", turned))
    }
    assert streams["plain"]["cubic-0"] == "TCP upload BE"
    assert streams["plain"]["reno-1"] == "TCP download BE"
    assert streams["plain"]["udp-3"] == "UDP download::udp-3"
    assert streams["turned"]["cubic-0"] == "TCP download BE"
    assert streams["turned"]["udp-3"] == "UDP upload::udp-3"
    # The ping's requests go down, which is the download's way.
    there = before.pings["owd_s"][0] * 1e3
    ping = "Ping (ms) ICMP"
    assert plain.raw[ping][0]["owd_down"] == pytest.approx(there)
    assert turned.raw[ping][0]["owd_up"] == pytest.approx(there)
    for way in ("download", "upload"):
        [file] = (tmp_path / way).iterdir()
        [done] = import_files([file], tmp_path / f"{way}-again", command="a test")
        after = Run.stored(done.record)
        assert [f["direction"] for f in after.scenario["flows"]] == [f["direction"] for f in before.scenario["flows"]]
        same(
            sorted_by_time(before.pings.select("t_s", "flow", "owd_s")),
            sorted_by_time(after.pings.select("t_s", "flow", "owd_s")),
        )


def test_any_numbers_come_back(make_run: Make, tmp_path: Path) -> None:
    """Numbers of any size, and none."""
    draw = random.Random(1)  # noqa: S311 - nothing secret
    before = make_run(seconds=30)
    scenario = before.scenario
    floats = ["goodput_bps", "delivery_rate_bps", "rtt_s", "srtt_s", "rttvar_s", "pacing_rate_bps"]

    def some() -> float:
        return math.nan if draw.random() < 0.2 else draw.choice([0.0, draw.random(), draw.expovariate(1e-9)])

    flows = before.flows.with_columns(
        *(pl.Series(name, [some() for _ in range(before.flows.height)]) for name in floats),
        cwnd=pl.Series([draw.randrange(2**40) for _ in range(before.flows.height)], dtype=pl.UInt64),
    )
    given = {name: before.table(name) for name in before.tables} | {"flows": flows}
    changed = Run.fresh(before.key, _core.Run(_core.Scenario(json.dumps(scenario)), "sim", "0", given))
    file = tmp_path / "any.flent.gz"
    file.write_bytes(packed(export(changed, file.name)))
    [done] = import_files([file], tmp_path / "b", command="a test")
    now = Run.stored(done.record).flows
    same(sorted_by_time(flows), sorted_by_time(now))


def test_the_same_run_is_the_same_file(tmp_path: Path) -> None:
    run(tmp_path / "a", LAYOUTS["tcp_nup"])
    [one] = export_folder(tmp_path / "a", tmp_path / "one")
    [two] = export_folder(tmp_path / "a", tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()


def long_lines(svg: Path) -> int:
    """Return how many lines of at least 30 points a drawing has: data, not frame."""
    return sum(path.count("\nL ") >= 30 for path in re.findall(r'<path d="([^"]*)"', svg.read_text()))


@pytest.mark.parametrize(
    ("test", "plots"),
    [
        ("tcp_nup", {"tcp_delivery_with_rtt": 5, "totals": 2, "ping_cdf": 1, "box_totals": 0, "tcp_cwnd": 2}),
        ("tcp_ndown", {"totals": 2, "tcp_cwnd": 3}),
        ("rrul_be", {"all_scaled_delivery": 4, "box_totals": 0, "ping_cdf": 1}),
    ],
)
def test_the_real_flent_draws_it(tmp_path: Path, test: str, plots: Mapping[str, int]) -> None:
    run(tmp_path / "a", LAYOUTS[test], seconds=20)
    [file] = export_folder(tmp_path / "a", tmp_path / "out")
    flent = Path(sys.executable).with_name("flent")
    for plot, lines in plots.items():
        drawn = tmp_path / f"{plot}.svg"
        done = subprocess.run(
            [flent, "-i", file, "-p", plot, "-o", drawn, "--figure-width", "12", "--figure-height", "9"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "MPLBACKEND": "Agg"},
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert not re.search(r"(?i)error|warning|traceback|missing", said), said
        assert long_lines(drawn) >= lines, plot
    summary = subprocess.run(
        [flent, "-i", file, "-f", "csv"],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "MPLBACKEND": "Agg"},
    ).stdout
    assert summary.count("\n") > 400


def test_titles_say_what_the_harness_says(make_run: Make) -> None:
    made = make_run(delays=["40ms", "10ms"], labels={"queue": "fq codel"}, qdisc="fq_codel limit 100")
    words = dict(word.split(":", 1) for word in title(made.scenario).split())
    assert words["queue"] == "fq_codel"
    assert words["vs"] == "cubic-cubic"
    assert words["qdisc"] == "fq_codel_limit_100"
    assert words["bandwidth"] == "50Mbit"
    assert words["rtt1"] != words["rtt2"]


def foreign(**changes: Any) -> dict[str, Any]:
    """Return what a file of the published harness looks like, in small."""
    t0 = 1_600_000_000.25
    rows = [
        {
            "t": t0 + 5 + i * 0.05,
            "val": 20.0 + i % 3,
            "dur": 0.05,
            "tcp_cwnd": 50 + i,
            "tcp_rtt": 21.5,
            "tcp_delivery_rate": 24.0,
        }
        for i in range(100)
    ]
    rows[3] = {"t": rows[3]["t"], "val": 7.0}
    pings = [{"t": t0 + i * 0.2, "val": 20.0 + i, "seq": i} for i in range(50)]
    data: dict[str, Any] = {
        "version": 4,
        "metadata": {
            "NAME": "tcp_nup",
            "BATCH_NAME": "l4s-s1",
            "TITLE": "net:ns vs:cubic-prague qdisc:fq_codel bandwidth:50mbit rtt1:80ms rtt2:20ms",
            "TIME": "2020-09-13T12:26:40.000000Z",
            "T0": "2020-09-13T12:26:40.250000Z",
            "TEST_PARAMETERS": {"cc_algos": "cubic,prague", "upload_streams": "2"},
            "FLENT_VERSION": "1.9.9",
        },
        "x_values": [0.0, 0.05],
        "results": {"TCP upload::1": [None, 1.0], "TCP upload sum": [1.0, 2.0], "qdisc drops": [0, 1]},
        "raw_values": {
            "TCP upload::1": rows,
            "TCP upload::2": rows,
            "Ping (ms) ICMP": pings,
            "TCP upload sum": [],
        },
    }
    return data | changes


def write(path: Path, data: object, *, pack: Any = gzip.compress) -> Path:
    path.write_bytes(pack(json.dumps(data).encode()))
    return path


def test_other_peoples_runs(tmp_path: Path) -> None:
    one = write(tmp_path / "one.flent.gz", foreign())
    two = write(tmp_path / "two.flent", foreign(x_values=[0.0, 0.1]), pack=bz2.compress)
    done = import_files([one, two], tmp_path / "r", command="a test")
    assert [d.left_out for d in done] == [["qdisc drops"]] * 2
    first, second = results(tmp_path / "r")
    assert (first.seed, second.seed) == (1, 2), "repetitions of one cell"
    assert first.label.startswith("l4s-s1[ns,cubic-prague,fq_codel,")
    assert [f["traffic"].get("cc") for f in first.scenario["flows"]] == ["cubic", "prague", None]
    assert {f["direction"] for f in first.scenario["flows"]} == {"up"}, "Flent's host is the client"
    assert first.metric("delivery_rate(upload-1)") == pytest.approx(24e6, rel=0.02)
    assert first.flows["cwnd"].max() == 149
    assert first.pings["rtt_s"][0] == pytest.approx(0.020)
    assert first.flows.filter(pl.col("flow") == "upload-1")["t_s"][0] == pytest.approx(5.0)
    [base] = {f.base_rtt_ms() for f in first.scenario.flows[:1]}
    assert base == 80
    queue = first.scenario.bottleneck
    assert queue is not None
    assert queue[0] == "bottleneck.up.qdisc"
    assert (queue[1]["qdisc"], rate_mbit(queue[1])) == ("fq_codel", 50.0)
    assert "rtt_s" in done[0].record.head["imported"]["not_in_the_file"]
    again = import_files([one], tmp_path / "r", command="a test")
    assert not again[0].new
    assert len(results(tmp_path / "r")) == 2


def test_a_file_that_says_little(tmp_path: Path) -> None:
    """Without raw values, title or parameters: the results are taken, and nothing is made up."""
    data = foreign(
        metadata={"NAME": "tcp_1up", "TIME": "2013-01-01T00:00:00"},
        x_values=[0.0, 0.2, 0.4],
        results={"TCP upload": [None, 3.0, 4.0], "Ping (ms) ICMP": [10.0, 11.0, None]},
        raw_values={},
    )
    [done] = import_files([write(tmp_path / "x.flent.gz", data)], tmp_path / "r", command="a test")
    made = Run.stored(done.record)
    assert made.flows["goodput_bps"].to_list() == [3e6, 4e6]
    assert made.flows["delivery_rate_bps"].is_nan().all()
    assert made.scenario.bottleneck is None
    assert made.scenario["flows"][0]["traffic"]["cc"] == "unknown"


BROKEN: dict[str, tuple[Any, str]] = {
    "cut short": (gzip.compress(json.dumps(foreign()).encode())[:400], "it cannot be unpacked"),
    "another thing": (b"\x89PNG, say", "it is not JSON"),
    "a list": (b"[]", "there is no object in it"),
    "no metadata": (foreign(metadata=None), "it has no metadata"),
    "results of a kind": (foreign(results=[]), "it has another kind of results"),
    "too new": (foreign(version=5), "its format has version 5"),
    "too old": (foreign(version=2), "its format has version 2"),
    "no name": (foreign(metadata={"T0": "2020-01-01T00:00:00Z"}), "metadata has no NAME"),
    "no date": (foreign(metadata={"NAME": "ping"}), "neither T0 nor TIME"),
    "a wrong date": (foreign(metadata={"NAME": "ping", "T0": "noon"}), "metadata.T0 is not a date: 'noon'"),
    "no time": (foreign(raw_values={"TCP upload::1": [{"val": 1}]}), "raw_values['TCP upload::1'][0] has no time t"),
    "text": (foreign(raw_values={"TCP upload::1": [{"t": 1, "val": "x"}]}), "[0].val is not a number: 'x'"),
    "beyond": (foreign(raw_values={"TCP upload::1": [{"t": 1, "val": 10**400}]}), "[0].val is not a number"),
    "late": (foreign(raw_values={"TCP upload::1": [{"t": 10**400, "val": 1}]}), "[0] has no time t"),
    "lengths": (foreign(results={"Ping (ms) UDP": [1.0]}), "has not as many values as x_values"),
    "nothing": (foreign(raw_values={}, results={"CPU": [1.0, 2.0]}), "neither TCP or UDP streams nor pings"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_damage_is_named(tmp_path: Path, what: str) -> None:
    content, said = BROKEN[what]
    file = tmp_path / "bad.flent.gz"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    good = write(tmp_path / "good.flent.gz", foreign())
    with pytest.raises(DataFileError, match=re.escape(said)) as caught:
        import_files([good, file], tmp_path / "r", command="a test")
    assert str(caught.value).startswith(f"{file}: ")
    assert caught.value.status == 2
    stored = list((tmp_path / "r").glob("runs/*")) if (tmp_path / "r").exists() else []
    assert len(stored) <= 1, "what was whole may be kept, the damaged file is not"


def test_the_command_line(tmp_path: Path) -> None:
    def sojourn(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sojourn", *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    run(tmp_path / "a", LAYOUTS["tcp_nup"])
    out = sojourn("export", "flent", tmp_path / "a")
    assert out.returncode == 0, out.stderr
    [file] = (tmp_path / "a" / "flent").glob("*.flent.gz")
    into = sojourn("import", file, "-o", tmp_path / "b")
    assert into.returncode == 0, into.stderr
    assert "1 of 1 files imported" in into.stdout
    assert sojourn("report", tmp_path / "b").returncode == 0
    file.write_bytes(file.read_bytes()[:100])
    bad = sojourn("import", file, "-o", tmp_path / "c")
    assert bad.returncode == 2
    assert f"error: {file}: it cannot be unpacked" in bad.stderr
    assert "Traceback" not in bad.stderr
    nothing = sojourn("import", tmp_path / "none.flent.gz", "-o", tmp_path / "c")
    assert (nothing.returncode, "No such file" in nothing.stderr) == (2, True)


def sampled(every: float, mbit: float, *, step: float = 0.05) -> dict[str, Any]:
    """Return a file of a stream with a sample every ``every`` seconds."""
    t0 = 1_600_000_000.25
    count = int(60 / every)
    rows = [{"t": t0 + 5 + (i + 1) * every, "val": mbit * (0.5 + i % 2), "dur": every} for i in range(count)]
    data = foreign(results={}, raw_values={"TCP upload::1": rows})
    data["metadata"]["STEP_SIZE"] = step
    return data


@pytest.mark.parametrize("every", [0.22, 0.05, 0.017, 1.0])
def test_two_ways_to_goodput_agree(tmp_path: Path, every: float) -> None:
    data = sampled(every, 2.0)
    [done] = import_files([write(tmp_path / "x.flent.gz", data)], tmp_path / "r", command="a test")
    rows = data["raw_values"]["TCP upload::1"]
    mean = sum(row["val"] * row["dur"] for row in rows) / sum(row["dur"] for row in rows)
    made = Run.stored(done.record)
    assert made.metric("goodput(upload-1) over last 50s") == pytest.approx(mean * 1e6, rel=0.02)
    arrived = float(made.flows["goodput_bps"].sum()) * 0.05
    assert arrived == pytest.approx(sum(row["val"] * row["dur"] for row in rows) * 1e6, rel=1e-6)


def test_one_bad_file_does_not_end_an_import(tmp_path: Path) -> None:
    good = [write(tmp_path / f"{i}.flent.gz", foreign(x_values=[0.0, 0.05 + i / 10])) for i in range(2)]
    bad = tmp_path / "bad.flent.gz"
    bad.write_bytes(b"\x1f\x8b")
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "import", good[0], bad, good[1], "-o", tmp_path / "r"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"{bad}: it cannot be unpacked" in done.stderr
    assert "2 of 3 files imported" in done.stdout
    assert len(results(tmp_path / "r")) == 2


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    for name, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        file = tmp_path / f"bomb.{name}"
        file.write_bytes(pack(b" " * (2 << 20)))
        with pytest.raises(DataFileError, match=r"more than 1 MiB when it is unpacked") as caught:
            reading.read(file)
        assert str(file) in str(caught.value)
    large = tmp_path / "large"
    large.write_bytes(b" " * (2 << 20))
    with pytest.raises(DataFileError, match="more than 1 MiB"):
        reading.read(large)


def test_devices_and_pipes_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path):
        with pytest.raises(DataFileError, match=f"{path}: (it is not a file|Is a directory)"):
            reading.read(path)
