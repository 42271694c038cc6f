"""The command line as people meet it: in a process of its own, with the simulator."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from by_hand import reseal
from sojourn.core.store import Folder

EXPERIMENT = """\
[experiment]
name = "small"
duration = "4s"
seeds = 2

[axis.queue]
"fifo" = { hop.bottleneck.qdisc = "pfifo limit 50" }
"fq" = { hop.bottleneck.qdisc = "fq_codel" }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"

[[flow]]
name = "one"
cc = "cubic"

[[flow]]
name = "two"
cc = "reno"

[[check]]
name = "full"
that = "sum(goodput) > 5mbit"
"""


def sojourn(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, cwd=cwd, check=False, timeout=120
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(EXPERIMENT)
    return path


def test_many_runs_from_the_file_to_the_report(tmp_path: Path, file: Path) -> None:
    results = tmp_path / "results"
    ran = sojourn("run", str(file), "-o", str(results))
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^fifo +\d+\.\d\d / \d+\.\d\d ", ran.stdout, re.MULTILINE)
    # The last third of four seconds, up to a tenth of them before the end.
    assert "small: check full (2.267 s to 3.6 s): holds in 4 of 4 runs" in ran.stdout
    assert f"sojourn report {results}" in ran.stdout
    assert re.search(r"4 runs in .* simulated seconds per second", ran.stderr)
    records = Folder.open(results).records()
    assert [own.key.label for own in records] == ["small[fifo]#1", "small[fifo]#2", "small[fq]#1", "small[fq]#2"]
    assert records[0].head["command"].startswith("sojourn run ")
    assert records[0].head["scenario"]["hops"][0]["down"][1]["qdisc"] == "pfifo limit 50"

    stored = {p: p.read_bytes() for p in results.glob("segments/*")}
    again = sojourn("run", str(file), "-o", str(results))
    assert again.returncode == 0
    assert f"4 of 4 runs are in {results} already" in again.stderr
    assert again.stdout == ran.stdout
    assert {p: p.read_bytes() for p in results.glob("segments/*")} == stored

    more = sojourn("run", str(file), "-o", str(results), "--seeds", "3")
    assert "4 of 6 runs are in" in more.stderr
    assert len(Folder.open(results).records()) == 6
    assert all(p.read_bytes() == content for p, content in stored.items())

    report = sojourn("report", str(results))
    assert report.returncode == 0, report.stderr
    assert report.stdout.split() == [str(results / "report.md"), str(results / "report.html")]


def test_a_stored_run_can_be_run_again_bit_by_bit(tmp_path: Path, file: Path) -> None:
    assert sojourn("run", str(file), "-o", str(tmp_path / "a"), "--seeds", "1").returncode == 0
    exported = sojourn("export", "run", str(tmp_path / "a"), "small_fq", "-o", str(tmp_path / "one"))
    assert exported.returncode == 0, exported.stderr
    again = sojourn("run", str(tmp_path / "one/scenario.json"), "-o", str(tmp_path / "b"), "--threads", "1")
    assert again.returncode == 0, again.stderr
    [twin] = Folder.open(tmp_path / "b").records()
    [own] = [record for record in Folder.open(tmp_path / "a").records() if "fq" in record.name]
    assert twin.name == own.name
    assert twin.results().digests() == own.results().digests()
    for name in own.tables:
        assert pl.read_parquet(tmp_path / f"one/{name}.parquet").equals(own.table(name)), name


def test_results_do_not_depend_on_threads_or_processes(tmp_path: Path, file: Path) -> None:
    for threads in ("1", "2"):
        ran = sojourn("run", str(file), "-o", str(tmp_path / threads), "--threads", threads)
        assert ran.returncode == 0, ran.stderr
    one, two = (
        {record.name: record.results().digests() for record in Folder.open(tmp_path / n).records()} for n in "12"
    )
    assert one == two
    [first, second] = [digests for name, digests in one.items() if "fq" in name]
    assert first != second


def test_try_answers_with_a_table_and_a_plot() -> None:
    tried = sojourn(
        "try", "--rate", "20mbit", "--rtt", "10ms", "--qdisc", "fq_codel", "--duration", "5s", "cubic", "reno"
    )
    assert tried.returncode == 0, tried.stderr
    rows = [line.split() for line in tried.stdout.splitlines()]
    rates = [float(row[1]) for row in rows if row[:1] in (["cubic"], ["reno"]) and len(row) == 6]
    assert sum(rates) == pytest.approx(20 * 1448 / 1514, rel=0.03)
    assert re.search(r"cubic gets \d+ % of the bottleneck \([\d.]+ Mbit/s\), reno \d+ %", tried.stdout)
    assert "rate, Mbit/s" in tried.stdout
    assert any("\u2801" <= c <= "\u28ff" for c in tried.stdout)
    assert not tried.stderr


def test_try_as_json() -> None:
    tried = json.loads(sojourn("try", "cubic", "cubic", "--duration", "3s", "--json").stdout)
    [queue] = tried["queues"]
    assert [flow["flow"] for flow in queue["flows"]] == ["cubic-1", "cubic-2", "ping"]
    assert 90 < queue["queue"]["utilisation_percent"] < 100.1  # a packet may straddle the window
    assert queue["scenario"]["experiment"] == "try"
    assert queue["answer"][0].startswith("cubic-1 gets")


@pytest.mark.parametrize("kind", ["suites", "qdiscs", "ccs", "elements", "links", "apps", "stacks"])
def test_lists_are_readable_and_as_json(kind: str) -> None:
    names = [entry["name"] for entry in json.loads(sojourn(kind, "--json").stdout)]
    assert names
    shown = sojourn(kind).stdout
    assert all(name in shown for name in names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("qdiscs", "fq_codel"), ("target TIME", "5ms", "interval TIME", "RFC 8290")),
        (("qdiscs", "pie"), ("linux-5.4", "tupdate")),
        (("ccs", "cubic"), ("RFC 9438", "w_max")),
        (("ccs", "noq/bbr3"), ("noq-proto 1.4.0", 'quic = { stack = "noq", cc = "bbr3" }')),
        (("ccs", "quinn/bbr"), ("quinn-proto", "without max_pacing_rate: its pacer has no limit")),
        (
            ("ccs", "smoltcp/reno"),
            ("smoltcp 0.14.0", 'tcp = { stack = "smoltcp", cc = "reno" }', "without ecn: it sends"),
        ),
        (("elements", "periodic_loss"), ("every PACKETS", "must be given", "CCR 27(3), 1997")),
        (("apps", "tcp_rr"), ("response BYTES", "1b", "netperf 2.7, TCP_RR")),
        (("stacks", "linux-5.4"), ("hystart", "initial_window")),
    ],
)
def test_each_thing_is_shown_in_full(words: tuple[str, str], said: tuple[str, ...]) -> None:
    shown = sojourn(*words)
    assert shown.returncode == 0
    for text in said:
        assert text in shown.stdout
    assert json.loads(sojourn(*words, "--json").stdout)["name"] == words[1]


def changed(file: Path, old: str, new: str) -> str:
    assert old in EXPERIMENT
    file.write_text(EXPERIMENT.replace(old, new))
    return str(file)


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ('rate = "10mbit"', 'ratee = "10mbit"', "12:1", 'did you mean "rate"?'),
        ('rate = "10mbit"', 'rate = "10mbits"', "12:", '"mbits"'),
        ('rate = "10mbit"', 'rate = "10"', "12:", "has no unit"),
        ('rate = "10mbit"', 'rate = "0mbit"', "12:", "0"),
        ('rtt = "20ms"', 'rtt = "-20ms"', "13:", "negative"),
        ('rtt = "20ms"', 'rtt = "61s"', "13:", "60s"),
        ('"fq_codel"', '"fqcodel"', "8:", 'did you mean "fq_codel"?'),
        ('"fq_codel"', '"fq_codel targt 1ms"', "8:", 'did you mean "target"?'),
        ('"fq_codel"', '"fq_codel target"', "8:", "target"),
        ('cc = "reno"', 'cc = "renoo"', "21:", 'did you mean "reno"?'),
        ('duration = "4s"', 'duration = "4s"\nstack = "linux-7"', "4:", 'did you mean "linux-7.3"?'),
        ('duration = "4s"', "duration = 4", "3:", "duration"),
        ('[[hop]]\nname = "bottleneck"', '[[hop]\nname = "bottleneck"', "10:", ""),
        ("seeds = 2", "seeds = 100001", "", "--yes"),
        ("sum(goodput) > 5mbit", "sum(goodputt) > 5mbit", "25:", "goodput"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_place(
    tmp_path: Path, file: Path, old: str, new: str, place: str, said: str
) -> None:
    ran = sojourn("run", changed(file, old, new), "-o", str(tmp_path / "results"))
    assert ran.returncode == 2, ran.stderr
    assert f"--> {file}:{place}" in ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "l4s-test/s1", "-o", "x"), 'did you mean "l4s-tests/s1"?'),
        (("run", "l4s-tests/s99", "-o", "x"), 'there is no scenario "l4s-tests/s99"'),
        (("run", "nothing.toml", "-o", "x"), "there is no file nothing.toml"),
        (("run", ".", "-o", "x"), "is a folder, not an experiment file"),
        (("run", "l4s-tests/s1"), "-o names no results folder"),
        (("run", "l4s-tests/s7", "-o", "x", "--seeds", "0"), "greater than or equal to 1"),
        (("run", "l4s-tests/s7", "-o", "x", "--engine", "ns3"), 'there is no engine "ns3"'),
        (("run", "l4s-tests/s7", "-o", "x", "--engine", "ns3"), "available: sim, linux and live"),
        (("run", "l4s-tests/s7", "-o", "x", "--engine", "linx"), 'did you mean "linux"?'),
        (("run", "l4s-tests/s7", "-o", "x", "--set", "hop.bottleneck.ratee=1mbit"), 'did you mean "rate"?'),
        (("run", "l4s-tests/s7", "-o", "x", "--set", "rate"), "a setting is PATH=VALUE"),
        (("run", "l4s-tests/s7", "-o", "/proc/nowhere"), "could not be made"),
        (("run", "l4s-tests/s7", "-o", sys.executable), "is not a results folder"),
        (("try",), "Missing argument 'CC...'"),
        (("try", "--server", "nginx"), "there is no client for the server"),
        (("try", "--server", "'", "--", "curl"), "No closing quotation"),
        (("try", "--file", "nothing.txt", "--", "curl"), "cannot read nothing.txt"),
        (("try", "--ready", "soon", "--", "curl"), "says nothing of when a server is ready"),
        (("try", "--", "curl", "http://server/"), "--engine linux"),
        (("try", "cubicc"), 'did you mean "cubic"?'),
        (("try", "cubic", "--rate", "50"), "has no unit"),
        (("try", "cubic", "--qdisc", "dualpi3"), "dualpi3"),
        (("try", "cubic", "--rtt", "2h"), "is not a unit here"),
        (("report", "nowhere"), "there is no folder nowhere"),
        (("report", "."), "is not a results folder"),
        (("validate", ".", "--against", "nothing.csv"), "cannot read nothing.csv"),
        (("qdiscs", "fqcodel"), 'did you mean "fq_codel"?'),
        (("ccs", "cubik"), 'did you mean "cubic"?'),
        (("elements", "periodic_los"), 'did you mean "periodic_loss"?'),
        (("links", "sloted"), 'did you mean "slotted"?'),
        (("apps", "tcp_r"), 'did you mean "tcp_rr"?'),
        (("stacks", "linux"), "there is no stack"),
        (("runn",), "Did you mean 'run'?"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = sojourn(*words, cwd=tmp_path)
    assert ran.returncode == 2, ran.stderr
    assert said in re.sub(r"[\s│]+", " ", ran.stderr)
    assert "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())


def test_what_the_engine_lacks_is_refused_by_name_before_anything_runs(tmp_path: Path, file: Path) -> None:
    file.write_text(EXPERIMENT.replace('cc = "reno"', 'cc = "reno"\noffload = true'))
    ran = sojourn("run", str(file), "-o", str(tmp_path / "results"))
    assert ran.returncode == 2
    assert "the engine sim cannot run this" in ran.stderr
    assert "flow two" in ran.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("engine", ["sim", "linux"])
def test_a_discipline_of_several_transmit_queues_is_refused_by_each_engine(tmp_path: Path, engine: str) -> None:
    ran = sojourn("try", "--engine", engine, "--qdisc", "cake_mq besteffort", "cubic", cwd=tmp_path)
    assert ran.returncode == 2, ran.stderr
    assert "cake_mq is for a device with several transmit queues, and a bottleneck has one" in ran.stderr
    assert "help: write cake" in ran.stderr


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    ran = sojourn("run", "binary.toml", "-o", "x", cwd=tmp_path)
    assert ran.returncode == 2
    assert "binary.toml is not a text in UTF-8" in ran.stderr


def stored(results: Path) -> int:
    """Return how many runs a folder has, which a command may be writing."""
    return len(Folder.open(results).store) if (results / "manifest.json").exists() else 0


def interrupt_when_running(words: list[str], results: Path, how: signal.Signals) -> subprocess.Popen[str]:
    """Start a command, wait until it has stored a run, and send it a signal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while stored(results) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(how)
    return process


