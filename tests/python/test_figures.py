"""Each kind of figure on results made by hand: its data are asserted; of the picture, that it is well-formed."""

import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

from conftest import Make
from sojourn import figures
from sojourn.errors import UsageError
from sojourn.figures import KINDS, Drawn
from sojourn.run import Run


def checked(drawn: Drawn) -> pl.DataFrame:
    """Return the data of a figure that is well-formed, follows the page and has a caption."""
    root = ET.fromstring(drawn.svg)  # noqa: S314 - our own text
    assert root.tag.endswith("svg")
    assert "currentColor" in drawn.svg
    assert drawn.caption.endswith(".")
    assert drawn.data.height
    return drawn.data


@pytest.fixture
def two_queues(make_run: Make) -> list[Run]:
    """Return runs of two queues, two seeds each, CUBIC at 20 ms beside Prague at 160 ms."""
    settings = {"ccs": ("cubic", "prague"), "delays": ("10ms", "80ms")}
    return [
        make_run(rates, seed=seed, qdisc=queue, labels={"queue": queue, "rtt": "20ms-160ms"}, **settings)
        for queue, by_seed in (("fq_codel", [(23, 24), (24, 23)]), ("pfifo", [(40, 7), (44, 3)]))
        for seed, rates in enumerate(by_seed, 1)
    ]


def test_fairness_has_the_mean_and_the_range_of_each_flow(two_queues: list[Run]) -> None:
    data = checked(KINDS["fairness"].draw(two_queues))
    rows = data.select("queue", "flow", "sender", "base_rtt_ms", "delivery_rate_mbps", "low", "high", "seeds").rows()
    assert rows == [
        ("fq_codel", "flow-1", "cubic", 20.0, 23.5, 23.0, 24.0, 2),
        ("fq_codel", "flow-2", "prague", 160.0, 23.5, 23.0, 24.0, 2),
        ("pfifo", "flow-1", "cubic", 20.0, 42.0, 40.0, 44.0, 2),
        ("pfifo", "flow-2", "prague", 160.0, 5.0, 3.0, 7.0, 2),
    ]


def test_delivery_has_every_line_with_its_range(two_queues: list[Run]) -> None:
    data = checked(KINDS["delivery"].draw(two_queues, {"only": "queue=pfifo"}))
    assert data["queue"].unique().to_list() == ["pfifo"]
    rate = data.filter((pl.col("flow") == "flow-1 (cubic)") & (pl.col("quantity") == "delivery rate, Mbit/s"))
    assert rate.select("t_s", "value", "low", "high").row(0) == (0.25, 40.0, 40.0, 44.0)
    queue = data.filter(pl.col("quantity") == "queue delay, ms")
    assert queue.select("value", "low", "high").row(0) == pytest.approx((5.0, 4.0, 6.0))


def test_the_same_runs_give_the_same_picture(two_queues: list[Run]) -> None:
    assert KINDS["fairness"].draw(two_queues).svg == KINDS["fairness"].draw(two_queues).svg


def test_a_figure_is_written_with_its_data(tmp_path: Path, two_queues: list[Run]) -> None:
    drawn = KINDS["fairness"].draw(two_queues)
    svg, csv = drawn.write(tmp_path, "bars")
    assert "prefers-color-scheme" in svg.read_text()
    assert pl.read_csv(csv)["low"].to_list() == drawn.data["low"].to_list()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("fairness", {"rat": "goodput"}, ('no option of fairness "rat"', 'did you mean "rate"?')),
        ("fairness", {"rate": "godput"}, ('no rate of fairness "godput"', 'did you mean "goodput"?')),
        ("fairness", {"x": "queu"}, ('no axis "queu"', 'did you mean "queue"?')),
        ("delivery", {"only": "queue=pfifi"}, ('no queue among these runs "pfifi"', 'did you mean "pfifo"?')),
    ],
)
def test_a_wrong_option_is_named_with_the_nearest(
    two_queues: list[Run], name: str, options: dict[str, str], said: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as raised:
        KINDS[name].draw(two_queues, options)
    for words in said:
        assert words in raised.value.render()


def test_a_kind_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError) as raised:
        figures.kind("fairnes")
    assert 'did you mean "fairness"?' in raised.value.render()


def test_no_run_is_said() -> None:
    with pytest.raises(UsageError, match="no run"):
        KINDS["delivery"].draw([])


@pytest.mark.parametrize(
    ("pattern", "queues"),
    [
        ("", ["fq_codel", "pfifo"]),
        ("queue=pf*", ["pfifo"]),
        ("queue=*,rtt=20ms-160ms", ["fq_codel", "pfifo"]),
        ("by-hand[pfifo", ["pfifo"]),
        ("[fq_?odel,", ["fq_codel"]),
        ("seed=2,queue=fq_codel", ["fq_codel"]),
    ],
)
def test_runs_are_chosen_by_labels_or_names(two_queues: list[Run], pattern: str, queues: list[str]) -> None:
    found = figures.select(two_queues, pattern)
    assert sorted({dict(run.scenario["cell"])["queue"] for run in found}) == queues


@pytest.mark.parametrize(
    ("pattern", "said"), [("que=x", 'did you mean "queue"?'), ("queue=pfif", "pfifo"), ("nothing", "there is no cell")]
)
def test_a_pattern_that_chooses_nothing_is_an_error(two_queues: list[Run], pattern: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        figures.select(two_queues, pattern)
    assert said in raised.value.render()
