"""``sojourn search``: the same for a seed, simple in the end, and what is published is found again."""

import json
import math
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import _core
from sojourn.core.store.lock import lock
from sojourn.errors import ExperimentError, StoreError, UsageError
from sojourn.experiments.experiment import load, parse
from sojourn.search import Archive, Budget, Campaign, Found, Objective, Subject, Trial, confirm, regression_test, shrink
from sojourn.search.account import outward
from sojourn.search.confirming import Confirmation
from sojourn.search.optimiser import SIZE, Optimiser, Point
from sojourn.search.shrinking import Shrunk
from sojourn.search.written import split, text_of, written
from test_cli import sojourn

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "search"

SMALL = """
[experiment]
name     = "small"
ping     = false
duration = "3s"

[let]
depth = 2

[[hop]]
name   = "bottleneck"
rate   = "10mbit"
rtt    = "20ms"
qdisc  = "pfifo limit ${max(4, round(depth * rate * rtt / 1514b))}"
shaper = "line"

[[flow]]
name = "a"
cc   = "reno"

[[flow]]
name = "b"
cc   = "reno"

[[flow]]
name = "idle"
udp  = { rate = "8kbit" }

[[window]]
name = "steady"
last = "2s"

[search]
minimise            = "share(goodput, a, b)"
let.depth           = "0.1..4 log"
hop.bottleneck.rate = "2mbit..20mbit log"
flow.b.cc           = ["reno", "cubic", "bbr"]
flow.b.count        = "1..3 step 1"

[search.behaviour]
"utilisation(bottleneck.down.qdisc)" = "0..1 step 0.25"
"""


def subject(text: str = SMALL) -> Subject:
    return Subject(text, "small.toml", "")


def found(runs: int, *, threads: int = 2, seed: int = 1, folder: Path | None = None, text: str = SMALL) -> Found:
    budget = Budget(runs=runs)
    return Campaign.plan(
        subject(text), minimise=None, maximise=None, seed=seed, budget=budget, threads=threads, folder=folder
    ).make()


def lines(of: Found) -> list[str]:
    return [json.dumps(trial.json()) for trial in of.trials.made]


def test_the_same_seed_and_budget_find_the_same_on_any_number_of_threads() -> None:
    one, two = found(90, threads=1), found(90, threads=2)
    assert lines(one) == lines(two)
    assert one.trials.runs == 90
    assert one.best == two.best
    # More of the budget has the same beginning.
    assert lines(found(60)) == lines(one)[: len(lines(found(60)))]
    assert lines(found(60, seed=2))[1:] != lines(one)[1 : len(lines(found(60)))]


def test_a_search_goes_on_where_it_was_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = found(70)
    found(40, folder=tmp_path)
    kept = (tmp_path / "trials.jsonl").read_text()
    # Killed in the middle of a line.
    (tmp_path / "trials.jsonl").write_text(kept + '{"trial": 41, "gen')
    made = 0
    really = _core.run_many

    def counted(scenarios: list[_core.Scenario], **said: object) -> None:
        nonlocal made
        made += len(scenarios)
        really(scenarios, **said)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "run_many", counted)
    resumed = found(70, folder=tmp_path)
    assert lines(resumed) == lines(whole)
    assert made == 70 - 40
    rows = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()]
    assert [row["trial"] for row in rows[1:]] == list(range(len(lines(whole))))
    with pytest.raises(StoreError, match="belongs to another search"):
        found(10, folder=tmp_path, seed=2)


@pytest.mark.parametrize(
    ("number", "line", "says"),
    [
        (1, b'{"search": "sm\n', "1 is damaged: it is no JSON"),
        (1, b"\xff\n", "1 is damaged: it is no text"),
        (1, b'{"search": "other.toml"}\n', "belongs to another search"),
        (3, b"{}\n", "3 is damaged: it has no 'value'"),
        (3, b'{"value": 1, "behaviour": [], "settings": [], "failed": ""}\n', "3 is damaged: it has 1 values"),
        (3, b'{"trial": 1, "gener\n', "3 is damaged: it is no JSON"),
        (3, b"[" * 100_000 + b"\n", "3 is damaged: it is nested too deeply"),
    ],
)
def test_damaged_trials_are_named(tmp_path: Path, number: int, line: bytes, says: str) -> None:
    found(5, folder=tmp_path)
    kept = (tmp_path / "trials.jsonl").read_bytes().splitlines(keepends=True)
    kept[number - 1] = line
    (tmp_path / "trials.jsonl").write_bytes(b"".join(kept))
    with pytest.raises(StoreError, match=says):
        found(5, folder=tmp_path)


def test_a_search_that_was_killed_before_its_first_line_was_whole_begins(tmp_path: Path) -> None:
    (tmp_path / "trials.jsonl").write_bytes(b'{"search": "small.t')
    assert lines(found(5, folder=tmp_path)) == lines(found(5))


