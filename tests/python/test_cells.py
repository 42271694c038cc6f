"""Runs are seeds of one cell only if everything else is equal; what differs is named, everywhere."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from by_hand import a_key, a_scenario, tables
from conftest import Make
from sojourn import _core
from sojourn.core.cells import group, paired
from sojourn.core.select import cells_of, select
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.evidence.claims import evaluate, registry
from sojourn.evidence.comparison import compare
from sojourn.evidence.validation import read_published
from sojourn.evidence.validation.ours import Cells
from sojourn.experiments import library
from sojourn.experiments.experiment import load
from sojourn.plotting import figures
from sojourn.reporting.report import build
from sojourn.views import checks
from sojourn.views.results import Results
from sojourn.views.run import Run
from sojourn.views.summary_table import Asked, SummaryTable


@pytest.fixture
def mixed(make_run: Make) -> list[Run]:
    """Two seeds of an experiment, and two of the same with another rate."""
    return [make_run((20.0, 27.0), seed=s) for s in (1, 2)] + [
        make_run((4.0, 5.0), seed=s, rate="10Mbit") for s in (1, 2)
    ]


def of_build(run: Run, version: str) -> Run:
    made = {name: run.table(name) for name in run.tables}
    results = _core.Run(_core.Scenario(json.dumps(run.scenario)), run.engine, version, made)
    return Run.fresh(replace(run.key, version=version), results)


def test_what_differs_in_a_setting_is_no_seed(mixed: list[Run]) -> None:
    fast, slow = group(mixed)
    assert [len(cell.runs) for cell in (fast, slow)] == [2, 2]
    assert (fast.title, slow.title) == ("rate=50Mbit", "rate=10Mbit")
    assert slow.labels == (("rate", "10Mbit"),)


def test_an_axis_keeps_its_name(make_run: Make) -> None:
    runs = [make_run(labels={"rate": "slow"}), make_run(labels={"rate": "slow"}, rate="10Mbit")]
    assert [cell.title for cell in group(runs)] == ["qdisc.rate=50Mbit", "qdisc.rate=10Mbit"]


def test_a_stale_build_is_no_seed(make_run: Make) -> None:
    runs = [make_run(seed=1), of_build(make_run(seed=2), "0.0.1")]
    assert [len(cell.runs) for cell in group(runs)] == [1, 1]
    assert "build=0.0.1" in [cell.title for cell in group(runs)]


def test_runs_of_linux_are_seeds_though_each_has_a_plan_of_its_own(make_run: Make) -> None:
    """Linux's runs are known by kernel and plan, and a plan has its seed in it."""
    kernel = "0.1.0+00575694, kernel 7.3.4-184fd163"
    runs = [of_build(make_run(seed=seed), f"{kernel}, plan {seed:016x}") for seed in (1, 2)]
    assert [len(cell.runs) for cell in group(runs)] == [2]
    other = of_build(make_run(seed=3), f"{kernel.replace('7.3.4', '6.1.192')}, plan {3:016x}")
    assert [len(cell.runs) for cell in group([*runs, other])] == [2, 1]
    programs = [of_build(make_run(seed=seed), f"{kernel}, plan {seed:016x}, programs 7e57ff") for seed in (1, 2)]
    [cell] = group(programs)
    assert [run.seed for run in cell.runs] == [1, 2], "those of programs are known by these as well"
    again = [of_build(make_run(seed=seed), f"{kernel}, plan {seed + 2:016x}") for seed in (1, 2)]
    assert len(paired(group(runs), group(again))) == 1


def test_a_number_distinguishes_many_differences(make_run: Make) -> None:
    runs = [
        make_run((20.0, 27.0), seed=1),
        make_run((20.0,), ccs=("reno",), delays=("40ms",), rate="10Mbit", qdisc="pie", seconds=60),
        make_run((20.0,), ccs=("reno",), delays=("40ms",), rate="10Mbit", qdisc="red", seconds=60),
    ]
    names = [cell.name for cell in group(runs)]
    assert len(set(names)) == 3


def test_nothing_is_added_where_nothing_differs(make_run: Make) -> None:
    [cell] = group([make_run(seed=1, labels={"queue": "pie"}), make_run(seed=2, labels={"queue": "pie"})])
    assert (cell.labels, cell.title, cell.apart) == ((("queue", "pie"),), "pie", ())


