"""``sojourn run --precision``: as many seeds as it takes, and a message where they do not suffice."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sojourn import runner
from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import UsageError
from sojourn.evidence.interval import ERROR, Look
from sojourn.evidence.precision import Aim, Known, Standing, _verdict, _width, plan, until
from sojourn.experiments.experiment import parse
from test_cli import sojourn

TEXT = """
[experiment]
name     = "jittery"
ping     = false
duration = "4s"

[axis.queue]
"pfifo" = { hop.b.qdisc = "pfifo limit 30" }
"fq"    = { hop.b.qdisc = "fq_codel" }

[[hop]]
name = "b"
rate = "10mbit"
rtt  = "20ms"

[[flow]]
name  = "f"
count = 2

[[check]]
name = "half"
that = "share(goodput, f-1) > 0.5"

[[check]]
name = "busy"
that = "utilisation(b.down.qdisc) > 0.5"
"""


def test_the_looks_are_the_evidences_own_and_end_at_the_most() -> None:
    assert plan(10, 80) == [Look(10, 0.95), Look(20, 0.975), Look(40, 0.9875), Look(80, 0.9875)]
    assert math.isclose(sum(1 - look.confidence for look in plan(10, 80)), ERROR)
    with pytest.raises(UsageError, match="no interval"):
        plan(3, 80)
    with pytest.raises(UsageError, match="20 are allowed"):
        plan(30, 20)


@pytest.mark.parametrize("text", ["share(goodput, f)", "=0.1", "share(goodput, f)=", "m=0", "m=-1", "m=inf", "m=nan"])
def test_what_is_no_precision_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no precision"):
        Aim.parse(text)


def test_an_interval_by_hand() -> None:
    """Of 1 to 10 the interval at 95 % is 2 to 9: seven wide."""
    values = [float(n) for n in range(1, 11)]
    assert _width("c", Aim("m", 3.5), values, Look(10, 0.95)).reached
    short = _width("c", Aim("m", 1.75), values, Look(10, 0.95))
    assert (short.reached, short.interval) == (False, (2, 9))
    # Half as wide takes four times as many.
    assert short.more == 30
    assert not _width("c", Aim("m", 100), [*values, math.nan], Look(11, 0.95)).reached


def test_the_verdict_of_a_check_is_the_sign_test() -> None:
    """With ten runs at 95 % the second smallest and the second largest decide: one run may differ, two may not."""
    look = Look(10, 0.95)
    assert _verdict("c", "k", [1.0] * 9 + [0.0], look).reached
    assert not _verdict("c", "k", [1.0] * 8 + [0.0] * 2, look).reached
    none = _verdict("c", "k", [0.0] * 10, look)
    assert (none.reached, none.median) == (True, 0)
    assert "does not hold in the median run" in str(none)
    even = _verdict("c", "k", [1.0, 0.0] * 5, look)
    assert (even.reached, even.more) == (False, None)
    assert "more may never tell" in str(even)


def test_only_cells_that_need_more_get_more() -> None:
    keys = parse(TEXT, "t.toml", seeds=32).run_keys
    made: list[tuple[str, int]] = []

    def make(some: Sequence[RunKey]) -> Sequence[Run]:
        made.extend((str(key.scenario["cell"]), int(key.scenario["seed"])) for key in some)
        return runner.Campaign(keys=some, threads=2).run()

    # What fq_codel does to two flows is the same with every seed, to a per cent.
    runs, standings = until(keys, [Aim("share(goodput, f-1)", 0.02)], plan(8, 32), make)
    seeds = {own.cell: own.seeds for own in standings}
    assert seeds["jittery[fq]"] == 8
    assert seeds["jittery[pfifo]"] > 8
    assert len(runs) == sum(seeds.values())
    assert max(seed for cell, seed in made if "fq" in cell and "pfifo" not in cell) == 8
    for own in standings:
        assert own.reached or own.seeds == 32


def test_the_command_says_what_is_known_and_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TEXT)
    asked = ("run", "t.toml", "-o", "r", "--seeds", "8", "--max-seeds", "16", "--only", "queue=pfifo")
    done = sojourn(*asked, "--precision", "share(goodput, f-1)=0.0001", "--json", cwd=tmp_path)
    reported = json.loads(done.stdout)["precision"]
    assert [own["seeds"] for own in reported] == [16]
    assert "more would be needed" in reported[0]["said"]
    judged = sojourn(*asked, "--precision", "checks", cwd=tmp_path)
    assert "check busy holds in the median run, " in judged.stdout
    refused = sojourn("run", "t.toml", "-o", "r", "--max-seeds", "9", cwd=tmp_path)
    assert refused.returncode == 2
    assert "goes with --precision" in refused.stderr


def test_what_looks_at_all_cells_keeps_cells_open() -> None:
    keys = parse(TEXT, "t.toml", seeds=32).run_keys
    heard: list[dict[str, int]] = []

    def make(some: Sequence[RunKey]) -> Sequence[Run]:
        return runner.Campaign(keys=some, threads=2).run()

    def joint(runs: Sequence[Run]) -> tuple[list[Known], Callable[[Run], bool]]:
        heard.append({name: sum(name in str(run.key.scenario["cell"]) for run in runs) for name in ("pfifo", "fq")})
        early = len(heard) < 3
        known = Standing(cell="a", of="b", seeds=8, reached=not early, more=None, median=1, interval=None)
        return [known], lambda run: early and "pfifo" in str(run.key.scenario["cell"])

    runs, standings = until(keys, [], plan(8, 32), make, joint=joint)
    # It hears of all runs, those of cells that are done, too.
    assert heard == [{"pfifo": 8, "fq": 8}, {"pfifo": 16, "fq": 8}, {"pfifo": 32, "fq": 8}]
    assert len(runs) == 40
    assert [own.reached for own in standings] == [True]


def test_the_claims_on_cells_are_judged_as_in_their_folder(tmp_path: Path) -> None:
    asked = ("run", "fast-lane/disproof", "-o", "r", "--seeds", "6", "--max-seeds", "12", "--precision", "claims")
    done = sojourn(*asked, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    reported = {own["cell"]: own for own in json.loads(done.stdout)["precision"]}
    judged = sojourn("claims", "r", "--seeds", "6", "--json", "--run", cwd=tmp_path)
    verdicts = {own["id"]: own["verdict"] for own in json.loads(judged.stdout)}
    assert len(reported) > 3
    assert {name: own["verdict"] for name, own in reported.items()} == verdicts
    assert all(own["said"].startswith(f"claim {name}: {own['verdict']}, ") for name, own in reported.items())
    refused = sojourn("run", "l4s-tests/s7", "-o", "q", "--precision", "claims", cwd=tmp_path)
    assert refused.returncode == 2
    assert "no published claim covers these cells" in refused.stderr