def test_two_searches_do_not_write_into_one_folder(tmp_path: Path) -> None:
    handle = lock(tmp_path)
    with pytest.raises(StoreError, match="another command is writing into"):
        found(5, folder=tmp_path)
    os.close(handle)
    found(5, folder=tmp_path)


def test_a_trial_is_the_run_of_its_settings() -> None:
    trial = found(30).best
    run = load_text(SMALL, [*trial.settings, f"experiment.seeds=[{trial.seed}]"])
    assert run == trial.value


def load_text(text: str, settings: list[str]) -> float:
    return parse(text, "small.toml", settings=settings).run(quiet=True)[0].metric("share(goodput, a, b)")


def test_settings_in_a_file_mean_the_same_as_on_the_command_line() -> None:
    searched = _core.load_search(SMALL, "small.toml")
    assert searched is not None
    for at in (0.0, 0.3, 0.77, 1.0):
        settings = searched.settings([at] * len(searched.dimensions))
        (outside,) = subject().keys(settings, [7])
        (inside,) = subject(text_of(written(SMALL, settings))).keys([], [7])
        assert inside.scenario == outside.scenario


def test_what_is_found_is_made_simple_and_is_a_regression_test(tmp_path: Path) -> None:
    of = found(60)
    assert of.best.value < 0.1 < of.start.value
    shrunk = shrink(subject(), of.objective, of.best.settings, bound=0.2, seed=1, threads=2)
    tree = tomllib.loads(shrunk.text)
    # The flow that has no part in it is gone; those that the metric names, and what the file fixes, are not.
    assert [flow["name"] for flow in tree["flow"]] == ["a", "b"]
    assert tree["hop"][0]["rtt"] == "20ms"
    assert "search" not in tree
    assert shrunk.value <= 0.2
    confirmed = confirm(subject(), of.objective, shrunk.text, bound=shrunk.bound, seed=1, threads=2, count=8)
    assert len(confirmed.values) == 8
    assert confirmed.interval is not None
    assert confirmed.interval[0] <= confirmed.median <= confirmed.interval[1]
    file = tmp_path / "found.toml"
    file.write_text(regression_test(of, shrunk, confirmed))
    results = load(file).run(quiet=True)
    assert [run.seed for run in results] == confirmed.showing[:5]
    assert all(check.passed for run in results for check in run.checks())
    # The bound is the find's, and not that of the seed that shows it least.
    bound = outward(shrunk.bound, upward=True)
    assert tomllib.loads(file.read_text())["check"][0]["that"] == f"{of.objective.metric} <= {bound:g}"


@pytest.mark.parametrize(
    ("shows", "said"),
    [
        ([True] * 3, "confirmed, 3 of 3 reach 0.1"),
        ([True, False, False], "not confirmed, 2 of 3 do not reach 0.1"),
        ([False] * 3, "not confirmed, 3 of 3 do not reach 0.1"),
    ],
)
def test_a_find_that_fresh_seeds_do_not_show_is_not_confirmed(shows: list[bool], said: str) -> None:
    own = Confirmation("sim", range(7, 10), [0.05 if one else 0.3 for one in shows], 0.1, shows)
    assert str(own).endswith(f": {said}")
    of = found(20)
    text = regression_test(of, Shrunk(tomllib.loads(SMALL), SMALL, 0.1, 0.1, [], 1), own)
    assert tomllib.loads(text)["experiment"]["seeds"] == [7, 8, 9][: sum(shows) or 3]
    assert ("[[check]]" in text) == any(shows)
    assert ("# Not confirmed: of 3 fresh seeds" in text) == (not own.is_confirmed)


def test_an_engine_that_cannot_run_it_says_why() -> None:
    confirmed = confirm(
        subject(), Objective("share(goodput, a)", minimise=True), SMALL.replace('"reno"', '"none"'), bound=0.1, seed=1,
        threads=1,
    )  # fmt: skip
    assert "none" in confirmed.refused
    assert "not run" in str(confirmed)


