"""Which queues results are of: those that matter, in both directions, and the bottleneck by its rule."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sojourn.core import queues
from sojourn.core.cells import group
from sojourn.experiments import library
from sojourn.experiments.experiment import load, parse
from sojourn.plotting.draw.series import panel_of
from sojourn.plotting.figures import KINDS
from sojourn.plotting.kinds import across
from sojourn.views.results import results
from sojourn.views.run import Run
from sojourn.views.summary import columns_of, queues_said, values_of
from sojourn.views.summary_table import Asked, SummaryTable

HOME = """\
[experiment]
name = "home"
duration = "20s"
[[hop]]
name = "line"
rtt = "20ms"
qdisc = "pfifo limit 1000"
down = { rate = "20mbit" }
up = { rate = "5mbit" }
"""

FLOWS = {
    "call-down": "voip = {}",
    "call-up": 'direction = "up"\nvoip = {}',
    "web": 'short_flows = { mean_interval = "1s" }',
    "upload": 'direction = "up"\ncc = "cubic"',
    "download": 'cc = "cubic"',
    "sized": 'direction = "up"\ncc = "cubic"\nbytes = "1mb"',
}


def text(flows: Sequence[str], hop: str = HOME) -> str:
    return hop + "".join(f'[[flow]]\nname = "{name}"\n{FLOWS[name]}\n' for name in flows)


def run(flows: Sequence[str], folder: Path, hop: str = HOME) -> Run:
    [made] = parse(text(flows, hop), "home.toml").run(folder)
    return made


def sojourn(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", *map(str, words)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A line of 20 and 5 Mbit/s with a call, web pages and an upload, which fills its queue."""
    folder = tmp_path_factory.mktemp("home") / "r"
    run(["call-down", "call-up", "web", "upload"], folder)
    return folder


def test_the_queue_that_packets_wait_longest_in_is_first(home: Path) -> None:
    [made] = results(home)
    up, *others = queues.that_matter([made])
    assert (up.path, up.hop, up.way, up.words) == ("line.up.qdisc", "line", "upload", "pfifo limit 1000")
    assert [queue.way for queue in others] == ["download"]
    assert made.metric("mean(queue_delay, line.up.qdisc)") > 10 * made.metric("mean(queue_delay, line.down.qdisc)")
    assert queues.bottleneck(made.scenario) == up, "the call next to the upload goes both ways, and web pages go down"


def test_the_summary_has_both_by_what_they_are(home: Path, tmp_path: Path) -> None:
    [cell] = group(results(home))
    columns = columns_of([cell])
    [delay] = [index for index, own in enumerate(columns) if own.column.key == "queue_delay_ms"]
    assert columns[delay].of == "upload / download"
    up, down = values_of(cell, columns)[delay].text.split(" / ")
    assert float(up) > 10 * float(down) > 0
    assert queues_said([cell]) == "line upload: pfifo limit 1000; line download: pfifo limit 1000"
    (tmp_path / "home.toml").write_text(text(["call-down", "call-up", "web", "upload"]))
    shown = sojourn("run", tmp_path / "home.toml", "-o", home)
    assert "upload / download" in shown
    assert "queues: line upload: pfifo limit 1000; line download" in shown
    [summary] = json.loads(sojourn("run", tmp_path / "home.toml", "-o", home, "--json"))["cells"]
    assert summary["bottleneck"] == "line.up.qdisc"
    assert [(own["hop"], own["direction"], own["qdisc"]) for own in summary["queues"]] == [
        ("line", "upload", "pfifo limit 1000"),
        ("line", "download", "pfifo limit 1000"),
    ]
    assert summary["queues"][0]["values"]["queue_delay_ms"] == summary["values"]["queue_delay_ms"]


def test_the_table_and_the_panel_have_both(home: Path) -> None:
    runs = list(results(home))
    usual = SummaryTable.of(runs)
    assert {f"queue delay, ms of {way} queue" for way in ("upload", "download")} <= set(usual.columns)
    asked = SummaryTable.of(runs, [Asked(e, e) for e in ("mean(queue_delay, {queue})",)])
    assert list(asked.columns) == ["mean(queue_delay, {queue}) of upload queue"]
    frame = results(home).metric("drops({queue})")
    assert frame["of"].to_list() == ["upload queue"]
    [cell] = group(runs)
    assert [name for name, _ in panel_of(cell).queues] == ["upload", "download"]


