"""Course labs: every solution gets full marks, and every kind of wrong submission misses the points that it should."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab_solutions import CASES, CHECKS, Q, solution
from sojourn.cli.app import app
from sojourn.errors import SojournError, UsageError
from sojourn.evidence import labs
from sojourn.evidence.labs import Mark, mark


def marked(tmp_path: Path, text: str, name: str | None = None) -> Mark:
    file = tmp_path / "submission.toml"
    file.write_text(text)
    return mark(file, name, threads=2)


def points(own: Mark) -> dict[str, float]:
    return {item.what: item.points for item in own.items}


def missed(own: Mark) -> dict[str, str]:
    """Return the explanation of each item that misses points."""
    return {item.what: item.why for item in own.items if item.points < item.of}


@pytest.mark.parametrize("name", labs.labs())
def test_a_lab_is_whole(name: str) -> None:
    own = labs.lab(name)
    assert sum(goal.points for goal in own.goals) == 6
    assert {goal.case for goal in own.goals} == set(own.cases) >= {kind.case for kind in own.kinds}
    assert len(own.questions) >= 3
    assert tomllib.loads(own.start)["experiment"]["name"] == name
    assert all(len(goal.hint.split()) > 4 for goal in own.goals)


@pytest.mark.parametrize("name", labs.labs())
def test_a_solution_gets_full_marks(name: str, tmp_path: Path) -> None:
    own = marked(tmp_path, solution(name))
    assert missed(own) == {}
    assert own.points == own.of == 10


@pytest.mark.parametrize("name", labs.labs())
def test_the_starting_file_is_no_solution(name: str, tmp_path: Path) -> None:
    own = marked(tmp_path, labs.lab(name).start)
    assert own.points <= 5
    assert own.items[0].points == 1
    assert "3 more checks of your own" in missed(own)


def test_the_mark_is_of_results_and_not_of_text(tmp_path: Path) -> None:
    """Another queue that does the same gets the same marks; comments, order and seeds of the file change nothing."""
    text = solution("bufferbloat", {"managed": f'{Q} = "fq_pie"'})
    text = "# another author\n" + text.replace('duration = "40s"', 'duration = "40000ms"\nseeds = 40')
    assert marked(tmp_path, text).points == 10
    assert points(marked(tmp_path, text)) == points(marked(tmp_path, text))


def test_a_goal_that_is_missed_is_explained(tmp_path: Path) -> None:
    own = marked(tmp_path, solution("bufferbloat", {"deep": f'{Q} = "pfifo limit 100"'}))
    why = missed(own)["deep: 99th percentile of the call's waiting time 400ms to 800ms"]
    assert re.match(r"11\d\.\d to 11\d\.\d ms over 6 seeds\. 1000 packets", why)
    # Two checks that predict long delays fail with it.
    assert own.points == 10 - 2 - 2


def test_a_goal_that_chance_decides_gets_half(tmp_path: Path) -> None:
    own = marked(tmp_path, solution("rtt-unfairness", {"unfair": f'{Q} = "pfifo limit 62"'}))
    halves = [item for item in own.items if item.points == item.of / 2]
    assert [item.what for item in halves] == ["unfair: the nearby flow's share of the goodput > 75%"]
    assert re.search(r"holds with [1-5] of 6 seeds, so chance decides\.", halves[0].why)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('rate = "10mbit"', 'rate = "20mbit"', "hops.bottleneck.down.qdisc.rate is 20Mbit, in the lab 10Mbit"),
        ('rtt  = "40ms"', 'rtt  = "4ms"', "chain"),
        ('cc    = "cubic"', 'cc    = "bbr"', "flows.download.traffic.cc is bbr, in the lab cubic"),
        ('from = "15s"', 'from = "30s"', "windows.steady.bounds.between.from is 30s, in the lab 15s"),
        ("voip = {}", "irtt = {}", "flows.call.traffic.kind is irtt, in the lab voip"),
        ('duration = "40s"', 'duration = "400s"', "duration is 400s, in the lab 40s"),
        ('"deep"', '"depth"', "with the labels deep, managed"),
        ("[axis.case]", '[axis.more]\n"a" = {}\n"b" = {}\n\n[axis.case]', "must have one axis, `case`"),
        ('"managed" =', f'"more" = {{ {Q} = "codel" }}\n"managed" =', "with the labels deep, managed"),
    ],
)
def test_another_setup_gets_no_points(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = solution("bufferbloat", checks="")
    assert old in text
    own = marked(tmp_path, text.replace(old, new))
    assert (own.points, own.of) == (0, 10)
    assert said in own.items[0].why
    assert "Repair the setup first" in own.items[1].why


def test_what_a_case_must_use_is_asked(tmp_path: Path) -> None:
    own = marked(tmp_path, solution("aqm-under-load", {"red": f'{Q} = "fq_codel"'}))
    whys = {why for what, why in missed(own).items() if what.startswith("red: ")}
    assert whys == {"this case must have the queue `red`; the file has fq_codel"}
    own = marked(tmp_path, solution("pacing", {"paced": f'{Q} = "pfifo limit 1bdp"'}))
    assert (
        "the host's queue `fq`; the file has none" in missed(own)["paced: goodput of the first five seconds > 36mbit"]
    )


def check(that: str, only: str = "") -> str:
    return f'\n[[check]]\nthat = "{that}"\n' + (f'only = {{ case = "{only}" }}\n' if only else "")


@pytest.mark.parametrize(
    ("that", "only", "said"),
    [
        ("p99(sojourn, call) > 5s", "deep", "it fails in deep with 6 of 6 seeds"),
        ("p99(sojourn, call) > 0ms", "deep", "it holds in managed, too: a check that cannot fail shows nothing"),
        ("goodput(download) > 1mbit", "", "it is for every case: restrict it"),
        ("mean(completion_time, download) < 5s", "deep", "it has no value in deep"),
    ],
)
def test_a_check_that_says_nothing_gets_no_point(that: str, only: str, said: str, tmp_path: Path) -> None:
    own = marked(tmp_path, solution("bufferbloat", checks=check(that, only)))
    assert own.points == 7
    assert said in missed(own)[f"your check {that} ({only or 'deep, managed'})"]
    assert "2 more checks of your own" in missed(own)


def test_the_same_check_counts_once_and_the_best_three_count(tmp_path: Path) -> None:
    good = "p99(sojourn, call) > 300ms"
    assert marked(tmp_path, solution("bufferbloat", checks=2 * check(good, "deep"))).points == 8
    many = "".join(check(that, case) for that, case in CHECKS["bufferbloat"].items())
    assert (
        marked(tmp_path, solution("bufferbloat", checks=check("goodput(download) > 1gbit", "deep") + many)).points == 10
    )


@pytest.mark.parametrize(
    "wrong",
    [
        ('cc    = "cubic"', 'cc    = "python:mine.py:Mine"'),
        ('duration = "40s"', 'duration = "40s"\nplugins = ["./libmine.so"]'),
        ('duration = "40s"', 'duration = "40s"\nplugins = []'),
        ("voip = {}", 'program = { server = "rm -rf .", client = "true" }'),
        ('cc    = "cubic"', 'cc    = "py${x}mine.py:Mine"'),
        ('"managed" =', '"more" = { experiment.plugins = ["./libmine.so"] }\n"managed" ='),
    ],
)
def test_a_file_that_would_run_code_is_refused(wrong: tuple[str, str], tmp_path: Path) -> None:
    text = solution("bufferbloat")
    assert wrong[0] in text
    with pytest.raises(UsageError, match="is not allowed in a lab"):
        marked(tmp_path, text.replace(*wrong))


def test_a_file_of_no_lab_is_refused(tmp_path: Path) -> None:
    text = solution("bufferbloat").replace('name     = "bufferbloat"', 'name     = "mine"')
    with pytest.raises(UsageError, match="belongs to no lab"):
        marked(tmp_path, text)
    assert marked(tmp_path, text, "bufferbloat").points == 10
    with pytest.raises(UsageError) as raised:
        marked(tmp_path, text, "bufferblot")
    assert 'did you mean "bufferbloat"' in raised.value.render()


def test_a_file_with_a_mistake_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(SojournError) as raised:
        marked(tmp_path, solution("bufferbloat", {"managed": f'{Q} = "fq_codell"'}))
    assert "submission.toml:" in raised.value.render()
    with pytest.raises(UsageError, match="cannot read"):
        mark(tmp_path / "nothing.toml")


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    assert all(name in run(app, ["lab", "list"]).output for name in CASES)
    begun = run(app, ["lab", "start", "bufferbloat"])
    assert begun.exit_code == 0
    assert "Questions" in begun.output
    file = tmp_path / "bufferbloat.toml"
    assert file.read_text() == labs.lab("bufferbloat").start
    assert isinstance(run(app, ["lab", "start", "bufferbloat"]).exception, UsageError)
    done = run(app, ["lab", "check", str(file)])
    assert done.exit_code == 1
    assert "points (lab bufferbloat)" in done.output
    (tmp_path / "good.toml").write_text(solution("bufferbloat"))
    good = run(app, ["lab", "check", "good.toml", "--json"])
    assert good.exit_code == 0
    (found,) = json.loads(good.stdout)
    assert (found["file"], found["points"], found["of"]) == ("good.toml", 10, 10)
