import math
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sojourn import load, parse
from sojourn.cli.parity import _place, _report_columns, _report_pair, _say_what_does_not_count, _Shown
from sojourn.cli.parity import parity as command
from sojourn.cli.run import run_keys
from sojourn.core.run import Run
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.evidence import parity, student
from sojourn.evidence.parity import METRICS, Comparison, Pair, Verdict, estimate
from sojourn.evidence.parity.columns import COMPARED, Row
from sojourn.evidence.parity.equivalence import welch
from sojourn.reporting.report.parity import write as write_page

BY_KEY = {metric.key: metric for metric in METRICS}


def draws(centre: float, deviation: float, count: int, source: random.Random) -> list[float]:
    return [source.gauss(centre, deviation) for _ in range(count)]


def by_seed(values: list[float]) -> Mapping[int, float]:
    return dict(enumerate(values, 1))


def comparison(key: str, ours: list[float], theirs: list[float]) -> Comparison:
    return Comparison(BY_KEY[key], "", by_seed(ours), by_seed(theirs))


@pytest.mark.parametrize(
    ("freedom", "confidence", "t"),
    # Abramowitz and Stegun, table 26.10, and the closed forms of one and two degrees of freedom.
    [(1, 0.5, 1.0), (2, 0.95, 4.303), (4, 0.9, 2.132), (4, 0.95, 2.776), (8, 0.95, 2.306), (30, 0.99, 2.750)],
)
def test_students_t_is_the_table_s(freedom: float, confidence: float, t: float) -> None:
    assert student.quantile(confidence, freedom) == pytest.approx(t, abs=5e-4)
    assert student.two_sided(student.quantile(confidence, freedom), freedom) == pytest.approx(1 - confidence)


def test_students_t_is_the_normal_in_the_end() -> None:
    normal = statistics.NormalDist().inv_cdf(0.975)
    assert student.quantile(0.95, 1e6) == pytest.approx(normal, abs=1e-5)


def test_welch_by_hand() -> None:
    # Means 2 and 6, variances 1 and 4, of three each: an error of √(5/3), (5/3)²/((1/3)²/2 + (4/3)²/2) = 50/17.
    found = welch([1, 2, 3], [4, 6, 8])
    assert found.difference == -4
    assert found.error == pytest.approx(math.sqrt(5 / 3))
    assert found.freedom == pytest.approx(50 / 17)


def test_the_same_seeds_are_compared_seed_by_seed_and_others_are_not() -> None:
    ours, theirs = [1.0, 5.0, 9.0], [1.1, 5.0, 9.2]
    together = estimate(by_seed(ours), by_seed(theirs))
    assert together.paired
    assert together.difference == pytest.approx(-0.1)
    assert together.error == pytest.approx(0.1 / math.sqrt(3))
    apart = estimate(by_seed(ours), {seed + 3: value for seed, value in by_seed(theirs).items()})
    assert not apart.paired
    assert apart.error > 2


@pytest.mark.parametrize(
    ("key", "ours", "theirs", "verdict"),
    [
        # By 0.01 ± 0.0048: within 0.03.
        ("share", [0.50, 0.51, 0.52, 0.53], [0.49, 0.505, 0.51, 0.515], "equivalent"),
        # The ranges overlap from 0.55 to 0.60, and each seed is 0.05 off.
        ("share", [0.50, 0.55, 0.60], [0.55, 0.601, 0.65], "different"),
        # The means are the same, and nobody knows how well.
        ("share", [0.40, 0.60], [0.60, 0.40], "not decided"),
        ("share", [0.5], [0.5], "not decided"),
        ("sum", [47.8, 47.9, 47.8], [48.1, 48.2, 48.1], "equivalent"),
        ("sum", [47.0, 47.1, 47.0], [48.2, 48.3, 48.2], "different"),
        ("queue_delay_mean", [8.7, 8.7, 8.7], [9.5, 9.5, 9.5], "equivalent"),
        ("queue_delay_mean", [8.3, 8.3, 8.3], [10.0, 10.0, 10.0], "different"),
        ("drops", [3.0, 3.0], [0.0, 0.0], "equivalent"),
        ("drops", [4.0, 4.0], [0.0, 0.0], "different"),
        ("ce_fraction", [math.nan], [math.nan], "none"),
    ],
)
def test_engines_are_equivalent_within_a_margin_or_different_or_it_is_not_decided(
    key: str, ours: list[float], theirs: list[float], verdict: str
) -> None:
    assert comparison(key, ours, theirs).verdict == verdict


