"""`sojourn evaluate`: documents, verdicts, what is evaluated, and the figures that come with the build."""

import json
import math
import sys
import tomllib
import types
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import runner
from sojourn.errors import ExperimentError, UsageError
from sojourn.evidence.evaluation import (
    Campaign,
    Subject,
    Values,
    Verdict,
    documents,
    judge,
    measure,
    page,
    reach,
    read,
    reference,
)
from sojourn.evidence.evaluation.document import Document, Figure, Pair, Row
from sojourn.evidence.judging import Bound
from sojourn.experiments import library
from sojourn.experiments.experiment import load
from test_cli import sojourn

RFC = read("rfc-9743")
QUEUES = read("rfc-7928")
CELL = (("depth", "1bdp"),)


def document(*figures: Figure) -> Document:
    row = Row("r", "1", "MUST", "c", "s", figures)
    return Document("d", "D", "", "cc", "", {}, ("reno", "cubic"), (row,), {})


def figure(rule: Bound | Pair | None, *metrics: str) -> Figure:
    return Figure("f", metrics or ("m",), "", rule, "", {})


def values(*seeds: float, metric: str = "m") -> Values:
    own = Values()
    for seed, value in enumerate(seeds):
        own.add("s", CELL, metric, seed, value)
    return own


def verdict(rule: Bound | Pair | None, subject: Values, *incumbents: Values) -> Verdict:
    [row] = judge(document(figure(rule)), subject, incumbents, {})
    return row.verdict


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ((0.91, 0.95), Verdict.PASS),
        ((0.91, 0.89), Verdict.INCONCLUSIVE),
        ((0.5, 0.89), Verdict.FAIL),
        ((0.95, math.nan), Verdict.INCONCLUSIVE),
        ((math.nan, math.nan), Verdict.NO_VALUE),
    ],
)
def test_a_bound_holds_with_every_seed_or_none(seeds: tuple[float, ...], expected: Verdict) -> None:
    assert verdict(Bound.parse(">= 0.9"), values(*seeds)) is expected


def test_a_pair_is_the_worse_incumbents_seed_by_seed() -> None:
    less = Pair("less", 1.25, 5.0)
    reno, cubic = values(10.0, 100.0), values(40.0, 20.0)
    # 40·1.25 = 50 with the first seed, 100·1.25 = 125 with the second.
    assert verdict(less, values(50.0, 125.0), reno, cubic) is Verdict.PASS
    assert verdict(less, values(50.1, 125.0), reno, cubic) is Verdict.INCONCLUSIVE
    assert verdict(less, values(50.1, 126.0), reno, cubic) is Verdict.FAIL
    # Where the incumbents have next to nothing, so much more is no worse.
    assert verdict(less, values(5.9), values(1.0), values(0.5)) is Verdict.PASS
    more = Pair("more", 1.25, 0.0)
    assert verdict(more, values(8.0), values(10.0), values(40.0)) is Verdict.PASS
    assert verdict(more, values(7.9), values(10.0), values(40.0)) is Verdict.FAIL
    assert verdict(more, values(7.9)) is Verdict.NO_VALUE


def test_what_has_no_rule_is_reported_and_decides_nothing() -> None:
    both = document(figure(None), figure(Bound.parse("< 1")))
    [row] = judge(both, values(0.5), (), {})
    assert [own.verdict for own in row.figures] == [Verdict.REPORTED, Verdict.PASS]
    assert row.verdict is Verdict.PASS


def test_a_figure_of_cells_that_were_not_run_decides_nothing() -> None:
    elsewhere = Figure("g", ("m",), "", Bound.parse("< 1"), "", {"depth": ("4bdp",)})
    [row] = judge(document(figure(Bound.parse("< 1")), elsewhere), values(0.5), (), {})
    assert row.verdict is Verdict.PASS
    [row] = judge(document(elsewhere), values(0.5), (), {})
    assert row.verdict is Verdict.NO_VALUE


@pytest.mark.parametrize("name", [name for name in documents() if read(name).linux is not None])
def test_what_is_run_on_linux_is_there(name: str) -> None:
    asked = read(name)
    assert asked.linux is not None
    for suite, labels in asked.linux.cells.items():
        assert suite in asked.suites
        assert load(suite, seeds=1, settings=asked.linux.settings).only(**labels).run_keys