def long_run(file: Path, results: Path) -> list[str]:
    return [
        "run",
        str(file),
        "-o",
        str(results),
        "--seeds",
        "150",
        "--threads",
        "2",
        "--set",
        "experiment.duration=20s",
    ]


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path, file: Path) -> None:
    results = tmp_path / "results"
    words = long_run(file, results)
    process = interrupt_when_running(words, results, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    kept = re.search(r"interrupted: (\d+) of 300 runs are finished and kept", stderr)
    assert kept, stderr
    assert "to go on from there: sojourn run" in stderr
    assert "Traceback" not in stderr
    assert stored(results) == int(kept[1]) < 300
    assert int(kept[1]) >= 2


def test_kill_9_loses_no_finished_run_and_the_command_goes_on(tmp_path: Path, file: Path) -> None:
    results = tmp_path / "results"
    words = long_run(file, results)
    process = interrupt_when_running(words, results, signal.SIGKILL)
    process.communicate(timeout=60)
    before = {record.name: record.results().digests() for record in Folder.open(results).records()}
    whole = len(before)
    assert 2 <= whole < 300
    again = sojourn(*words)
    assert again.returncode == 0, again.stderr
    assert f"{whole} of 300 runs are in {results} already" in again.stderr
    after = {record.name: record.results().digests() for record in Folder.open(results).records()}
    assert len(after) == 300
    assert before.items() <= after.items()


def test_a_folder_of_another_version_is_refused(tmp_path: Path, file: Path) -> None:
    results = tmp_path / "results"
    assert sojourn("run", str(file), "-o", str(results), "--seeds", "1").returncode == 0
    manifest = json.loads((results / "manifest.json").read_text())
    for key, value, said in (("version", "0.0.1", "was written by Sojourn 0.0.1"), ("format", 99, "has format 99")):
        reseal(results / "manifest.json", {**manifest, key: value})
        ran = sojourn("run", str(file), "-o", str(results))
        assert ran.returncode == 2
        assert said in ran.stderr
    assert sojourn("report", str(results)).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_reader_that_has_had_enough_is_no_error() -> None:
    command = f"{sys.executable} -m sojourn qdiscs --json | head -1"
    piped = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=60)  # noqa: S602
    assert piped.stdout.strip() == "["
    assert "Traceback" not in piped.stderr


