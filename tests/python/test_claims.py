"""Claims: bounds, the interval of a median, and every verdict on runs of a small experiment."""

import dataclasses
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from conftest import Make
from sojourn.core.store import Folder
from sojourn.errors import StoreError, UsageError
from sojourn.evidence import claims
from sojourn.evidence.claims import Bound, Cause, Claim, ClaimVerdict, Verdict, evaluate, page, registry
from sojourn.evidence.claims.formula import Formula
from sojourn.evidence.claims.registry import Missing, read
from sojourn.evidence.interval import ERROR, FEWEST, SEEDS, fewest, looks, median_interval
from sojourn.experiments.experiment import load
from sojourn.views.run import Run

OVER = ["OVER-" + str(n) for n in range(1, 12)]
L4ST = ["L4ST-" + str(n) for n in range(1, 22)]
ECT1 = ["ECT1-" + str(n) for n in range(1, 14)]
FAST = ["FAST-" + letter for letter in "ABCDEF"]

EXPERIMENT: Final = """\
[experiment]
name = "small"
duration = "3s"

[axis.queue]
"fifo" = { hop.bottleneck.qdisc = "pfifo limit 50" }
"fq" = { hop.bottleneck.qdisc = "fq_codel" }

[axis.rate]
"10mbit" = { hop.bottleneck.rate = "10mbit" }
"5mbit" = { hop.bottleneck.rate = "5mbit" }

[[hop]]
name = "bottleneck"
rtt = "20ms"

[[flow]]
name = "one"
cc = "cubic"

[[window]]
name = "steady"
from = "1s"
to = "3s"
"""

HEAD: Final = 'title = "a report"\n[[claim]]\nid = "X-1"\nfinding = "f"\npublished = "p"\nwhere = "w"\n'


def test_every_claim_of_the_reports_is_there() -> None:
    assert [claim.id for claim in registry()] == [*OVER[:-2], "OVER-10", "OVER-11", *L4ST, *ECT1, *FAST]
    for claim in registry():
        assert claim.parts
        assert claim.published
        assert claim.where


SOURCE: Final = tomllib.loads((Path(__file__).parent / "claims_source.toml").read_text())


def test_no_part_of_a_claim_is_left_out_or_weakened() -> None:
    """The bounds and the number of cells are those of the project's list; see the file."""
    found = {
        own.claim.id: [(part.part.bound.text, len(part.cells)) for part in own.parts]
        for own in evaluate(registry(), [])
    }
    said = {name: [(part["bound"], part["cells"]) for part in own["parts"]] for name, own in SOURCE.items()}
    assert found == said
    assert {part["as"] for own in SOURCE.values() for part in own["parts"]} == {"given", "read"}


@pytest.mark.skipif("SOJOURN_CLAIMS" not in os.environ, reason="SOJOURN_CLAIMS does not name the list of claims")
def test_the_list_of_claims_is_the_one_that_was_read() -> None:
    rows = re.finditer(
        r"^\| ([A-Z0-9]+-\w+) \| (.*\|.*) \|$", Path(os.environ["SOJOURN_CLAIMS"]).read_text(), re.MULTILINE
    )
    digests = {row[1]: hashlib.sha256(row[2].encode()).hexdigest()[:16] for row in rows}
    assert digests == {name: own["says"] for name, own in SOURCE.items()}


def test_the_baseline_names_claims() -> None:
    assert set(claims.baseline()) <= {claim.id for claim in registry()}


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">= 10", [10, 11, math.inf], [9.999]),
        ("> 3s", [3.1, math.inf], [3.0]),
        ("> 99.9%", [0.9991], [0.999, 0.5]),
        ("< 4ms", [0.0039, -1], [0.004]),
        ("<= 0", [0, -1], [1e-9]),
        ("14ms to 17ms", [0.014, 0.017], [0.0139, 0.0171]),
        ("-3% to 3%", [-0.03, 0.03], [0.031]),
        ("39mbit to 40.5mbit", [39e6, 40.5e6], [40.6e6]),
    ],
)
def test_bounds_hold_where_they_say(text: str, inside: list[float], outside: list[float]) -> None:
    bound = Bound.parse(text)
    assert all(map(bound.holds, inside))
    assert not any(map(bound.holds, outside))
    assert all(bound.margin(value) >= 0 for value in inside)
    assert all(bound.margin(value) <= 0 for value in outside)
    assert bound.excludes(min(outside), min(outside)) or bound.excludes(max(outside), max(outside))


