"""``sojourn table``, ``compare`` and ``plot``: their output for results made by hand, and for mistakes."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import Make
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.evidence.comparison import compare
from sojourn.views.run import Run
from sojourn.views.summary_table import Asked, SummaryTable

RATE = Asked("rate", "delivery_rate({flow})", 1e-6)
WHERE = "Measured from 119 s to 179 s."


def sojourn(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, "-m", "sojourn", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def stored(path: Path, runs: Sequence[Run]) -> Path:
    """Store runs in a new folder."""
    with Folder.create(path, version="0", command="by hand") as folder:
        for run in runs:
            folder.add(run.key, {name: run.table(name) for name in run.tables}, command="by hand")
    return path


@pytest.fixture
def runs(make_run: Make) -> list[Run]:
    """Return two queues at two RTTs, two seeds each."""
    return [
        make_run((rate + seed, 20.0), seed=seed, labels={"queue": queue, "rtt": rtt})
        for queue, rate in (("fq_codel", 24), ("pfifo", 40))
        for rtt in ("20ms", "160ms")
        for seed in (1, 2)
    ]


def test_a_table_has_means_and_ranges(runs: list[Run]) -> None:
    text = SummaryTable.of(runs, [RATE]).markdown()
    assert text.splitlines() == [
        "| queue | rtt | rate of flow-1 | rate of flow-2 |",
        "| --- | --- | ---: | ---: |",
        "| fq_codel | 20ms | 25.5 (25–26) | 20 |",
        "| fq_codel | 160ms | 25.5 (25–26) | 20 |",
        "| pfifo | 20ms | 41.5 (41–42) | 20 |",
        "| pfifo | 160ms | 41.5 (41–42) | 20 |",
        "",
        WHERE,
    ]


def test_an_axis_across_the_top(runs: list[Run]) -> None:
    text = SummaryTable.of(runs, [Asked("x", "delivery_rate(flow-1)", 1e-6)], by="rtt").markdown()
    assert text.splitlines() == [
        "| queue | 20ms | 160ms |",
        "| --- | ---: | ---: |",
        "| fq_codel | 25.5 (25–26) | 25.5 (25–26) |",
        "| pfifo | 41.5 (41–42) | 41.5 (41–42) |",
        "",
        WHERE,
    ]


def test_an_axis_that_is_not_there_is_named(runs: list[Run]) -> None:
    with pytest.raises(UsageError) as raised:
        SummaryTable.of(runs, [RATE], by="queu")
    assert 'did you mean "queue"?' in raised.value.render()


def test_the_same_results_do_not_differ(runs: list[Run]) -> None:
    found = compare(runs, runs)
    assert found.lines
    assert not found.differing
    assert (found.only_first, found.only_second) == ([], [])


def test_what_lies_beyond_the_ranges_differs(make_run: Make, runs: list[Run]) -> None:
    # Ranges 25 to 26 and 25.5 to 26.5 overlap; 41 to 42 and 44 to 45 do not.
    others = [
        make_run((rate + seed, 20.0), seed=seed, labels={"queue": queue, "rtt": "20ms"})
        for queue, rate in (("fq_codel", 24.5), ("pfifo", 43))
        for seed in (1, 2)
    ]
    found = compare(runs, others, [RATE])
    [line] = found.differing
    assert (line.cell, line.of) == ("by-hand[pfifo, 20ms]", "flow-1")
    assert (line.first.mean, line.second.mean) == pytest.approx((41.5, 44.5))
    assert line.change == pytest.approx(3 / 41.5)
    assert found.only_first == ["by-hand[fq_codel, 160ms]", "by-hand[pfifo, 160ms]"]
    assert not compare(runs, others, [RATE], tolerance=0.05).differing


def test_sets_with_nothing_in_common_are_no_comparison(make_run: Make, runs: list[Run]) -> None:
    with pytest.raises(UsageError, match="no cell in common"):
        compare(runs, [make_run(labels={"queue": "red"})])


def test_compare_tells_ci(tmp_path: Path, make_run: Make, runs: list[Run]) -> None:
    one = stored(tmp_path / "a", runs[:2])
    other = stored(
        tmp_path / "b", [make_run((30.0 + s, 20.0), seed=s, labels=dict(runs[0].scenario["cell"])) for s in (1, 2)]
    )
    assert sojourn("compare", str(one), str(one), cwd=tmp_path).returncode == 0
    done = sojourn("compare", str(one), str(other), "-m", "delivery_rate({flow})", "--json", cwd=tmp_path)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["compared"], found["differ"]) == (2, 1)
    assert found["values"][0]["a"] == {"mean": 25.5e6, "low": 25e6, "high": 26e6, "seeds": 2}
    said = sojourn("compare", str(one), str(other), cwd=tmp_path)
    assert "differ beyond the ranges" in said.stdout


def test_compare_seed_by_seed_sees_what_ranges_hide(tmp_path: Path, make_run: Make) -> None:
    """Seeds are 10 Mbit/s apart, the sets 1 Mbit/s: their ranges overlap, and each seed says the same."""
    labels = {"queue": "pfifo"}
    one = stored(tmp_path / "a", [make_run((10.0 * s, 20.0), seed=s, labels=labels) for s in range(1, 8)])
    other = stored(tmp_path / "b", [make_run((10.0 * s + 1, 20.0), seed=s, labels=labels) for s in range(1, 8)])
    words = ("compare", str(one), str(other), "-m", "delivery_rate({flow})", "--json")
    assert sojourn(*words, cwd=tmp_path).returncode == 0
    done = sojourn(*words, "--paired", cwd=tmp_path)
    assert done.returncode == 1
    values = json.loads(done.stdout)["values"]
    assert [value["differs"] for value in values] == [True, False]
    assert values[0]["difference"] == {"median": 1e6, "low": 1e6, "high": 1e6, "seeds": 7}
    # What is beyond zero and within the tolerance is the same.
    assert sojourn(*words, "--paired", "--tolerance", "5", cwd=tmp_path).returncode == 0
    said = sojourn(*words[:-1], "--paired", cwd=tmp_path).stdout
    assert "1 of 2 values in 1 cells differ seed by seed" in said
    assert "of 2 equal values, 0 would differ by chance" in said


def test_too_few_common_seeds_tell_nothing(tmp_path: Path, make_run: Make) -> None:
    labels = {"queue": "pfifo"}
    one = stored(tmp_path / "a", [make_run((10.0 * s, 20.0), seed=s, labels=labels) for s in range(1, 8)])
    other = stored(tmp_path / "b", [make_run((90.0, 20.0), seed=s, labels=labels) for s in range(5, 12)])
    done = sojourn("compare", str(one), str(other), "-m", "delivery_rate({flow})", "--paired", cwd=tmp_path)
    assert done.returncode == 0
    assert "2 have too few common seeds (3 or more; an interval needs 6)" in done.stdout


def test_compare_tells_harm(tmp_path: Path, make_run: Make) -> None:
    """A is alone, B has a rival: 40 and 10 Mbit/s are a harm of 0.75 by Ware et al., and none if less is better."""
    labels = {"queue": "pfifo"}
    alone = stored(tmp_path / "a", [make_run((40.0, 20.0), labels=labels)])
    paired = stored(tmp_path / "b", [make_run((10.0, 20.0), labels=labels)])
    words = ("compare", str(alone), str(paired), "-m", "delivery_rate(flow-1)", "--json")
    for better, harm in (("more", 0.75), ("less", 0.0)):
        found = json.loads(sojourn(*words, "--harm", better, cwd=tmp_path).stdout)
        assert found["values"][0]["harm"] == pytest.approx(harm)
    said = sojourn(*words[:-1], "--harm", "more", cwd=tmp_path).stdout
    assert "harm" in said
    assert "0.750" in said
    wrong = sojourn(*words, "--harm", "most", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "most" in wrong.stderr


def test_harm_of_one_run_against_another(make_run: Make) -> None:
    alone, paired = make_run((40.0, 20.0)), make_run((10.0, 20.0))
    assert paired.harm(alone, "delivery_rate(flow-1)") == pytest.approx(0.75)
    assert alone.harm(paired, "delivery_rate(flow-1)") == 0.0
    assert alone.harm(paired, "delivery_rate(flow-1)", "less") == pytest.approx(0.75)
    # The same as the expression of two values gives.
    assert paired.metric("harm_more_is_better(4, 1)") == pytest.approx(0.75)


def test_table_writes_each_form(tmp_path: Path, runs: list[Run]) -> None:
    folder = str(stored(tmp_path / "a", runs[:4]))
    metric = "delivery_rate({flow})"
    assert "25.5M (25M–26M)" in sojourn("table", folder, metric, cwd=tmp_path).stdout
    rows = json.loads(sojourn("table", folder, metric, "--json", cwd=tmp_path).stdout)
    assert rows[0]["metrics"]["delivery_rate(flow-1)"]["mean"] == 25.5e6
    assert "metric,mean,low,high,seeds" in sojourn("table", folder, metric, "--format", "csv", cwd=tmp_path).stdout


def test_plot_lists_shows_and_draws(tmp_path: Path, runs: list[Run]) -> None:
    folder = str(stored(tmp_path / "a", runs[:4]))
    listed = sojourn("plot", cwd=tmp_path).stdout
    assert "fairness" in listed
    assert "overlay" in listed
    shown = sojourn("plot", folder, "fairness", "help", cwd=tmp_path).stdout
    assert "delivery_rate, goodput" in shown
    done = sojourn("plot", folder, "fairness", "rate=goodput", "-o", "bars.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["bars.svg", "bars.csv"]
    assert (tmp_path / "bars.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plot", "{a}", "fairnes"), 'did you mean "fairness"?'),
        (("plot", "{a}", "fairness", "rate"), "write rate=VALUE"),
        (("plot", "{a}", "fairness", "rat=goodput"), 'did you mean "rate"?'),
        (("plot", "{a}", "fairness", "--cell", "queue=fq"), "there is no queue among these runs"),
        (("plot", "{a}", "fairness", "-o", "x.jpg"), "say x.svg"),
        (("plot", "{a}", "delivery", "-o", "none/x.svg"), "there is no folder none"),
        (("plot", "nothing", "fairness"), "there is no folder nothing"),
        (("plot", "{a}", "fairness", "window=over lst 3s"), "over lst 3s"),
        (("table", "{a}", "godput({flow})"), "godput"),
        (("table", "{a}", "--by", "que"), "axis that varies"),
        (("compare", "{a}", "nothing"), "there is no folder nothing"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, runs: list[Run], words: Sequence[str], said: str) -> None:
    folder = str(stored(tmp_path / "a", runs[:1]))
    done = sojourn(*(word.format(a=folder) if word == "{a}" else word for word in words), cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