def test_of_several_metrics_the_least_counts() -> None:
    own = values(0.3, metric="a")
    own.add("s", CELL, "b", 0, 0.1)
    [row] = judge(document(figure(Bound.parse(">= 0.2"), "a", "b")), own, (), {})
    assert row.verdict is Verdict.FAIL
    assert row.figures[0].cells[0].value == 0.1


def test_the_cell_that_decides_is_the_furthest_beyond_its_limit() -> None:
    own = Values()
    for label, value in (("1bdp", 20.0), ("4bdp", 90.0), ("16bdp", 30.0)):
        own.add("s", (("depth", label),), "m", 1, value)
    [row] = judge(document(figure(Bound.parse("<= 25"))), own, (), {})
    assert row.telling is not None
    assert row.telling.telling is not None
    assert row.telling.telling.title == "4bdp"
    assert page.telling(row) == "f 90 (<= 25) at 4bdp; 2 of 3 cells fail"


def test_one_seed_is_enough_where_the_worst_decides() -> None:
    worst = Figure("f", ("m",), "", Bound.parse("<= 5s"), "", {}, worst=True)
    for seeds, expected in (
        ((4.0, 4.9), Verdict.PASS),
        ((4.0, 5.1), Verdict.FAIL),
        ((4.0, math.nan), Verdict.FAIL),
        ((math.nan, math.nan), Verdict.FAIL),
    ):
        [row] = judge(document(worst), values(*seeds), (), {})
        assert row.verdict is expected, seeds


@pytest.mark.parametrize("name", [*documents()])
def test_every_suite_of_a_document_is_there_and_every_figure_means_some_cell(name: str) -> None:
    asked = read(name)
    assert asked.name == name
    assert set(asked.incumbents) <= set(asked.references)
    asked_by_any = {suite for other in documents() for suite in read(other).suites}
    for folder in {suite.partition("/")[0] for suite in asked.suites}:
        assert {f"{folder}/{own}" for own in library.suites()[folder]} <= asked_by_any
    for row in asked.rows:
        cells = [dict(key.scenario["cell"]) for key in load(row.suite, seeds=1).run_keys]
        for own in row.figures:
            assert any(own.means(cell) for cell in cells), (row.id, own.name)
            for axis, labels in own.only.items():
                assert set(labels) <= {cell[axis] for cell in cells}, (row.id, own.name)


@pytest.mark.parametrize("name", [*documents()])
def test_the_references_are_those_of_the_build(name: str) -> None:
    """``tools/evaluation_reference.py NAME`` makes them again."""
    asked = read(name)
    for own in asked.references:
        stored = reference.values(asked, own, any_sources=True)
        assert stored is not None, own
        wanted = {row.suite for row in asked.rows}
        assert {suite for suite, _, _ in stored.by_place} == wanted


@pytest.mark.parametrize("name", [*documents()])
def test_no_rule_is_beyond_what_its_place_can_reach(name: str) -> None:
    """A queue that is always full cannot wait longer than that: a limit above it would fail nobody."""
    asked = read(name)
    stored = {own: reference.values(asked, own, any_sources=True) for own in (*asked.incumbents, *asked.references)}
    known = {own: values for own, values in stored.items() if values is not None}
    # Where a discipline is evaluated, its own limit is the most that a place can hold.
    subject = Subject({"cc": "reno", "qdisc": "codel", "media": "scream"}[asked.of], asked.of)
    any_of_them = next(iter(known.values()))
    found = []
    for row in judge(asked, any_of_them, [known[own] for own in asked.incumbents], {}):
        [named] = library.resolve_suite(row.row.suite)
        keys = load(named.file, seeds=1, settings=subject.settings(named.file.read_text(encoding="utf-8"))).run_keys
        scenarios = {tuple((axis, label) for axis, label in key.scenario["cell"]): key.scenario for key in keys}
        for own in row.figures:
            for cell in own.cells:
                most = reach.most(own.figure.metrics[0], scenarios[cell.cell])
                if not _can_fail(own.figure.rule, cell.limit, most):
                    found.append((row.row.id, own.figure.name, cell.title, cell.limit, most))
    assert found == []