@pytest.mark.parametrize("text", ["10", "about 10", "> ten", "< 4 parsecs", "5 to 3", "1ms to 2%", "> 4ms to 5ms"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a bound"):
        Bound.parse(text)


def test_an_interval_that_touches_a_strict_bound_is_outside() -> None:
    assert Bound.parse("> 16").excludes(15, 16)
    assert not Bound.parse(">= 16").excludes(15, 16)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.9875])
@pytest.mark.parametrize("n", range(1, 41))
def test_the_interval_is_the_narrowest_that_keeps_its_word(n: int, confidence: float) -> None:
    interval = median_interval(range(1, n + 1), confidence)

    def coverage(k: int) -> float:
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) * 0.5**n

    if interval is None:
        assert n < fewest(confidence)
        assert coverage(1) < confidence
        return
    low, high = interval
    assert low + high == n + 1
    assert coverage(int(low)) >= confidence
    assert low == n // 2 or coverage(int(low) + 1) < confidence


def test_however_often_one_looks_one_errs_no_more_often() -> None:
    """The median is a bound; at each look its interval is asked, and the first that leaves it out stops."""
    source = random.Random(3)  # noqa: S311 - the same draws each time
    wrong = 0
    for _ in range(600):
        values = [source.random() for _ in range(looks()[-1].seeds)]
        for look in looks():
            interval = median_interval(values[: look.seeds], look.confidence)
            assert interval is not None
            if not interval[0] <= 0.5 <= interval[1]:
                wrong += 1
                break
    assert wrong <= ERROR * 600


@pytest.mark.parametrize("text", ["a +", "a ** 2", "a and b", "f(a)", "a.b", "[a]", "'a'", "min()", "a if b else c"])
def test_a_formula_is_arithmetic_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"formula|understood"):
        Formula(text)


def test_a_formula_that_divides_by_nothing_has_no_value() -> None:
    assert math.isnan(Formula("a / b")({"a": 1.0, "b": 0.0}))


# --- verdicts on real runs ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "small.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture(scope="module")
def runs(file: Path) -> Sequence[Run]:
    return load(file, seeds=FEWEST).run(threads=1)


def written(tmp_path: Path, file: Path, part: str, witness: str = "") -> Claim:
    more = f'witness = "{witness}"\nwitness_data = "sojourn parity"\n' if witness else ""
    text = f'{HEAD}{more}[[claim.part]]\nwhat = "it"\nexperiment = "{file}"\n{part}'
    (tmp_path / "claims.toml").write_text(text)
    (claim,) = read(tmp_path / "claims.toml")
    return claim


def judged(tmp_path: Path, file: Path, runs: Sequence[Run], part: str) -> ClaimVerdict:
    (verdict,) = evaluate([written(tmp_path, file, part)], runs, seeds=FEWEST, threads=1)
    return verdict