def test_help_is_quick_and_names_every_command() -> None:
    shown = sojourn("--help")
    assert shown.returncode == 0
    listed = ("suites", "qdiscs", "ccs", "elements", "links", "apps", "stacks")
    for command in ("run", "try", "report", "validate", *listed, "schema"):
        assert re.search(rf"│ {command} ", shown.stdout)


def test_the_version_names_the_state_of_the_code() -> None:
    assert re.fullmatch(r"sojourn \d+\.\d+\.\d+\+[0-9a-f]{8}\n", sojourn("--version").stdout)


def test_the_schema_accepts_what_the_language_accepts(file: Path) -> None:
    import tomllib  # noqa: PLC0415

    import jsonschema  # noqa: PLC0415

    schema = json.loads(sojourn("schema").stdout)
    jsonschema.validate(tomllib.loads(EXPERIMENT), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(EXPERIMENT.replace("duration", "durration")), schema)
    assert os.access(file, os.R_OK)


@pytest.mark.parametrize(("bound", "status"), [("5mbit", 0), ("50mbit", 1)])
def test_a_failed_check_is_in_the_exit_status(tmp_path: Path, bound: str, status: int) -> None:
    file = tmp_path / "small.toml"
    file.write_text(EXPERIMENT.replace("5mbit", bound))
    ran = sojourn("run", str(file), "-o", str(tmp_path / "results"), "--seeds", "1")
    assert ran.returncode == status, ran.stderr
    assert f"holds in {2 if status == 0 else 0} of 2 runs" in ran.stdout
    assert "results in" in ran.stdout
    assert sojourn("run", str(file), "-o", str(tmp_path / "results"), "--seeds", "1").returncode == status


def test_bdp_multiplies_rate_and_rtt() -> None:
    """50 Mbit/s and 40 ms are 250 kB: 165 packets of 1514 bytes; a hundred flows need a tenth of it."""
    found = json.loads(sojourn("bdp", "50mbit", "40ms", "--flows", "100", "--json").stdout)
    assert found["bdp_bytes"] == 250_000
    by_name = {own["buffer"]: (own["bytes"], own["packets"], own["delay_ms"]) for own in found["buffers"]}
    assert by_name["1 BDP"] == (250_000, 165, 40.0)
    assert by_name["BDP/√100"] == (25_000, 17, 4.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("50", "40ms"), "50 has no unit"),
        (("50mbi", "40ms"), "is not a unit here"),
        (("0bit", "40ms"), "a rate or an RTT of zero"),
    ],
)
def test_bdp_refuses_what_is_no_path(words: tuple[str, str], said: str) -> None:
    done = sojourn("bdp", *words)
    assert done.returncode == 2
    assert said in done.stderr