def _can_fail(rule: Bound | Pair | None, limit: float, most: float) -> bool:
    if isinstance(rule, Bound):
        return rule.low > 0 or rule.high < most
    if isinstance(rule, Pair) and not math.isnan(limit):
        return limit < most if rule.better == "less" else limit > 0
    return True


def test_a_full_buffer_is_as_far_as_a_wait_can_go() -> None:
    """124 packets of 1514 bytes at 50 Mbit/s are 30.04 ms; the path's RTT is 30 ms, a frame takes 0.24 each way."""
    (scenario,) = (
        key.scenario
        for key in load("rfc-9743/standing-queue", seeds=1).run_keys
        if dict(key.scenario["cell"]) == {"depth": "1bdp", "flows": "1"}
    )
    full = 124 * 1514 * 8 / 50e6
    assert reach.most("percentile(sojourn, bottleneck.down.qdisc, 50)", scenario) == pytest.approx(full)
    assert reach.most("median(srtt, other)", scenario, of_full=0.5) == pytest.approx(0.03 + full / 2, abs=0.001)
    assert reach.most("share(goodput, other)", scenario) == 1.0
    assert math.isinf(reach.most("retransmits(tested)", scenario))


def test_a_limit_is_no_further_than_a_buffer_that_is_nearly_full() -> None:
    rule = Pair("less", 1.25, 0.005, of_full=0.95)
    asked, of_reno, of_bad = document(figure(rule)), values(0.100), values(0.119)
    of_bad.add("s", CELL, "most m", 0, 0.95 * 0.120)
    assert judge(asked, of_bad, [of_reno], {})[0].verdict is Verdict.FAIL
    # What the worse incumbent has itself is no fault.
    assert judge(asked, of_bad, [values(0.119)], {})[0].verdict is Verdict.PASS


def test_figures_of_other_sources_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = json.loads(reference.text(RFC, {"reno": values(1.0)}, RFC.suites))
    assert set(kept["sources"]) == set(RFC.suites)
    monkeypatch.setattr(reference, "_stored", lambda _: kept)
    assert reference.values(RFC, "reno") is not None
    kept["sources"]["rfc-9743/tiny"] += "0"
    assert reference.values(RFC, "reno") is None
    assert reference.values(RFC, "reno", any_sources=True) is not None


def test_a_subject_is_the_sender_of_the_flows_that_are_tested() -> None:
    campaign = Campaign.plan(RFC, Subject("bbr3"), seeds=1)
    assert campaign.refused == {}
    for experiment in campaign.experiments.values():
        for key in experiment.run_keys:
            own = {flow["name"]: flow for flow in key.scenario["flows"]}
            tested = [flow for name, flow in own.items() if name.split("-")[0] in {"tested", "second"}]
            assert all("bbr3" in str(flow) for flow in tested)
            assert not any("bbr3" in str(flow) for name, flow in own.items() if name.startswith("other"))


def test_a_discipline_is_that_of_the_queues_that_are_tested() -> None:
    campaign = Campaign.plan(QUEUES, Subject("codel target 7ms", "qdisc"), seeds=1)
    assert campaign.refused == {}
    for experiment in campaign.experiments.values():
        for key in experiment.run_keys:
            for hop in key.scenario["hops"]:
                assert ("codel target 7ms" in str(hop)) == (hop["name"] != "before"), experiment.name