@pytest.mark.parametrize("paired", [True, False])
def test_a_shift_of_two_deviations_does_not_agree(*, paired: bool) -> None:
    """Five seeds an engine, the margin as large as a deviation: overlap of the ranges would agree in 62 of 100."""
    source = random.Random(7)  # noqa: S311 - the same draws each time
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(400):
        ours, theirs = draws(0.5, 0.03, 5, source), draws(0.5 + 2 * 0.03, 0.03, 5, source)
        seeds = by_seed(theirs) if paired else {seed + 5: value for seed, value in by_seed(theirs).items()}
        counts[Comparison(BY_KEY["share"], "", by_seed(ours), seeds).verdict] += 1
    # At the margin 5 % would be equivalent; this is twice as far.
    assert counts[Verdict.EQUIVALENT] <= 4
    assert counts[Verdict.DIFFERENT] > 0.5 * 400


@pytest.mark.parametrize("shift", [0.03, 0.04])
def test_what_is_off_by_the_margin_is_equivalent_in_one_of_twenty_at_the_most(shift: float) -> None:
    source = random.Random(8)  # noqa: S311
    found = [comparison("share", draws(0.5, 0.01, 8, source), draws(0.5 + shift, 0.01, 8, source)) for _ in range(400)]
    # 5 % of 400, and three deviations of a binomial count.
    assert sum(c.verdict is Verdict.EQUIVALENT for c in found) <= 20 + 3 * math.sqrt(19)


def test_equal_engines_are_found_to_differ_as_seldom_as_chance_allows() -> None:
    source = random.Random(9)  # noqa: S311
    found = [comparison("share", draws(0.5, 0.1, 6, source), draws(0.5, 0.1, 6, source)) for _ in range(400)]
    assert abs(sum(c.estimate.significant for c in found) - 20) <= 3 * math.sqrt(19)


def test_what_one_engine_alone_has_does_not_agree() -> None:
    assert comparison("rtt_mean", [math.nan], [20.0]).verdict is Verdict.DIFFERENT


def made(sums: float, drops: float = 0.0, seeds: int = 3) -> Pair:
    comparisons = [
        comparison("share", [0.5] * seeds, [0.5] * seeds),
        comparison("sum", [sums] * seeds, [48.0] * seeds),
        comparison("queue_delay_mean", [5.0] * seeds, [5.0] * seeds),
        comparison("drops", [drops] * seeds, [0.0] * seeds),
    ]
    return Pair("test", (("queue", "codel"),), "codel limit 1000", "cubic-reno", (seeds, seeds), comparisons)


def test_the_verdict_rests_on_shares_sums_and_queue_delays() -> None:
    good = [made(48.0, drops=100.0)] * 9
    lines = parity.summary([*good, made(40.0)])
    assert parity.holds(lines)
    by_key = {line.metric: line for line in lines if line.by == "all"}
    assert (by_key["sum"].equivalent, by_key["sum"].different, by_key["sum"].count) == (9, 1, 10)
    assert (by_key["drops"].different, by_key["drops"].significant) == (9, 9)
    assert by_key["sum"].worst == pytest.approx(-8 / 48)
    assert by_key["sum"].mean == pytest.approx(-0.8 / 48)
    # Nine times zero and once 8: a deviation of 8/√10, an error of 0.8, and 2.262 of it.
    assert by_key["sum"].low == pytest.approx((-0.8 - 2.262 * 0.8) / 48, rel=1e-3)
    assert not parity.holds(parity.summary([*good[1:], made(40.0), made(40.0)]))
    groups = {(line.by, line.name) for line in lines}
    assert groups == {("all", "all"), ("qdisc", "codel"), ("cc", "cubic-reno")}


def test_what_is_not_decided_does_not_count_as_agreement() -> None:
    undecided = made(48.0, seeds=1)
    (line,) = [line for line in parity.summary([undecided]) if (line.by, line.metric) == ("all", "sum")]
    assert (line.equivalent, line.different, line.undecided) == (0, 0, 1)
    assert not parity.holds(parity.summary([undecided]))
    assert parity.holds(parity.summary([undecided, made(48.0)]))
    assert not parity.holds(parity.summary([undecided, undecided, made(48.0)]))


