"""Remarks on facts that a run's numbers hide: printed after it, stored with it, shown next to the numbers."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import sojourn as package
from conftest import Make
from sojourn.core.store import Folder
from sojourn.views.remarks import Remark, remarks, shared_remarks
from sojourn.views.run import Run
from test_cli import sojourn

LONG = """
[experiment]
name = "long"
duration = "60s"
[[hop]]
name = "bottleneck"
rate = "100mbit"
rtt = "160ms"
# Four times the BDP of 1321 packets.
qdisc = "pfifo limit 5284"
[[flow]]
name = "cubic"
count = 2
cc = "cubic"
"""

WIDE = (
    LONG.replace("100mbit", "1gbit")
    .replace("160ms", "200ms")
    .replace("5284", "66050")
    .replace("count = 2", "count = 4")
)
SHORT = LONG.replace("160ms", "20ms").replace("5284", "165").replace("60s", "9s").replace("100mbit", "10mbit")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remarks")
    (folder / "long.toml").write_text(LONG)
    return folder


def run_of(text: str, tmp_path: Path, *settings: str) -> Run:
    file = tmp_path / "one.toml"
    file.write_text(text)
    return package.load(file, settings=settings).run()[0]


@pytest.mark.parametrize(
    ("text", "jain"),
    [(LONG, 0.96), (WIDE, 0.999)],
    ids=["no drop in a buffer of four BDP at 160 ms", "like shares at 1 Gbit/s and 200 ms"],
)
def test_a_send_buffer_that_looks_like_fairness_is_named(text: str, jain: float, tmp_path: Path) -> None:
    run = run_of(text, tmp_path)
    assert run.metric("drops(bottleneck.down.qdisc) over all") == 0
    assert run.metric("jain(delivery_rate)") > jain
    [remark] = remarks(run)
    names = tuple(flow["name"] for flow in run.scenario["flows"] if flow.get("group") == "cubic")
    assert (remark.about, remark.flows) == ("send_buffer", names)
    assert re.search(
        r"are limited by their send buffers for [0-9 to]*(9\d|100) % of the time from 39 s to 59 s", remark.message
    )
    needed = re.match(r'send_buffer = "(\w+)" would do: the path\'s BDP of', remark.help)
    assert needed is not None
    assert remark.help.endswith("without one it ends at the stack's tcp_wmem")
    # And it would: what limits then is something else.
    freed = run_of(text, tmp_path, f"flow.cubic.send_buffer={needed[1]}")
    assert "send_buffer" not in {own.about for own in remarks(freed)}


def test_a_send_buffer_of_the_flows_own_is_named(tmp_path: Path) -> None:
    run = run_of(LONG, tmp_path, "flow.cubic.send_buffer=500k")
    [remark] = remarks(run)
    assert remark.about == "send_buffer"
    assert "tcp_wmem" not in remark.help


@pytest.mark.parametrize(("text", "needed"), [(LONG, "10mb"), (WIDE, "120mb")], ids=["at 160 ms", "at 200 ms"])
def test_a_receive_window_that_looks_like_fairness_is_named(text: str, needed: str, tmp_path: Path) -> None:
    run = run_of(text, tmp_path, "flow.cubic.receive_window=2mb")
    assert run.metric("drops(bottleneck.down.qdisc) over all") == 0
    assert run.metric("jain(delivery_rate)") > 0.99
    [remark] = remarks(run)
    assert remark.about == "receive_window"
    assert re.search(
        r"are limited by their receive windows for (9\d|100) % of the time from 39 s to 59 s", remark.message
    )
    assert remark.help.startswith(f'receive_window = "{needed}" would do: the path\'s BDP of')
    # And it would: what limits then is something else.
    freed = run_of(text, tmp_path, f"flow.cubic.receive_window={needed}")
    assert "receive_window" not in {own.about for own in remarks(freed)}


@pytest.mark.parametrize(
    ("setting", "about"),
    [("app_rate=1mbit", "app_rate"), ("max_pacing_rate=2mbit", "max_pacing_rate")],
)
def test_a_rate_that_was_set_is_named_where_it_limits(setting: str, about: str, tmp_path: Path) -> None:
    [remark] = [own for own in remarks(run_of(SHORT, tmp_path, f"flow.cubic.{setting}")) if own.about != "window"]
    assert (remark.about, remark.flows) == (about, ("cubic-1", "cubic-2"))
    assert remark.help == f"leave {about} out, or set it above the bottleneck's 10mbit"
    # One that does not is not.
    high = "flow.cubic." + re.sub(r"\d+mbit", "100mbit", setting)
    assert about not in {own.about for own in remarks(run_of(SHORT, tmp_path, high))}


def test_flows_that_queue_and_congestion_control_share_among_are_not_remarked_on(tmp_path: Path) -> None:
    run = run_of(SHORT, tmp_path)
    assert remarks(run) == []
    assert run.remarks == []


def test_the_same_remark_on_several_runs_is_shown_once(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(SHORT)
    runs = package.load(file, settings=["flow.cubic.app_rate=1mbit"], seeds=3).run()
    [one] = shared_remarks(runs)
    assert (one.runs, one.first) == (3, "long#1")
    assert str(one).startswith("long#1 and 2 more: cubic-1 and cubic-2 are limited by")


def test_of_windows_that_are_too_short_the_shortest_is_reported(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    enough = iter([140.0, 1800.0, 300.0])

    def found(run: Run) -> list[Remark]:
        del run
        length = next(enough)
        return [Remark("window", (f"flow-{length}",), "a window", f"measure over {length:g} s or more", length)]

    monkeypatch.setattr("sojourn.views.remarks.remarks", found)
    [one] = shared_remarks([make_run(seed=seed) for seed in (1, 2, 3)])
    assert (one.runs, one.first.endswith("#2")) == (3, True)
    assert one.remark.help == "measure over 1800 s or more"


def test_it_is_said_stored_and_reported(long: Path) -> None:
    results = long / "results"
    ran = sojourn("run", str(long / "long.toml"), "-o", str(results), "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    [remark] = answer["remarks"]
    assert (remark["about"], remark["runs"]) == ("send_buffer", 1)
    [cell] = answer["cells"]
    assert cell["windows_s"]["jain"] == [[39.0, 59.0]]
    assert all(share > 95 for own in cell["values"]["sndbuf_limited_percent"].values() for share in own)
    # What limits nobody has no column.
    assert not {"pacing_limited_percent", "app_limited_percent"} & set(cell["values"])
    [record] = Folder.open(results).records()
    assert record.answers is not None
    stored = {key: remark[key] for key in ("about", "flows", "message", "help", "enough")}
    assert json.loads(record.answers.remarks) == [stored]
    for command in (("run", str(long / "long.toml"), "-o", str(results)), ("table", str(results))):
        shown = sojourn(*command)
        assert "warning: cubic-1 and cubic-2 are limited by their send buffers" in shown.stderr
        assert 'help: send_buffer = "' in shown.stderr
        assert "Measured from 39 s to 59 s." in shown.stdout
    assert "send buffer" in sojourn("table", str(results), "--format", "markdown").stdout
    assert sojourn("report", str(results)).returncode == 0
    for page in ("report.md", "report.html"):
        text = (results / page).read_text()
        assert "are limited by their send buffers" in text
        assert "limited by the send buffer" in text
        assert "Measured from 39 s to 59 s." in text


def test_a_table_of_flows_has_their_limits(long: Path) -> None:
    results = package.open(long / "results")
    frame = results.frame("flows")
    limits = results.frame("limits")
    assert frame.height == results[0].flows.height
    last = frame.filter(pl.col("flow").cast(pl.String) == "cubic-1").sort("t_s")[-1]
    same = limits.filter(pl.col("flow").cast(pl.String) == "cubic-1").sort("t_s")[-1]
    for column in ("busy_s", "rwnd_limited_s", "cwnd_limited_s", "app_limited_s"):
        assert last[column].to_list() == same[column].to_list()


def test_every_number_says_where_it_was_measured(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        f'{SHORT}\n[[window]]\nname = "steady"\nfrom = "5s"\nto = "8s"\n'
        '[[check]]\nthat = "goodput(cubic) > 1mbit"\n[[check]]\nthat = "p99(packet_rtt, cubic-1) < 1s"\n'
    )
    results = tmp_path / "results"
    ran = sojourn("run", str(file), "-o", str(results))
    assert "check goodput(cubic) > 1mbit (5 s to 8 s): holds in 1 of 1 runs" in ran.stdout
    assert "check p99(packet_rtt, cubic-1) < 1s (0 s to 9 s): holds" in ran.stdout
    asked = ("goodput(cubic)", "convergence_time(goodput)", "jain(goodput) over last 2s before 1s")
    table = sojourn("table", str(results), *asked).stdout
    assert (
        "Measured from 5 s to 8 s; convergence_time(goodput): from 0 s to 9 s; "
        "jain(goodput) over last 2s before 1s: from 6 s to 8 s."
    ) in " ".join(table.split())
    rows = sojourn("table", str(results), *asked, "--format", "csv").stdout.splitlines()
    assert [row.rpartition(",")[2] for row in rows] == ["window_s", "5 to 8", "0 to 9", "6 to 8"]
    [row] = json.loads(sojourn("table", str(results), *asked, "--json").stdout)
    assert [own["window_s"] for own in row["metrics"].values()] == [[[5.0, 8.0]], [[0.0, 9.0]], [[6.0, 8.0]]]
    assert package.open(results).metric("goodput(cubic)")["window_s"].to_list() == ["5 to 8"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [("1s", "lasts until"), ("2s", "lasts until"), ("9s", "")],
    ids=["in it", "just before", "long before"],
)
def test_a_window_that_holds_slow_start_is_named(seconds: str, said: str, tmp_path: Path) -> None:
    text = SHORT.replace("10mbit", "20mbit").replace("20ms", "100ms").replace("9s", seconds)
    found = [own for own in remarks(run_of(text, tmp_path)) if own.about == "slow start"]
    assert [said in own.message for own in found] == ([True] if said else [])


def test_slow_start_that_never_ends_is_named_and_bbrs_start_is_not(tmp_path: Path) -> None:
    wide = LONG.replace("60s", "1s").replace("100mbit", "1gbit")
    (found,) = (own for own in remarks(run_of(wide, tmp_path)) if own.about == "slow start")
    assert "has not ended" in found.message
    bbr = run_of(wide.replace('cc = "cubic"', 'cc = "bbr"'), tmp_path)
    assert [own for own in remarks(bbr) if own.about == "slow start"] == []


PRAGUE = """
[experiment]
name = "prague"
duration = "6s"
ping = false
[[hop]]
name = "bottleneck"
rate = "50mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "prague"
cc = "prague"
[[flow]]
name = "cubic"
cc = "cubic"
"""


def test_a_window_of_many_times_the_path_is_named(tmp_path: Path) -> None:
    """With seed 10 Prague 0.7 stays in slow start through dozens of marks (docs/linux-notes/prague-slow-start.md)."""
    (tmp_path / "prague.toml").write_text(PRAGUE)
    held, grown = package.load(tmp_path / "prague.toml", settings=["experiment.seeds=[1, 10]"]).run()
    [remark] = [own for own in remarks(grown) if own.about == "cwnd"]
    assert remark.flows == ("prague",)
    assert re.search(r"of prague reaches 15\d\d packets, 1\d times the bandwidth-delay product", remark.message)
    assert not [own for own in remarks(grown) if own.about in {"send_buffer", "receive_window"}]
    assert not [own for own in remarks(held) if own.about == "cwnd"]
    # Behind tail drop a deep buffer lets a window grow.
    deep = PRAGUE.replace('"fq_codel"', '"pfifo limit 5000"')
    (tmp_path / "deep.toml").write_text(deep)
    [run] = package.load(tmp_path / "deep.toml").run()
    assert not [own for own in remarks(run) if own.about == "cwnd"]