def test_figures_have_both_or_say_which(home: Path) -> None:
    runs = list(results(home))
    for kind in ("queue-delay", "delivery"):
        drawn = KINDS[kind].draw(runs).data
        assert {"upload", "download"} <= set(drawn["of"].unique()), kind
    assert set(KINDS["delays"].draw(runs).data["of"]) == {"upload queue", "download queue"}
    of = KINDS["cdf"].draw(runs, {"quantity": "sojourn"}).data["of"].unique(maintain_order=True)
    assert of.to_list() == ["line.up.qdisc", "line.down.qdisc"]
    [one] = across.measured(group(runs), "mean(queue_delay, {queue})")
    assert str(one.label) == "Mean queue delay: upload (ms)"
    [rate, *_] = across.measured(group(runs), "goodput({flow})")
    assert str(rate.label) == "Goodput (Mbit/s)"


def test_one_queue_needs_no_name(tmp_path: Path) -> None:
    """A download alone: only ACKs go up, and they do not queue."""
    made = run(["download"], tmp_path / "r")
    assert [queue.path for queue in queues.that_matter([made])] == ["line.down.qdisc"]
    [cell] = group([made])
    assert all(headed.of in {"", "download"} for headed in columns_of([cell]))
    assert {headed.of for headed in columns_of([cell]) if headed.column.each_queue} == {""}
    assert queues_said([cell]) == ""
    assert "queue delay, ms" in SummaryTable.of([made]).columns
    assert [name for name, _ in panel_of(cell).queues] == [""]


def test_where_nothing_waits_it_is_the_bottleneck(tmp_path: Path) -> None:
    calls = run(["call-down", "call-up"], tmp_path / "both")
    assert [queue.path for queue in queues.that_matter([calls])] == ["line.down.qdisc"]
    [cell] = group([calls])
    assert {headed.of for headed in columns_of([cell]) if headed.column.each_queue} == {"download"}, "one of two"
    up = run(["call-up"], tmp_path / "up")
    assert [queue.path for queue in queues.that_matter([up])] == ["line.up.qdisc"]


def test_drops_without_a_wait_matter(tmp_path: Path) -> None:
    """A buffer of one packet at 1 Gbit/s: nobody waits for a millisecond, but packets are lost."""
    hop = HOME.replace("20mbit", "1gbit").replace("pfifo limit 1000", "pfifo limit 2")
    made = run(["download"], tmp_path / "r", hop)
    assert made.metric("max(queue_delay_max, line.down.qdisc) over all") < 0.001
    [queue] = queues.that_matter([made])
    assert queue.path == "line.down.qdisc"
    [cell] = group([made])
    drops = next(headed for headed in columns_of([cell]) if headed.column.key == "drops")
    assert float(values_of(cell, [drops])[0].text) > 0


@pytest.mark.parametrize(
    ("flows", "side"),
    [
        (["download"], "down"),
        (["upload"], "up"),
        (["upload", "call-down", "call-up", "web"], "up"),
        (["upload", "download"], "down"),
        (["call-up"], "up"),
        (["call-down", "call-up"], "down"),
        (["web", "sized"], "down"),
    ],
)
def test_the_bottleneck_is_on_the_way_of_the_data(flows: Sequence[str], side: str) -> None:
    """That of TCP without end or, where there is none, of all that carries data; down if it goes both ways."""
    scenario = parse(text(flows), "home.toml").run_keys[0].scenario
    assert scenario.data_side == side
    found = scenario.bottleneck
    assert found is not None
    assert found[0] == f"line.{side}.qdisc"


def test_the_suites_bottlenecks_are_down() -> None:
    """The published values are of that queue."""
    for named in library.resolve("all"):
        for key in load(named.file).run_keys[:1]:
            found = key.scenario.bottleneck
            assert found is None or ".down." in found[0], named.file


def test_a_download_and_an_upload_have_no_fairness(tmp_path: Path) -> None:
    """They share no link; two downloads do."""
    [both] = group([run(["download", "upload"], tmp_path / "both")])
    assert "jain" not in {own.column.key for own in columns_of([both])}
    twice = text(["download"]) + '[[flow]]\nname = "other"\ncc = "cubic"\n'
    [one_way] = group(parse(twice, "home.toml").run(tmp_path / "down"))
    assert "jain" in {own.column.key for own in columns_of([one_way])}
