"""``sojourn score``: the parts, the sets, controls that crash or never return, and the baselines on the page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import score_baselines as tool

from sojourn.errors import ExperimentError, UsageError
from sojourn.score import PARTS, SETS, read, score
from sojourn.score.sets import TESTED, group
from test_cli import sojourn

CONTROL = """
from sojourn.custom import CongestionControl, View

class Mine(CongestionControl):
    def on_ack(self, view: View) -> float:
        {ack}

    def on_loss(self, view: View) -> float:
        return view.cwnd / 2
"""


def control(folder: Path, ack: str) -> str:
    file = folder / "mine.py"
    file.write_text(CONTROL.format(ack=ack), encoding="utf-8")
    return f"python:{file}:Mine"


@pytest.mark.parametrize("name", SETS)
def test_a_set_has_twenty_cells_and_each_tests_somebody(name: str) -> None:
    keys = read(name).run_keys
    assert len(keys) == 20
    assert len({key.label for key in keys}) == 20
    for key in keys:
        assert any(group(flow) == TESTED for flow in key.scenario["flows"])


def test_the_sets_have_no_cell_in_common() -> None:
    seen: dict[str, str] = {}
    for name in SETS:
        for key in read(name).run_keys:
            scenario = dict(key.scenario)
            path = json.dumps([scenario["hops"], scenario["flows"], scenario["events"]], sort_keys=True)
            assert path not in seen, (name, key.label, seen.get(path))
            seen[path] = key.label


def test_the_control_stands_in_every_tested_flow_and_nowhere_else() -> None:
    for key in read("train", "reno").run_keys:
        for flow in key.scenario["flows"]:
            own = flow["traffic"].get("cc")
            if group(flow) == TESTED:
                assert own == "reno"
    rivals = {flow["traffic"]["cc"] for key in read("train", "scalable").run_keys for flow in key.scenario["flows"]}
    assert {"cubic", "scalable", "reno", "bbr"} == rivals


def test_the_same_bits_every_time_and_with_any_number_of_threads() -> None:
    first, second = score("cubic").json(), score("cubic", threads=2).json()
    assert first == second


def test_parts_are_between_0_and_1_and_make_the_number() -> None:
    own = score("bbr")
    assert set(own.parts) == {*PARTS, "robustness"}
    for verdict in own.verdicts:
        assert {"throughput", "delay"} <= set(verdict.parts) <= set(PARTS)
        assert all(0 <= value <= 1 for value in verdict.parts.values()), verdict
    scores = sorted(verdict.score for verdict in own.verdicts)
    worst = sum(scores[:5]) / 5
    assert own.number == pytest.approx(100 * (0.75 * sum(scores) / 20 + 0.25 * worst))


def test_a_control_that_hardly_sends_and_one_that_takes_all_score_low(tmp_path: Path) -> None:
    cubic = score("cubic").number
    idle = score(control(tmp_path, "return 1.0"))
    assert idle.parts["throughput"] < 0.35
    assert idle.number < cubic
    greedy = score(control(tmp_path, "return 4000.0"))
    assert greedy.parts["harm"] < 0.3
    assert greedy.parts["delay"] < 0.5
    assert greedy.number < cubic


@pytest.mark.parametrize(
    ("ack", "why"),
    [
        ("return 1 / 0", "ZeroDivisionError"),
        ("return 'many'", "returned 'many'"),
        ("return )", "line 6"),
    ],
)
def test_a_control_that_crashes_has_a_score(tmp_path: Path, ack: str, why: str) -> None:
    own = score(control(tmp_path, ack))
    assert own.number == 0
    assert len(own.failures) == 20
    assert why in own.failures[0].failed


def test_a_control_that_crashes_now_and_then_keeps_what_it_finished(tmp_path: Path) -> None:
    own = score(control(tmp_path, "return view.cwnd + 1 / (view.cwnd if view.min_rtt_us < 100_000 else 0)"))
    assert [verdict.case for verdict in own.failures] == ["long"]
    assert own.number > 20


def test_a_control_that_never_returns_has_a_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.custom.watchdog.PERIOD_S", 0.05)
    own = score(control(tmp_path, "while True: pass"))
    assert own.number == 0
    assert "does not come back" in own.failures[0].failed
    assert {verdict.failed for verdict in own.failures[1:]} == {"not tried"}


def test_a_mistake_of_the_user_is_one() -> None:
    with pytest.raises(UsageError, match='there is no set "trian"'):
        score("cubic", on="trian")
    with pytest.raises(Exception, match="cubik"):
        score("cubik")
    with pytest.raises(Exception, match=r"missing\.py"):
        score("python:missing.py:Mine")


def test_a_set_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    text = """
[experiment]
name = "own"
duration = "4s"
ping = false
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
qdisc = "pfifo limit 50"
[[flow]]
name = "tested"
[[flow]]
name = "other"
cc = "reno"
"""
    file.write_text(text, encoding="utf-8")
    own = score("reno", on=str(file))
    assert set(own.verdicts[0].parts) == {"throughput", "delay", "harm"}
    file.write_text(text.replace('"tested"', '"mine"'), encoding="utf-8")
    with pytest.raises(ExperimentError, match='no flow called "tested"'):
        score("reno", on=str(file))
    axis = "[axis.there]\nyes = {}\nno = { flow.tested.enabled = false }\n"
    file.write_text(text.replace("[[flow]]", f"{axis}[[flow]]", 1))
    with pytest.raises(UsageError, match="no flow tested in every cell"):
        score("reno", on=str(file))


def test_the_command(tmp_path: Path) -> None:
    done = sojourn("score", "cubic", "--on", "test", "--json")
    assert done.returncode == 0
    said = json.loads(done.stdout)
    assert said["score"] == score("cubic", on="test").number
    assert len(said["cells"]) == 20
    done = sojourn("score", "cubic", "reno", "--details")
    assert "fifo-1bdp" in done.stdout
    assert sojourn("score", "cubic", "--on", "nowhere").returncode == 2


def test_the_page_has_the_baselines_of_this_build() -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.written(page) == page, "run tools/score_baselines.py, then read the page"


def test_the_example_evolves(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "evolve" / "evolve.py"
    command = [sys.executable, str(script), "--mutations", "3", "-o", str(tmp_path / "winner.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    start, *_, test, _ = done.stdout.splitlines()
    assert start.startswith("start: ")
    assert test.startswith("on test: ")
    assert (tmp_path / "winner.py").read_text(encoding="utf-8").count("GROW = ") == 1