def test_json_names_units_and_engines() -> None:
    pair = Pair("test", (("queue", "codel"),), "codel", "cubic", (2, 3), [comparison("sum", [47.0] * 3, [48.0] * 3)])
    entry = parity.as_json([pair], parity.summary([pair]))
    (cell,) = entry["cells"]
    assert cell["seeds"] == {"sim": 2, "linux": 3}
    assert (cell["metric"], cell["unit"], cell["verdict"]) == ("sum", "Mbit/s", "different")
    assert (cell["interval"], cell["margin"], cell["paired"]) == ((-1.0, -1.0), pytest.approx(0.48), True)
    assert entry["summary"][0]["metric"] == "sum"


def test_any_two_engines_are_named_in_all_that_is_written() -> None:
    engines = parity.Engines("sim", "live")
    pair = Pair("t", (), "codel", "cubic", (2, 3), [comparison("sum", [47.0], [48.0])], engines)
    (cell,) = parity.as_json([pair], [])["cells"]
    assert cell["seeds"] == {"sim": 2, "live": 3}
    assert (cell["sim"]["mean"], cell["live"]["mean"]) == (47.0, 48.0)
    assert "| cell | metric | simulator | range | live engine | range |" in parity.markdown([pair], [])
    assert parity.USUAL.titles == ("the simulator", "Linux")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim", '"sim" does not name two or more engines'),
        ("sim,sim", '"sim,sim" does not name two or more engines'),
        ("sim,", '"sim," does not name two or more engines'),
        ("sim,linus", 'there is no engine "linus"\n  help: did you mean "linux"?'),
    ],
)
def test_engines_are_asked_for_by_their_names(words: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parity.engine_names(words)
    assert str(raised.value).startswith(said)


def test_the_page_names_the_engines_that_were_compared(tmp_path: Path) -> None:
    runs = parse(SMALL, "small.toml").run()
    both = parity.both(runs, runs)
    write_page(tmp_path / "p.html", both, parity.compare(both, parity.Engines("sim", "live")))
    text = (tmp_path / "p.html").read_text()
    assert "Parity: the simulator and the live engine" in text
    assert ">the simulator</text>" in text
    assert ">the live engine</text>" in text
    assert "<th>simulator</th><th>range</th><th>live engine</th>" in text
    assert "Linux" not in text


def test_engines_on_a_wall_clock_are_not_compared_seed_by_seed() -> None:
    assert parity.Engines("sim", "linux").paired
    assert not parity.Engines("sim", "live").paired
    together = Comparison(BY_KEY["sum"], "", by_seed([1.0, 2.0]), by_seed([2.0, 3.0]))
    apart = Comparison(BY_KEY["sum"], "", by_seed([1.0, 2.0]), by_seed([2.0, 3.0]), paired=False)
    assert together.estimate.error == 0
    # Two variances of a half, each of two values.
    assert apart.estimate.error == pytest.approx(math.sqrt(0.5))


def test_three_engines_have_a_column_each() -> None:
    ours = load_small()
    far = load_small("hop.bottleneck.rtt=200ms")
    found = parity.columns(["sim", "linux", "live"], [ours, ours, far])
    assert [row.metric.key for row in found.rows] == ["share", "queue_delay_mean"] * 2
    assert [engines.names for engines in found.engines] == [("sim", "linux"), ("sim", "live"), ("linux", "live")]
    delays = [row for row in found.rows if row.metric.key == "queue_delay_mean"]
    for row in delays:
        first, second, third = row.values
        assert first == second
        assert abs(first.mean - third.mean) > row.comparisons[1].margin
        assert row.agreement is not parity.Agreement.AGREE
    assert not found.holds
    assert parity.columns(["sim", "linux", "live"], [ours] * 3).holds
    text = parity.columns_markdown(found)
    assert "| cell | metric | simulator | Linux | live engine | largest difference | agreement |" in text
    assert "| simulator and Linux | share | 2 | 2 | 0 | +0.000 | +0.000 to +0.000 |" in text


def test_what_lies_within_a_margin_agrees_and_scatter_does_not_differ() -> None:
    share = next(metric for metric in COMPARED if metric.key == "share")

    def row(theirs: list[float]) -> Row:
        c = Comparison(share, "first", by_seed([0.5, 0.5, 0.5]), by_seed(theirs), paired=False)
        return Row("a cell", share, [c.first, c.second], [c])

    assert row([0.54, 0.53, 0.55]).agreement is parity.Agreement.AGREE
    assert row([0.56, 0.57, 0.58]).agreement is parity.Agreement.DIFFER
    # A mean of 0.57 that its scatter does not tell from 0.5.
    assert row([0.45, 0.57, 0.69]).agreement is parity.Agreement.NOT_DECIDED


def test_a_run_that_is_not_valid_does_not_count() -> None:
    runs = load_small()
    lost = [run for run in runs if run.seed == 1]
    for run in lost:
        run.__dict__["valid"] = False
    assert {pair.seeds for pair in parity.compare(parity.both(runs, load_small()))} == {(1, 2)}
    for run in runs:
        run.__dict__["valid"] = run.scenario.cell_label != "codel"
    found = parity.columns(["sim", "live"], [load_small(), runs])
    assert ({row.title for row in found.rows}, found.left_out) == ({"pie"}, 1)


def test_nothing_holds_without_a_valid_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, lost = load_small(), load_small()
    for run in lost:
        run.__dict__["valid"] = False
    names, runs = ["sim", "linux", "live"], [ours, ours, lost]
    shown = _Shown(tmp_path, tmp_path / "table.md", as_json=False, cells=True, threads=1)
    _say_what_does_not_count(names, runs)
    assert not _report_columns(names, runs, shown)
    assert not _report_pair(["sim", "live"], [ours, lost], shown)
    shows = capsys.readouterr()
    assert "cells left out, without a valid run on one of the engines: 2" in shows.out
    assert "warning: runs on live that are not valid and do not count: 4 of 4" in shows.err
    assert _report_columns(names, [ours] * 3, shown)
    assert "queue_delay_mean: all engines agree in 2 of 2 cells and differ in 0" in capsys.readouterr().out
    assert (tmp_path / "table.md").read_text().startswith("| engines | metric |")


def test_parts_are_of_two_engines() -> None:
    with pytest.raises(UsageError) as raised:
        command(["parity/queues-by"], Path("r"), engines="sim,linux,live", parts=True)
    assert str(raised.value) == (
        '--parts takes two engines, and "sim,linux,live" names 3\n  help: write --engines sim,linux'
    )


def load_small(*settings: str) -> list[Run]:
    return list(parse(SMALL, "small.toml", settings=list(settings)).run())


SMALL = """
[experiment]
name = "small"
duration = "4s"
seeds = 2

[axis.queue]
"codel" = { hop.bottleneck.qdisc = "codel ecn" }
"pie" = { hop.bottleneck.qdisc = "pie ecn" }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"

[[flow]]
name = "first"
cc = "cubic"

[[flow]]
name = "second"
cc = "reno"
"""


def test_the_page_has_both_runs_of_every_cell_and_stands_alone(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    ours = load(file).run()
    theirs = load(file, settings=["hop.bottleneck.rtt=40ms"]).run()
    both = parity.both(ours, theirs)
    pairs = parity.compare(both)
    assert [pair.title for pair in pairs] == ["codel", "pie"]
    page = tmp_path / "parity.html"
    write_page(page, both, pairs)
    text = page.read_text()
    assert text.count("<figure") == 2
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]+"', "", text)
    # Two flows and a queue: two lines in each of three rows, one in the last, from each engine; one is dashed.
    for figure in re.findall(r"<figure.*?</figure>", text, re.DOTALL):
        assert figure.count("stroke-dasharray: 3.6") == 7
        assert figure.count("stroke-opacity: 0.5") == 7
    assert '<tr class="differs"><td class="text">rtt_mean first, ms</td>' in text
    # An engine does not differ from itself.
    write_page(page, parity.both(ours, ours), parity.compare(parity.both(ours, ours)))
    assert "What differs" not in page.read_text()


def test_runs_of_another_version_stay_and_those_of_linux_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"sim": "0.1.0+old", "linux": "0.1.0+kernel"}
    monkeypatch.setattr("sojourn._core.version", lambda engine="sim": versions[engine])
    for engine, version in versions.items():
        assert _place(tmp_path, engine) == tmp_path / engine
        Folder.create(tmp_path / engine, version=version, command="sojourn parity").close()
    versions["sim"] = "0.1.0+new"
    assert _place(tmp_path, "sim") == tmp_path / "sim-new"
    assert _place(tmp_path, "linux") == tmp_path / "linux"