@pytest.mark.parametrize(
    ("change", "to", "said"),
    [
        ("hop.bottleneck.rate", "hop.bottelneck.rate", "did you mean"),
        ("2mbit..20mbit log", "20mbit..2mbit log", "not below"),
        ("share(goodput, a, b)", "share(goodput, c)", '"c"'),
        ('"bbr"]', '"bbbr"]', "bbr"),
    ],
)
def test_mistakes_have_their_places(change: str, to: str, said: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        found(10, text=SMALL.replace(change, to))
    assert said in str(raised.value)
    assert raised.value.file == "small.toml"
    assert raised.value.line is not None
    assert raised.value.line > SMALL[: SMALL.index("[search]")].count("\n")


def test_a_file_without_a_search_and_a_search_without_an_aim_say_so() -> None:
    with pytest.raises(UsageError, match="names no settings to vary"):
        found(10, text=SMALL[: SMALL.index("[search]")])
    with pytest.raises(UsageError, match="has no objective"):
        found(10, text=SMALL.replace("minimise ", "#"))
    with pytest.raises(UsageError, match="2 cells"):
        found(10, text=SMALL + '\n[axis.rtt]\nhop.bottleneck.rtt = "10ms..20ms step 10ms"\n')


@pytest.mark.parametrize("text", ["", "10 minutes", "0 runs", "1.5 runs", "-3s"])
def test_a_budget_is_runs_or_a_time(text: str) -> None:
    with pytest.raises(UsageError, match="not a budget"):
        Budget.parse(text)


def test_few_values_are_all_tried_and_then_it_ends() -> None:
    text = SMALL[: SMALL.index("let.depth ")] + 'flow.b.count = "1..3 step 1"\n'
    of = found(1000, text=text)
    # The file as it is, and three counts.
    assert of.trials.runs == 4


def test_the_optimiser_finds_the_least_of_a_function_that_it_can_only_ask() -> None:
    """A tilted bowl with its least at (0.8, 0.3), the second of three choices and step 6 of 8."""
    dimensions = [(None, False), (None, False), (3, True), (8, False)]

    def value(point: Point) -> float:
        x, y, choice, step = point
        return (x - 0.8) ** 2 + (y - 0.3 - 0.5 * (x - 0.8)) ** 2 + (int(choice * 3) != 1) + 0.1 * abs(int(step * 8) - 6)

    def least(seed: int, generations: int) -> float:
        optimiser = Optimiser(dimensions, seed)
        archive = Archive(Objective("m", minimise=True), [])
        best = math.inf
        for number in range(generations):
            points = optimiser.ask(archive)
            assert len(points) == SIZE
            assert all(0 <= x <= 1 for point in points for x in point)
            scores = [value(point) for point in points]
            for point, score in zip(points, scores, strict=True):
                archive.best[("all",)] = min(
                    archive.best.get(("all",), (a_trial(number, score), point)),
                    (a_trial(number, score), point),
                    key=lambda own: own[0].value,
                )
            optimiser.tell(scores)
            best = min(best, *scores)
        return best

    # Pure chance has a median of about 0.01 there.
    assert all(least(seed, 40) < 1e-4 for seed in range(5))


def a_trial(number: int, value: float) -> Trial:
    return Trial(number, 0, (), 1, value, ())


def test_a_path_is_split_as_the_language_does() -> None:
    assert split('hop."a.b".rate="1mbit"') == (["hop", "a.b", "rate"], "1mbit")
    assert split("let.x=0.5") == (["let", "x"], 0.5)


def test_the_command_writes_the_page_the_trials_and_the_regression_test(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    out = tmp_path / "out"
    done = sojourn("search", str(file), "--budget", "50runs", "-o", str(out), "--fresh", "6", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["runs"] == 50
    assert result["best"]["value"] < result["start"]["value"]
    assert len(result["confirmed"][0]["values"]) == 6
    assert {own.name for own in out.iterdir()} == {".lock", "trials.jsonl", "search.md", "found.toml"}
    assert "| `flow.b.cc` |" in (out / "search.md").read_text()
    again = sojourn("run", str(out / "found.toml"), "-o", str(tmp_path / "r"))
    assert again.returncode == 0, again.stdout + again.stderr


@pytest.mark.parametrize(
    ("name", "runs", "least", "telling"),
    [
        # BBRv1 leaves CUBIC next to nothing where the buffer is shallow.
        ("bbr1-shallow", 40, 0.05, lambda own: float(own["let.depth"]) < 1),
        # Bursts of a tenth of the link, every second or two, leave Reno a third of what is left of it.
        ("shrew", 120, 3e6, lambda own: own["let.period"].endswith('ms"') or float(own["let.period"].strip('"s')) < 2),
        # A delay of at most 10 ms that has nothing to do with congestion: one of two equal flows has less than a third.
        ("starvation", 30, 0.33, lambda own: float(own["let.slot"].strip('"ms')) > 1),
        # Prague in one queue with CUBIC, not one for each flow nor two for both.
        (
            "prague-classic",
            40,
            0.1,
            lambda own: own["hop.bottleneck.qdisc"].strip('"') not in ("dualpi2", "fq_codel", "cake"),
        ),
    ],
)
def test_what_is_published_is_found_again(
    name: str, runs: int, least: float, telling: Callable[[dict[str, str]], bool]
) -> None:
    file = EXAMPLES / f"{name}.toml"
    of = Campaign.plan(
        Subject(file.read_text(), str(file), str(file.parent)),
        minimise=None,
        maximise=None,
        seed=1,
        budget=Budget(runs=runs),
        threads=2,
    ).make()
    assert of.best.value < least < of.start.value
    assert telling(dict(own.split("=", 1) for own in of.best.settings))
