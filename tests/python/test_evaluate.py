"""`sojourn evaluate`: documents, verdicts, what is evaluated, and the figures that come with the build."""

import math
from pathlib import Path

import pytest

from sojourn import runner
from sojourn.errors import ExperimentError, UsageError
from sojourn.evidence.claims.bound import Bound
from sojourn.evidence.evaluation import (
    Campaign,
    Subject,
    Values,
    Verdict,
    documents,
    judge,
    measure,
    page,
    read,
    reference,
)
from sojourn.evidence.evaluation.document import Document, Figure, Pair, Row
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
    assert set(asked.beside) <= set(asked.references)
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
    """``tools/evaluation_reference.py NAME`` makes them anew."""
    asked = read(name)
    for own in asked.references:
        stored = reference.values(asked, own)
        assert stored is not None, own
        wanted = {row.suite for row in asked.rows}
        assert {suite for suite, _, _ in stored.by_place} == wanted


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
    """``tools/evaluation_reference.py NAME`` makes them anew."""
    asked = read(name)
    for own, word in asked.references.items():
        stored = reference.values(asked, own)
        assert stored is not None, own
        settings = Subject(word, asked.of).settings(library.resolve_suite(suite)[0].file.read_text(encoding="utf-8"))
        keys = load(suite, settings=settings).run_keys
        fresh = Values()
        measure(fresh, asked, suite, runner.make_fresh(keys, engine="sim", threads=2))
        for place, by_seed in Values.from_json(fresh.json()).by_place.items():
            assert stored.by_place[place] == pytest.approx(by_seed, nan_ok=True), (own, place)


def _verdicts(asked: Document, name: str) -> dict[str, Verdict]:
    stored = {own: reference.values(asked, own) for own in {name, *asked.beside}}
    known = {own: values for own, values in stored.items() if values is not None}
    incumbents = [known[own] for own in asked.beside]
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
    stored = reference.values(asked, "scream")
    assert stored is not None
    delays = {
        queue: max(stored.by_place["rfc-8867-media/ecn", (("queue", queue),), "percentile(pdv, media, 95)"].values())
        for queue in ("codel", "dualpi2")
    }
    assert delays["dualpi2"] < 0.02 < delays["codel"]
    assert _verdicts(asked, "scream")["long-tcp"] is Verdict.FAIL


def test_an_idle_line_has_the_round_trips_a_minute_that_its_delay_allows() -> None:
    """60 s over 20 ms are 3000; a FIFO that holds q more has 60 s over 20 ms + q (docs/evaluate.md)."""
    stored = reference.values(read("rpm"), "tail drop")
    assert stored is not None
    idle = [own for (suite, _, _), own in stored.by_place.items() if suite == "responsiveness/idle"]
    assert [value for own in idle for value in own.values()] == pytest.approx([3000, 3000], rel=0.01)


def test_loss_goes_with_the_square_of_the_number_of_flows() -> None:
    """RFC 7928 §8.2.1 derives the numbers of flows from that law: 12, 27, 38 (docs/evaluate.md has the losses)."""
    stored = reference.values(QUEUES, "tail drop")
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
    for word in RFC.beside:
        failed = {name for name, verdict in _verdicts(RFC, word).items() if verdict is Verdict.FAIL}
        assert not failed & measure_of, word
    assert _verdicts(RFC, "bbr")["loss"] is Verdict.FAIL
    assert _verdicts(RFC, "bbr")["harm"] is Verdict.FAIL
    for scalable in ("dctcp", "prague"):
        assert _verdicts(RFC, scalable)["ecn"] is Verdict.FAIL


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