def test_a_seed_determines_a_sample_and_a_larger_one_contains_it() -> None:
    keys = run_keys(["parity/two"], engine="sim", seeds=2, settings=[], yes=False)
    few, more = (parity.sample(keys, count, 7) for count in (5, 20))
    cells = [{key.label.rpartition("#")[0] for key in one} for one in (few, more)]
    assert [len(one) for one in cells] == [5, 20]
    assert [len(one) for one in (few, more)] == [10, 40], "every seed of a cell"
    assert cells[0] < cells[1]
    assert {key.label for key in parity.sample(keys[::-1], 5, 7)} == {key.label for key in few}
    assert {key.label for key in parity.sample(keys, 5, 8)} != {key.label for key in few}


def test_a_sample_of_more_cells_than_there_are_is_refused() -> None:
    keys = run_keys(["parity/long"], engine="sim", seeds=1, settings=[], yes=False)
    with pytest.raises(UsageError, match=r"a sample of 1000 cells of \d+"):
        parity.sample(keys, 1000, 1)


def test_parity_of_a_cell_that_there_is_not(tmp_path: Path) -> None:
    words = ["parity", "parity/loss", "--only", "loss=21%", "-o", str(tmp_path)]
    made = subprocess.run([sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert 'there is no label of the axis loss "21%"' in made.stderr


BY_PARTS = """
[experiment]
name = "by-parts"
duration = "8s"
seeds = 3

[axis.by]
"kernel/kernel" = { hop.bottleneck.qdisc = "KERNELS", flow.first.cc = "reno" }
"sojourn/kernel" = { hop.bottleneck.qdisc = "codel ecn", flow.first.cc = "reno" }
"sojourn/sojourn" = { hop.bottleneck.qdisc = "codel ecn", flow.first.cc = "OURS" }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"

[[flow]]
name = "first"
ecn = "rfc3168"

[[flow]]
name = "second"
cc = "reno"
ecn = "rfc3168"
"""


@pytest.mark.parametrize(
    ("kernels", "ours", "maker"),
    [
        ("codel ecn", "reno", "neither"),
        ("codel ecn target 15ms", "reno", "queue"),
        ("codel ecn", "scalable", "senders"),
        ("codel ecn target 15ms", "scalable", "both"),
    ],
)
def test_a_planted_difference_is_assigned_to_its_part(kernels: str, ours: str, maker: str) -> None:
    """The labels are those of a suite of parts; what each of them runs has another queue or another control planted."""
    runs = parse(BY_PARTS.replace("KERNELS", kernels).replace("OURS", ours), "by-parts.toml").run()
    (cell,) = parity.divide(runs)
    delay = next(d for d in cell.divisions if d.queue.metric.key == "queue_delay_mean")
    assert delay.maker == maker
    assert delay.whole.difference == pytest.approx(delay.queue.difference + delay.senders.difference)
    kernel, mixed, sojourn = (spread.mean for spread in delay.ways)
    assert (mixed - kernel, sojourn - mixed) == (delay.queue.difference, delay.senders.difference)
    (entry,) = [one for one in parity.divided_json([cell]) if one["metric"] == "queue_delay_mean"]
    assert entry["made_by"] == maker
    assert entry["ways"]["kernel/kernel"]["mean"] == kernel
    (row,) = [row for row in parity.divided_rows([cell], headlines=True) if row[1] == "queue_delay_mean, ms"]
    assert row[-1] == maker
    assert "| single cell" not in parity.divided_markdown([cell])
    lines = parity.lines_of([cell])
    (queue,) = [line for line in lines[parity.Part.QUEUE] if (line.by, line.metric) == ("all", "queue_delay_mean")]
    assert (queue.different == 1) == (maker in {"queue", "both"})


def test_runs_without_the_three_ways_are_not_divided() -> None:
    with pytest.raises(UsageError, match=r'the axis "by" has no such axis') as raised:
        parity.divide(parse(SMALL, "small.toml").run())
    assert "parity/queues-by" in str(raised.value)