def test_reproduced_where_every_cell_is_within(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    own = judged(tmp_path, file, runs, 'value = "goodput(one)"\nbound = "> 1mbit"')
    assert (own.verdict, own.cause) == (Verdict.REPRODUCED, Cause.NONE)
    (part,) = own.parts
    assert [cell.title for cell in part.cells] == ["fifo, 10mbit", "fifo, 5mbit", "fq, 10mbit", "fq, 5mbit"]
    assert own.telling.telling is not None
    assert "5mbit" in own.telling.telling.title
    assert own.telling.telling.low <= own.telling.telling.ours <= own.telling.telling.high
    assert len(own.runs) == 4 * FEWEST
    assert own.seeds == FEWEST
    assert own.advice == ""


def test_not_reproduced_where_one_cell_is_outside(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    own = judged(tmp_path, file, runs, 'value = "goodput(one)"\nbound = "> 6mbit"')
    assert own.verdict is Verdict.NOT_REPRODUCED
    assert [cell.verdict for cell in own.parts[0].cells] == [Verdict.REPRODUCED, Verdict.NOT_REPRODUCED] * 2
    chosen = judged(tmp_path, file, runs, 'cells.rate = "10mbit"\nvalue = "goodput(one)"\nbound = "> 6mbit"')
    assert chosen.verdict is Verdict.REPRODUCED
    assert [cell.title for cell in chosen.parts[0].cells] == ["fifo", "fq"]


def test_inconclusive_where_the_interval_spans_the_bound(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    cells = 'cells = { queue = "fifo", rate = "10mbit" }\n'
    first = judged(tmp_path, file, runs, f'{cells}value = "mean(srtt, one)"\nbound = "> 0s"')
    (cell,) = first.parts[0].cells
    assert cell.low < cell.high
    middle = (cell.low + cell.high) / 2
    own = judged(tmp_path, file, runs, f'{cells}value = "mean(srtt, one)"\nbound = "> {middle * 1e3:.9f}ms"')
    assert (own.verdict, own.cause) == (Verdict.INCONCLUSIVE, Cause.SPANS)
    assert f"--seeds {2 * FEWEST}" in own.advice
    assert "--only queue=fifo --only rate=10mbit" in own.advice


def test_there_is_a_second_look_where_the_first_does_not_tell_and_nowhere_else(
    tmp_path: Path, file: Path, runs: Sequence[Run]
) -> None:
    """What a folder has beyond the seeds of a look does not count, whatever it says."""
    cells = 'cells = { queue = "fifo", rate = "10mbit" }\n'
    cell = [["queue", "fifo"], ["rate", "10mbit"]]
    more = [run for run in load(file, seeds=2 * FEWEST).run(threads=1) if run.scenario["cell"] == cell]
    values = sorted(run.metric("mean(srtt, one)") for run in more if run.seed <= FEWEST)
    between = (values[0] + values[1]) / 2
    second = judged(tmp_path, file, more, f'{cells}value = "mean(srtt, one)"\nbound = "> {between * 1e3:.9f}ms"')
    assert second.seeds == 2 * FEWEST
    assert len(second.runs) == 2 * FEWEST
    first = judged(tmp_path, file, more, f'{cells}value = "mean(srtt, one)"\nbound = "> 1ms"')
    assert first.seeds == FEWEST
    assert [run.seed for run in first.runs] == list(range(1, FEWEST + 1))
    # A third look lacks its runs: the verdict of the second stays.
    if second.cause is Cause.SPANS:
        assert f"--seeds {4 * FEWEST}" in second.advice


def test_few_seeds_are_not_run(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    few = [run for run in runs if run.seed < FEWEST]
    own = judged(tmp_path, file, few, 'value = "goodput(one)"\nbound = "> 1mbit"')
    assert (own.verdict, own.cause) == (Verdict.NOT_RUN, Cause.FEW_SEEDS)
    assert f"--seeds {FEWEST}" in own.advice
    assert not math.isnan(own.parts[0].cells[0].ours)


def test_fewer_seeds_than_tell_anything_are_refused(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    claim = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 1mbit"')
    with pytest.raises(UsageError, match="no verdict is possible with 5 seeds"):
        evaluate([claim], runs, seeds=FEWEST - 1)


def test_runs_that_do_not_meet_a_condition_do_not_count(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    part = """\
where = "rate >= {limit}"
value = "got"
bound = "> 6mbit"
measure.got = {{ of = "goodput(one)" }}
"""
    own = judged(tmp_path, file, runs, part.format(limit="10000000"))
    assert own.verdict is Verdict.REPRODUCED
    assert [cell.title for cell in own.parts[0].cells] == ["fifo, 10mbit", "fq, 10mbit"]
    assert judged(tmp_path, file, runs, part.format(limit="1000000")).verdict is Verdict.NOT_REPRODUCED
    none = judged(tmp_path, file, runs, part.format(limit="100000000"))
    assert (none.verdict, none.cause) == (Verdict.INCONCLUSIVE, Cause.NOT_MET)


def test_not_run_where_a_cell_was_not_run(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    part = [run for run in runs if dict(map(tuple, run.scenario["cell"]))["queue"] == "fq"]
    own = judged(tmp_path, file, part, 'value = "goodput(one)"\nbound = "> 1mbit"')
    assert (own.verdict, own.cause) == (Verdict.NOT_RUN, Cause.NONE)
    assert own.advice == f"sojourn run {file} --only queue=fifo --seeds {FEWEST} -o DIR"


def test_a_miss_is_a_miss_whatever_else_was_not_run(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    part = [run for run in runs if dict(map(tuple, run.scenario["cell"]))["queue"] == "fq"]
    own = judged(tmp_path, file, part, 'value = "goodput(one)"\nbound = "> 20mbit"')
    assert own.verdict is Verdict.NOT_REPRODUCED


def test_runs_of_a_changed_experiment_do_not_count(tmp_path: Path, file: Path) -> None:
    changed = load(file, seeds=1, settings=["hop.bottleneck.rtt=30ms"]).run(threads=1)
    own = judged(tmp_path, file, changed, 'value = "goodput(one)"\nbound = "> 1mbit"')
    assert own.verdict is Verdict.NOT_RUN
    assert not own.runs


def test_cells_are_compared_seed_by_seed(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    part = """\
value = "fast / slow"
bound = "1.5 to 2.5"
measure.fast = { of = "goodput(one)", at = { rate = "10mbit" } }
measure.slow = { of = "goodput(one)", at = { rate = "5mbit" } }
"""
    own = judged(tmp_path, file, runs, part)
    assert own.verdict is Verdict.REPRODUCED
    assert [cell.title for cell in own.parts[0].cells] == ["fifo", "fq"]

    def goodputs(rate: str) -> Iterator[float]:
        for run in runs:
            if run.scenario["cell"] == [["queue", "fifo"], ["rate", rate]]:
                yield run.metric("goodput(one)")

    expected = [a / b for a, b in zip(goodputs("10mbit"), goodputs("5mbit"), strict=True)]
    assert own.parts[0].cells[0].values == expected


def test_a_formula_may_use_labels_that_are_quantities(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    part = 'value = "got / rate"\nbound = "0.7 to 1"\nmeasure.got = { of = "goodput(one)" }\n'
    own = judged(tmp_path, file, runs, part)
    assert own.verdict is Verdict.REPRODUCED


def test_what_has_no_value_is_reported_unless_the_claim_says_what_it_counts(
    tmp_path: Path, file: Path, runs: Sequence[Run]
) -> None:
    never = 'value = "first_above(goodput, one, 1000mbit)"\nbound = "> 1s"\n'
    own = judged(tmp_path, file, runs, never)
    assert (own.verdict, own.cause) == (Verdict.INCONCLUSIVE, Cause.NO_VALUE)
    assert judged(tmp_path, file, runs, f"{never}if_none = inf").verdict is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ('value = "goodput(one)"\nbound = "> 1mbit"\nextra = 1', 'there is no key "extra"'),
        ('value = "goodput(one)"', '"bound" is missing'),
        ('value = "goodput(one)"\nbound = "big"', "is not a bound"),
        ('value = "a"\nbound = "> 1"\nmeasure.b = { of = "goodput(one)" }', "does not use b"),
        (
            'value = "a"\nbound = "> 1"\nmeasure.a = { of = "goodput(one)", at = { queue = ["fq", "fifo"] } }',
            "fixes one label",
        ),
    ],
)
def test_a_mistake_in_a_claim_is_named(tmp_path: Path, file: Path, part: str, said: str) -> None:
    with pytest.raises(StoreError, match=re.escape(said)) as error:
        written(tmp_path, file, part)
    assert "X-1" in str(error.value)


@pytest.mark.parametrize(
    ("part", "said", "helped"),
    [
        ('cells.queues = "fq"\nvalue = "goodput(one)"\nbound = "> 1"', 'axis of .* "queues"', 'did you mean "queue"?'),
        ('cells.queue = "fqq"\nvalue = "goodput(one)"\nbound = "> 1"', 'axis queue "fqq"', 'did you mean "fq"?'),
        ('value = "goodput(two)"\nbound = "> 1"', "two", "one"),
    ],
)
def test_a_claim_on_what_there_is_not_is_named(
    tmp_path: Path, file: Path, runs: Sequence[Run], part: str, said: str, helped: str
) -> None:
    with pytest.raises(StoreError, match=said) as error:
        judged(tmp_path, file, runs, part)
    assert helped in error.value.render()


# --- lines and pages ---------------------------------------------------------------------------------------------


def test_the_page_says_why_where_ours_does_not_reproduce(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    claim = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 6mbit"')
    (own,) = evaluate([claim], runs, seeds=FEWEST, threads=1)
    text = page.markdown([own])
    assert "**0 reproduced, 1 not reproduced, 0 inconclusive, 0 not run of 1 claims**." in text
    assert "| X-1 | f | p (w) |" in text
    assert "**X-1**, f: not reproduced." in text
    assert list(page.summary([own])) == ["0 reproduced, 1 not reproduced, 0 inconclusive, 0 not run of 1 claims"]
    assert page.regressions([own], {"X-1": SEEDS}) == ["X-1"]
    assert page.regressions([own], {}) == []


def test_only_a_claim_that_is_not_reproduced_names_its_witness(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    missed = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 6mbit"', witness="real Linux")
    verdicts = evaluate([missed], runs, seeds=FEWEST, threads=1)
    said = list(page.summary(verdicts))
    assert "without the 1 that others do not reproduce either: 0 of 0 reproduced, none" in said
    assert "X-1 is not reproduced by others either: real Linux [sojourn parity]" in said
    assert "| X-1 | real Linux | `sojourn parity` |" in page.markdown(verdicts)
    held = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 1mbit"', witness="real Linux")
    verdicts = evaluate([held], runs, seeds=FEWEST, threads=1)
    assert not page.witnessed(verdicts)
    assert "real Linux" not in page.markdown(verdicts)


def test_two_totals_are_given(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    missed = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 6mbit"', witness="real Linux")
    held = dataclasses.replace(written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 1mbit"'), id="X-2")
    assert list(page.totals(evaluate([missed, held], runs, seeds=FEWEST, threads=1))) == [
        "1 reproduced, 1 not reproduced, 0 inconclusive, 0 not run of 2 claims",
        "without the 1 that others do not reproduce either: 1 of 1 reproduced, 100 %",
    ]


def test_what_was_not_run_is_no_regression(tmp_path: Path, file: Path) -> None:
    claim = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 6mbit"')
    (own,) = evaluate([claim], [], threads=1)
    assert page.regressions([own], {"X-1": SEEDS}) == []
    assert list(page.summary([own]))[1:] == ["not run: X-1", f"  sojourn run {file} --seeds {SEEDS} -o DIR"]


def test_what_no_longer_tells_is_a_regression(tmp_path: Path, file: Path, runs: Sequence[Run]) -> None:
    cells = 'cells = { queue = "fifo", rate = "10mbit" }\n'
    first = judged(tmp_path, file, runs, f'{cells}value = "mean(srtt, one)"\nbound = "> 0s"')
    middle = (first.parts[0].cells[0].low + first.parts[0].cells[0].high) / 2
    own = judged(tmp_path, file, runs, f'{cells}value = "mean(srtt, one)"\nbound = "> {middle * 1e3:.9f}ms"')
    assert own.cause is Cause.SPANS
    assert page.regressions([own], {"X-1": FEWEST}) == ["X-1"]
    # One that has always taken more seeds than there are is not lost.
    assert page.regressions([own], {"X-1": 2 * FEWEST}) == []


# --- the command -------------------------------------------------------------------------------------------------


def sojourn(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=120,
        env={**os.environ, "COLUMNS": "200"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a results folder with one claim's runs, at one seed."""
    path = tmp_path_factory.mktemp("claims") / "results"
    ran = sojourn(
        "run",
        "l4s-tests/s5",
        "--only",
        "tunnel=no-tunnel",
        "--only",
        "tunnel=fou-auto",
        "-o",
        str(path),
        "--seeds",
        "1",
    )
    assert ran.returncode == 0, ran.stderr
    return path


def test_claims_are_shown_with_what_is_wanting(folder: Path) -> None:
    shown = sojourn("claims", str(folder), "--claim", "L4ST-2", "--details")
    assert shown.returncode == 0, shown.stderr
    assert "0 inconclusive, 1 not run of 1 claims" in shown.stdout
    assert "not run: L4ST-2" in shown.stdout
    assert "sojourn run l4s-tests/s5" in shown.stdout
    assert "no-tunnel, cubic: 1.0" in shown.stdout


def test_claims_as_json(folder: Path) -> None:
    shown = sojourn("claims", str(folder), "--claim", "L4ST-2", "--json")
    (own,) = json.loads(shown.stdout)
    assert own["id"] == "L4ST-2"
    assert (own["verdict"], own["cause"], own["seeds"]) == ("not run", "", SEEDS)
    assert own["published"]
    assert own["low"] is None
    assert len(own["runs"]) == 4
    assert set(own["runs"]) <= set(Folder.open(folder).store.names())


def test_a_claim_of_the_baseline_that_is_lost_is_an_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path, runs: Sequence[Run]
) -> None:
    from sojourn.cli import claims as command  # noqa: PLC0415 - replaced in parts

    claim = written(tmp_path, file, 'value = "goodput(one)"\nbound = "> 6mbit"')
    monkeypatch.setattr("sojourn.evidence.claims.registry", lambda: [claim])
    monkeypatch.setattr("sojourn.evidence.claims.baseline", lambda: {"X-1": SEEDS})
    monkeypatch.setattr("sojourn.views.results.results", lambda _: runs)
    with pytest.raises(SystemExit) as left:
        command.claims(tmp_path, markdown=tmp_path / "page.md", seeds=FEWEST)
    assert left.value.code == 1
    assert "**X-1**" in (tmp_path / "page.md").read_text()
    monkeypatch.setattr("sojourn.evidence.claims.baseline", dict)
    command.claims(tmp_path, seeds=FEWEST)


def test_mistakes_with_claims_are_named(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "bad.toml").write_text('reproduced = ["OVER-99"]')
    (tmp_path / "worse.toml").write_text("reproduced = 3")
    (tmp_path / "worst.toml").write_text('reproduced = ["OVER-1"]\nseeds = { OVER-2 = 40 }')
    for words, said in (
        (("claims", "nowhere"), "there is no folder nowhere"),
        (("claims", str(folder), "--claim", "L4ST-99"), "there is no claim"),
        (("claims", str(folder), "--baseline", "nothing.toml"), "cannot read nothing.toml"),
        (("claims", str(folder), "--baseline", "bad.toml"), 'there is no claim "OVER-99"'),
        (("claims", str(folder), "--baseline", "worse.toml"), "is not a baseline"),
        (("claims", str(folder), "--baseline", "worst.toml"), 'seeds has "OVER-2", which reproduced does not have'),
        (("claims", str(folder), "--seeds", "5"), "no verdict is possible with 5 seeds"),
        (("run", "l4s-tests/s5", "-o", "x", "--only", "tunnel"), "a selection is AXIS=LABEL"),
        (("run", "l4s-tests/s5", "-o", "x", "--only", "tunel=fou"), 'did you mean "tunnel"?'),
        (("run", "l4s-tests/s5", "-o", "x", "--only", "tunnel=fu"), 'did you mean "fou"?'),
    ):
        ran = sojourn(*words, cwd=tmp_path)
        assert ran.returncode == 2, (words, ran.stdout)
        assert said in ran.stderr
        assert "Traceback" not in ran.stderr


def test_an_unknown_claim_in_the_registry_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        claims.read_baseline(tmp_path / "none.toml")


def test_what_is_not_reproduced_has_a_witness_or_names_what_is_missing() -> None:
    reproduced = set(claims.baseline())
    for claim in claims.registry():
        if claim.id not in reproduced:
            assert bool(claim.witness) != bool(claim.missing), claim.id


def test_a_claim_that_is_not_reproduced_names_the_missing_mechanism(
    tmp_path: Path, file: Path, runs: Sequence[Run]
) -> None:
    missing = Missing("the air", "half of it", "a capture")
    for bound, shown in (("> 6mbit", True), ("> 1mbit", False)):
        claim = written(tmp_path, file, f'value = "goodput(one)"\nbound = "{bound}"')
        verdicts = evaluate([dataclasses.replace(claim, missing=missing)], runs, seeds=FEWEST, threads=1)
        assert ("| X-1 | the air | half of it | a capture |" in page.markdown(verdicts)) is shown


@pytest.mark.parametrize(
    ("by_cell", "at"),
    [
        ((6, 6), 6),  # made with --seeds 6: judged at six, and not as one that lacks four
        ((10, 20), SEEDS),
        ((8, 6, 2), 6),  # two are too few for any verdict, whatever the look
        ((2, 3), SEEDS),
        ((), SEEDS),
    ],
)
def test_a_page_judges_at_the_seeds_that_were_run(make_run: Make, by_cell: tuple[int, ...], at: int) -> None:
    made = [
        make_run(seconds=1, seed=seed, labels={"cell": str(cell)})
        for cell, seeds in enumerate(by_cell)
        for seed in range(1, seeds + 1)
    ]
    assert claims.seeds_there(made) == at
