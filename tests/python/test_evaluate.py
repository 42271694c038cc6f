"""`sojourn evaluate`: documents, verdicts, what is evaluated, and the figures that come with the build."""

import math

import pytest

from sojourn import runner
from sojourn.errors import ExperimentError, UsageError
from sojourn.evidence.claims.bound import Bound
from sojourn.evidence.evaluation import Campaign, Subject, Values, Verdict, judge, measure, page, read, reference
from sojourn.evidence.evaluation.document import Document, Figure, Pair, Row
from sojourn.experiments import library
from sojourn.experiments.experiment import load
from test_cli import sojourn

RFC = read("rfc-9743")
CELL = (("depth", "1bdp"),)


def document(*figures: Figure) -> Document:
    return Document("d", "D", "", ("reno", "cubic"), (Row("r", "1", "MUST", "c", "s", figures),), {})


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


def test_every_suite_of_the_document_is_there_and_every_figure_means_some_cell() -> None:
    assert {f"rfc-9743/{name}" for name in library.suites()["rfc-9743"]} == set(RFC.suites)
    for row in RFC.rows:
        cells = [dict(key.scenario["cell"]) for key in load(row.suite, seeds=1).run_keys]
        for own in row.figures:
            assert any(own.means(cell) for cell in cells), (row.id, own.name)
            for axis, labels in own.only.items():
                assert set(labels) <= {cell[axis] for cell in cells}, (row.id, own.name)


def test_a_subject_is_the_sender_of_the_flows_that_are_tested() -> None:
    campaign = Campaign.plan(RFC, Subject("bbr3"), seeds=1)
    assert campaign.refused == {}
    for experiment in campaign.experiments.values():
        for key in experiment.run_keys:
            own = {flow["name"]: flow for flow in key.scenario["flows"]}
            tested = [flow for name, flow in own.items() if name.split("-")[0] in {"tested", "second"}]
            assert all("bbr3" in str(flow) for flow in tested)
            assert not any("bbr3" in str(flow) for name, flow in own.items() if name.startswith("other"))


def test_a_quic_stack_is_refused_only_where_it_cannot_be() -> None:
    campaign = Campaign.plan(RFC, Subject("noq/bbr3"), seeds=1)
    assert list(campaign.refused) == ["rfc-9743/short-flows"]
    assert len(campaign.experiments) == len(RFC.suites) - 1


def test_a_control_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(ExperimentError, match="there is no congestion control") as caught:
        Campaign.plan(RFC, Subject("cubik"))
    assert "cubic" in (caught.value.help or "")
    with pytest.raises(UsageError, match="rfc-9743"):
        read("rfc-9744")


def test_the_builds_figures_are_of_these_suites_and_of_this_simulator() -> None:
    """``tools/evaluation_reference.py rfc-9743`` makes them anew."""
    suite = "rfc-9743/tiny"
    for word in reference.CONTROLS:
        stored = reference.values(RFC, word)
        assert stored is not None, word
        settings = Subject(word).settings(library.resolve_suite(suite)[0].file.read_text(encoding="utf-8"))
        keys = load(suite, settings=settings).run_keys
        own = Values()
        measure(own, RFC, suite, runner.make_fresh(keys, engine="sim", threads=2))
        for place, by_seed in Values.from_json(own.json()).by_place.items():
            assert stored.by_place[place] == pytest.approx(by_seed, nan_ok=True), (word, place)


def test_what_the_documents_say_of_known_controls_comes_out() -> None:
    """Reno and CUBIC are the measure of most rows; RFC 9743 §5.1.3 names BBRv1 as one that loses much in shallow
    buffers; RFC 9331 §4.3.1 says what a scalable control does to others in a queue with classic ECN."""
    measured = {word: reference.values(RFC, word) for word in reference.CONTROLS}
    incumbents = [own for word in RFC.beside if (own := measured[word]) is not None]

    def verdicts(word: str) -> dict[str, Verdict]:
        own = measured[word]
        assert own is not None
        return {row.row.id: row.verdict for row in judge(RFC, own, incumbents, {})}

    measure_of = {"silence", "heavy-loss", "loss", "harm", "starvation", "numbers", "rate-changes"}
    for word in RFC.beside:
        failed = {name for name, verdict in verdicts(word).items() if verdict is Verdict.FAIL}
        assert not failed & measure_of, word
    assert verdicts("bbr")["loss"] is Verdict.FAIL
    assert verdicts("bbr")["harm"] is Verdict.FAIL
    for scalable in ("dctcp", "prague"):
        assert verdicts(scalable)["ecn"] is Verdict.FAIL


def test_the_command_says_what_is_missing() -> None:
    asked = sojourn("evaluate")
    assert asked.returncode == 2
    assert "--cc bbr3" in asked.stderr
    wrong = sojourn("evaluate", "--cc", "cubik")
    assert wrong.returncode == 2
    assert 'did you mean "cubic"?' in wrong.stderr