def test_tables_and_selections_know_them(mixed: list[Run]) -> None:
    table = SummaryTable.of(mixed, [Asked("sum", "sum(delivery_rate)", 1e-6)])
    assert "| rate | sum |\n" in table.markdown()
    assert "| 10Mbit | 9 |" in table.markdown()
    assert len(select(mixed, "rate=10*")) == 2
    assert Results(mixed).select(rate="10Mbit").cells[0].runs[0].scenario["hops"][0]["down"][1]["rate"] == "10Mbit"


@pytest.mark.parametrize("kind", ["delivery", "shares", "fairness", "queue-delay", "lines"])
def test_figures_show_them_apart(kind: str, mixed: list[Run]) -> None:
    drawn = figures.KINDS[kind].draw(mixed, {})
    assert set(drawn.data["rate"].cast(pl.String).unique()) == {"50Mbit", "10Mbit"}


def test_a_figure_of_one_of_them(mixed: list[Run]) -> None:
    drawn = figures.KINDS["delivery"].draw(mixed, {"only": "rate=10Mbit"})
    assert set(drawn.data["rate"].cast(pl.String).unique()) == {"10Mbit"}


def test_checks_are_counted_apart(make_run: Make) -> None:
    def with_check(bound: str, seed: int) -> Run:
        scenario: dict[str, Any] = a_scenario(seed=seed)
        scenario["checks"] = [{"name": "fast", "that": f"sum(delivery_rate) > {bound}"}]
        results = _core.Run(_core.Scenario(json.dumps(scenario)), "sim", "0", tables(scenario, (20.0, 27.0)))
        return Run.fresh(a_key(scenario), results)

    found = checks.tally([with_check("5mbit", 1), with_check("5mbit", 2), with_check("60mbit", 1)])
    assert [(one.held, len(one.failed)) for one in found] == [(2, 0), (0, 1)]
    assert "60mbit" in str(found[1])


def test_a_report_has_a_panel_for_each(tmp_path: Path, mixed: list[Run]) -> None:
    with Folder.create(tmp_path / "r", version="0", command="sojourn run x") as folder:
        for run in mixed:
            folder.add(run.key, {name: run.table(name) for name in run.tables}, command="sojourn run x")
    [scenario] = build(Folder.open(tmp_path / "r")).scenarios
    assert [cell.title for cell in scenario.cells] == ["rate=10Mbit", "rate=50Mbit"]
    assert len({cell.file for cell in scenario.cells}) == 2


def test_two_sets_are_paired_by_what_was_asked_for(mixed: list[Run], make_run: Make) -> None:
    theirs = [make_run((4.0, 5.0), seed=1, rate="10Mbit")]
    found = compare(mixed, theirs, [Asked("sum", "sum(delivery_rate)")])
    assert [line.cell for line in found.lines] == ["by-hand[rate=10Mbit]"]
    assert found.only_first == ["by-hand[rate=50Mbit]"]
    alone = [make_run(rate="20Mbit")]
    assert len(paired(cells_of(alone), cells_of(theirs))) == 1, "the same cell of an experiment that was edited"


def test_a_row_is_not_judged_by_two_experiments(tmp_path: Path, make_run: Make) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(
        "scenario,rate_mbit,qdisc,qdisc_tc,cc1,rtt1_ms,d1_mbps,cc2,rtt2_ms,d2_mbps,length_s,window_s\n"
        "s1,50,fq,fq_codel,cubic,20,20,cubic,20,27,180,60\n"
    )
    [row] = read_published(file)
    ours = Cells()
    ours.add(make_run(seed=1))
    ours.add(of_build(make_run(seed=2), "0.0.1"))
    with pytest.raises(UsageError, match=r"several experiments .*build=0\.0\.1"):
        ours.match(row)


def test_a_claim_is_not_judged_by_two_builds(make_run: Make) -> None:
    claim = registry()[0]
    name = next(iter(claim.parts[0].measures.values())).experiment
    (named,) = library.resolve(name)
    scenario = dict(load(named.file, seeds=1).run_keys[0].scenario)
    key = a_key(scenario)
    results = _core.Run(_core.Scenario(json.dumps(scenario)), "sim", "0", {})
    runs = [Run.fresh(replace(key, version=version), results) for version in ("0.1", "0.2")]
    with pytest.raises(UsageError, match=r"there are several called .*build=0\.1"):
        evaluate([claim], runs)


def test_frames_tell_them_apart(mixed: list[Run]) -> None:
    own = Results(mixed)
    assert own.axes == {"rate": ["50Mbit", "10Mbit"]}
    assert own.metric("sum(delivery_rate)")["rate"].cast(pl.String).to_list() == ["10Mbit"] * 2 + ["50Mbit"] * 2
