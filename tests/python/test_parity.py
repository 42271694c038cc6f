import math

import pytest

from sojourn import parity
from sojourn.parity import METRICS, Comparison, Pair, Spread

BY_KEY = {metric.key: metric for metric in METRICS}


def comparison(key: str, ours: list[float], theirs: list[float]) -> Comparison:
    return Comparison(BY_KEY[key], "", Spread.of(ours), Spread.of(theirs))


@pytest.mark.parametrize(
    ("key", "ours", "theirs", "verdict"),
    [
        ("share", [0.50, 0.60], [0.59, 0.70], "same"),
        ("share", [0.50, 0.52], [0.535, 0.535], "near"),
        ("share", [0.50, 0.52], [0.56, 0.58], "differs"),
        ("sum", [47.8], [48.2], "near"),
        ("sum", [47.0], [48.2], "differs"),
        ("queue_delay_mean", [8.7], [10.0], "near"),
        ("queue_delay_mean", [8.3], [10.0], "differs"),
        ("drops", [3.0], [0.0], "near"),
        ("ce_fraction", [math.nan], [math.nan], "none"),
    ],
)
def test_spreads_that_overlap_or_means_that_are_close_agree(
    key: str, ours: list[float], theirs: list[float], verdict: str
) -> None:
    assert comparison(key, ours, theirs).verdict == verdict


def test_what_one_engine_alone_has_does_not_agree() -> None:
    assert comparison("rtt_mean", [math.nan], [20.0]).verdict == "differs"


def test_the_verdict_rests_on_shares_sums_and_queue_delays() -> None:
    def pair(sums: float, drops: float) -> Pair:
        made = [
            comparison("share", [0.5], [0.5]),
            comparison("sum", [sums], [48.0]),
            comparison("queue_delay_mean", [5.0], [5.0]),
            comparison("drops", [drops], [0.0]),
        ]
        return Pair("test", (("queue", "codel"),), "codel limit 1000", "cubic-reno", (1, 1), made)

    good = [pair(48.0, 100.0)] * 9
    lines = parity.summary([*good, pair(40.0, 0.0)])
    assert parity.holds(lines)
    by_key = {line.metric: line for line in lines if line.by == "all"}
    assert (by_key["sum"].agree, by_key["sum"].count) == (9, 10)
    assert by_key["sum"].worst == pytest.approx(-8 / 48)
    assert not parity.holds(parity.summary([*good[1:], pair(40.0, 0.0), pair(40.0, 0.0)]))
    groups = {(line.by, line.name) for line in lines}
    assert groups == {("all", "all"), ("qdisc", "codel"), ("cc", "cubic-reno")}


def test_json_names_units_and_engines() -> None:
    pair = Pair("test", (("queue", "codel"),), "codel", "cubic", (2, 3), [comparison("sum", [47.0], [48.0])])
    told = parity.as_json([pair], parity.summary([pair]))
    (cell,) = told["cells"]
    assert cell["seeds"] == {"sim": 2, "linux": 3}
    assert (cell["metric"], cell["unit"], cell["verdict"]) == ("sum", "Mbit/s", "differs")
    assert told["summary"][0]["metric"] == "sum"