@pytest.mark.parametrize(
    ("own", "asked", "suite"),
    [
        (Subject("python:own_classes.py:Reno"), RFC, "rfc-9743/silence"),
        (Subject("python:own_classes.py:Fifo", "qdisc"), QUEUES, "rfc-7928/friendly"),
    ],
)
def test_a_class_in_a_file_of_the_present_folder_is_evaluated(
    own: Subject, asked: Document, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    campaign = Campaign.plan(asked, own, seeds=1)
    assert campaign.refused == {}
    assert all("own_classes" in str(key.scenario) for key in campaign.experiments[suite].run_keys)


def test_a_quic_stack_is_refused_only_where_it_cannot_be() -> None:
    campaign = Campaign.plan(RFC, Subject("noq/bbr3"), seeds=1)
    assert list(campaign.refused) == ["rfc-9743/short-flows", "rfc-9743/non-compliance"]
    assert len(campaign.experiments) == len(RFC.suites) - 2


def test_a_control_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(ExperimentError, match="there is no congestion control") as caught:
        Campaign.plan(RFC, Subject("cubik"))
    assert "cubic" in (caught.value.help or "")
    with pytest.raises(ExperimentError, match="unknown queue discipline") as caught:
        Campaign.plan(QUEUES, Subject("coddel", "qdisc"))
    assert "codel" in (caught.value.help or "")
    with pytest.raises(UsageError) as missing:
        read("rfc-9744")
    assert "rfc-9743" in (missing.value.help or "")


@pytest.mark.parametrize(
    ("name", "suite"),
    [
        ("rfc-9743", "rfc-9743/tiny"),
        ("rfc-7928", "rfc-7928/unresponsive"),
        ("rfc-8867-media", "rfc-8867-media/ecn"),
    ],
)
def test_the_builds_figures_are_of_these_suites_and_of_this_simulator(name: str, suite: str) -> None:
    """``tools/evaluation_reference.py NAME`` makes them again."""
    asked = read(name)
    for own, word in asked.references.items():
        stored = reference.values(asked, own, any_sources=True)
        assert stored is not None, own
        settings = Subject(word, asked.of).settings(library.resolve_suite(suite)[0].file.read_text(encoding="utf-8"))
        keys = load(suite, settings=settings).run_keys
        fresh = Values()
        measure(fresh, asked, suite, runner.Campaign(keys=keys, threads=2).run())
        for place, by_seed in Values.from_json(fresh.json()).by_place.items():
            assert stored.by_place[place] == pytest.approx(by_seed, nan_ok=True), (own, place)


def _verdicts(asked: Document, name: str) -> dict[str, Verdict]:
    stored = {own: reference.values(asked, own, any_sources=True) for own in {name, *asked.incumbents}}
    known = {own: values for own, values in stored.items() if values is not None}
    incumbents = [known[own] for own in asked.incumbents]
    return {row.row.id: row.verdict for row in judge(asked, known[name], incumbents, {})}


def test_what_is_known_of_queues_comes_out() -> None:
    """Tail drop fills its buffer; CoDel has no say over what answers to nothing, and PIE and PI2 have; fair queueing
    evens out RTTs (``docs/claims.md``: OVER-1 to 11, L4ST-5 to 7)."""
    assert _verdicts(QUEUES, "tail drop")["friendly"] is Verdict.FAIL
    assert _verdicts(QUEUES, "tail drop")["congestion"] is Verdict.FAIL
    for queue, expected in (("codel", Verdict.FAIL), ("pie", Verdict.PASS), ("dualpi2", Verdict.PASS)):
        assert _verdicts(QUEUES, queue)["overload"] is expected, queue
    for queue, expected in (("codel", Verdict.FAIL), ("fq_codel", Verdict.PASS), ("cake", Verdict.PASS)):
        assert _verdicts(QUEUES, queue)["rtt-fairness"] is expected, queue


def test_what_is_known_of_a_call_under_scream_comes_out() -> None:
    """A queue that marks for L4S is short; a flow that fills a deep queue starves a control by delay (draft §4.5.4)."""
    asked = read("rfc-8867-media")
    stored = reference.values(asked, "scream", any_sources=True)
    assert stored is not None
    delays = {
        queue: max(stored.by_place["rfc-8867-media/ecn", (("queue", queue),), "percentile(pdv, media, 95)"].values())
        for queue in ("codel", "dualpi2")
    }
    assert delays["dualpi2"] < 0.02 < delays["codel"]
    assert _verdicts(asked, "scream")["long-tcp"] is Verdict.FAIL


def test_an_idle_line_has_the_round_trips_a_minute_that_its_delay_allows() -> None:
    """60 s over 20 ms are 3000; a FIFO that holds q more has 60 s over 20 ms + q (docs/evaluate.md)."""
    stored = reference.values(read("rpm"), "tail drop", any_sources=True)
    assert stored is not None
    idle = [own for (suite, _, _), own in stored.by_place.items() if suite == "responsiveness/idle"]
    assert [value for own in idle for value in own.values()] == pytest.approx([3000, 3000], rel=0.01)


def test_loss_goes_with_the_square_of_the_number_of_flows() -> None:
    """RFC 7928 §8.2.1 derives the numbers of flows from that law: 12, 27, 38 (docs/evaluate.md has the losses)."""
    stored = reference.values(QUEUES, "tail drop", any_sources=True)
    assert stored is not None
    loss = {
        load_: max(stored.by_place["rfc-7928/congestion", (("load", load_),), "loss_rate(long)"].values())
        for load_ in ("mild", "medium", "heavy")
    }
    assert loss["medium"] / loss["mild"] == pytest.approx((27 / 12) ** 2, rel=0.3)
    assert loss["heavy"] / loss["medium"] == pytest.approx((38 / 27) ** 2, rel=0.3)


def test_what_the_documents_say_of_known_controls_comes_out() -> None:
    """Reno and CUBIC are the measure of most rows; RFC 9743 §5.1.3 names BBRv1 as one that loses much in shallow
    buffers; RFC 9331 §4.3.1 says what a scalable control does to others in a queue with classic ECN."""
    measure_of = {"silence", "heavy-loss", "loss", "harm", "starvation", "numbers", "rate-changes"}
    for word in RFC.incumbents:
        failed = {name for name, verdict in _verdicts(RFC, word).items() if verdict is Verdict.FAIL}
        assert not failed & measure_of, word
    assert _verdicts(RFC, "bbr")["loss"] is Verdict.FAIL
    assert _verdicts(RFC, "bbr")["harm"] is Verdict.FAIL
    for scalable in ("dctcp", "prague"):
        assert _verdicts(RFC, scalable)["ecn"] is Verdict.FAIL


_PARTS: Mapping[str, Mapping[str, list[str]]] = {
    "rfc-9743/standing-queue": {"flows": ["1"], "depth": ["1bdp", "4bdp"]},
    "rfc-9743/coexist": {"other": ["reno", "cubic"], "path": ["10mbit-20ms"], "depth": ["1bdp", "4bdp"]},
    "rfc-9743/heavy-loss": {"loss": ["10%"]},
    "rfc-9743/high-delay": {},
    "rfc-9743/disciplines": {},
    "rfc-9743/disciplines-beside": {},
    "rfc-9743/delay-changes": {},
    "rfc-7928/friendly": {},
    "rfc-7928/short-flows": {},
    "rfc-7928/packet-sizes": {},
}
"""The cells that bad controls and queues are put to, by suite."""


def _of_bad(asked: Document, name: str) -> dict[str, Verdict]:
    """Return the verdicts on a class of ``bad_controls.py``, with one seed, in some of a document's suites."""
    part = replace(asked, rows=tuple(row for row in asked.rows if row.suite in _PARTS and row.id != "starvation"))
    subject = Subject(f"python:bad_controls.py:{name}", asked.of)
    own = Values()
    for suite in part.suites:
        [named] = library.resolve_suite(suite)
        settings = subject.settings(named.file.read_text(encoding="utf-8"))
        keys = load(named.file, settings=settings, seeds=1).only(**_PARTS[suite]).run_keys
        measure(own, part, suite, runner.Campaign(keys=keys, threads=2).run())
    incumbents = [reference.values(asked, other, any_sources=True) for other in asked.incumbents]
    return {
        row.row.id: row.verdict for row in judge(part, own, [known for known in incumbents if known is not None], {})
    }


@pytest.mark.parametrize(
    ("asked", "name", "fails", "holds"),
    [
        (RFC, "NeverBacksOff", {"standing-queue", "heavy-loss", "harm", "ecn"}, {"delay-changes"}),
        (RFC, "NeverGrows", {"disciplines", "delay-changes", "high-delay"}, {"heavy-loss", "harm", "ecn"}),
        (
            RFC,
            "IgnoresCe",
            {"ecn", "disciplines"},
            {"heavy-loss", "standing-queue", "harm", "delay-changes", "high-delay"},
        ),
        (
            RFC,
            "HalvesOnEveryAck",
            {"disciplines", "delay-changes", "high-delay"},
            {"heavy-loss", "standing-queue", "harm", "ecn"},
        ),
        (RFC, "FixedWindow", {"standing-queue", "heavy-loss", "harm", "ecn"}, {"delay-changes"}),
        (RFC, "Oscillates", {"delay-changes", "heavy-loss", "harm"}, {"standing-queue"}),
        (QUEUES, "Bloated", {"friendly", "short-flows"}, {"packet-sizes"}),
        (QUEUES, "DropsATenth", {"friendly", "short-flows"}, {"packet-sizes"}),
        (QUEUES, "FavoursSmall", {"packet-sizes"}, {"short-flows"}),
    ],
)
def test_what_is_bad_fails_the_criteria_that_name_its_fault(
    asked: Document, name: str, fails: set[str], holds: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    verdicts = _of_bad(asked, name)
    assert {row for row in fails if verdicts[row] is not Verdict.FAIL} == set(), verdicts
    assert {row for row in holds if verdicts[row] is not Verdict.PASS} == set(), verdicts


# --- mistakes of the criteria's own code ------------------------------------------------------------------------------

MISTAKES = tomllib.loads((Path(__file__).parent / "evaluate_mistakes.toml").read_text(encoding="utf-8"))["mistake"]


def _mistaken(mistake: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the modules that this file's tests use by ones with a mistake."""
    package = "sojourn.evidence.evaluation"
    for name in ("document", "judge"):
        sound = sys.modules[f"{package}.{name}"]
        assert sound.__file__ is not None
        text = Path(sound.__file__).read_text(encoding="utf-8")
        if mistake["file"] == f"{name}.py":
            assert text.count(mistake["old"]) == 1, mistake["what"]
            text = text.replace(mistake["old"], mistake["new"])
        module = types.ModuleType(f"{package}.{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(text, sound.__file__, "exec"), module.__dict__)  # noqa: S102 - our own text
        for own in ("Document", "Figure", "Pair", "Row", "Verdict", "judge"):
            if own in module.__dict__:
                monkeypatch.setitem(globals(), own, module.__dict__[own])


def _criteria_hold() -> None:
    """Run every test of this file that asks how a rule judges."""
    for seeds, expected in (
        ((0.91, 0.95), "pass"),
        ((0.91, 0.89), "inconclusive"),
        ((0.5, 0.89), "fail"),
        ((0.95, math.nan), "inconclusive"),
        ((math.nan, math.nan), "no value"),
    ):
        assert verdict(Bound.parse(">= 0.9"), values(*seeds)) == expected
    test_a_pair_is_the_worse_incumbents_seed_by_seed()
    test_what_has_no_rule_is_reported_and_decides_nothing()
    test_a_figure_of_cells_that_were_not_run_decides_nothing()
    test_of_several_metrics_the_least_counts()
    test_the_cell_that_decides_is_the_furthest_beyond_its_limit()
    test_one_seed_is_enough_where_the_worst_decides()
    test_a_limit_is_no_further_than_a_buffer_that_is_nearly_full()


def test_the_criteria_hold_without_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(MISTAKES) >= 10
    _mistaken({"file": "", "what": "none"}, monkeypatch)
    _criteria_hold()


@pytest.mark.parametrize("mistake", MISTAKES, ids=[one["what"] for one in MISTAKES])
def test_a_mistake_of_the_criteria_is_caught(mistake: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    _mistaken(mistake, monkeypatch)
    if mistake["what"] == "one seed that holds is enough":
        # Nothing sees it: seeds that differ are inconclusive before that line is reached.
        _criteria_hold()
        return
    with pytest.raises(AssertionError):
        _criteria_hold()


def test_the_command_says_what_is_missing() -> None:
    asked = sojourn("evaluate")
    assert asked.returncode == 2
    assert "--cc bbr3" in asked.stderr
    assert "--qdisc fq_codel" in sojourn("evaluate", "--document", "rfc-7928").stderr
    assert "--media scream" in sojourn("evaluate", "--document", "rfc-8867-media").stderr
    crossed = sojourn("evaluate", "--media", "scream", "--document", "rfc-9743")
    assert crossed.returncode == 2
    assert "rfc-9743 does not ask of a call's control" in crossed.stderr
    wrong = sojourn("evaluate", "--media", "screem")
    assert wrong.returncode == 2
    assert 'did you mean "scream"?' in wrong.stderr
    for words in (["--cc", "reno", "--qdisc", "pie"], ["--cc", "reno", "--document", "rfc-7928"]):
        crossed = sojourn("evaluate", *words)
        assert crossed.returncode == 2
        assert "queue discipline" in crossed.stderr
    wrong = sojourn("evaluate", "--cc", "cubik")
    assert wrong.returncode == 2
    assert 'did you mean "cubic"?' in wrong.stderr
