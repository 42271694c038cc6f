"""Each kind of figure on results made by hand: its data are asserted; of the picture, that it is well-formed."""

import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from by_hand import a_key, a_scenario, tables
from conftest import Make
from sojourn import _core
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.plotting import figures
from sojourn.plotting.draw.series import binned_flows
from sojourn.plotting.draw.svg import slim
from sojourn.plotting.figures import KINDS, Drawn
from sojourn.plotting.reference import reference
from sojourn.views.run import Run

if TYPE_CHECKING:
    from sojourn.core.run import Wanted


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
    """Return runs of two queues, two seeds each, CUBIC at 20 ms next to Prague at 160 ms."""
    settings = {"ccs": ("cubic", "prague"), "delays": ("10ms", "80ms")}
    return [
        make_run(rates, seed=seed, qdisc=queue, labels={"queue": queue, "rtt": "20ms-160ms"}, **settings)
        for queue, by_seed in (("fq_codel", [(23, 24), (24, 23)]), ("pfifo", [(40, 7), (44, 3)]))
        for seed, rates in enumerate(by_seed, 1)
    ]


@pytest.fixture
def with_histogram() -> Run:
    """Return a run with a queue that delayed 90 packets by 1 to 2 ms and 10 by 10 to 20 ms."""
    scenario = a_scenario(labels={"queue": "fq_codel"})
    histogram = pl.DataFrame(
        {
            "subject": ["bottleneck.down.qdisc"] * 2,
            "quantity": ["sojourn"] * 2,
            "lo_s": [0.001, 0.01],
            "hi_s": [0.002, 0.02],
            "count": [90, 10],
        },
        schema_overrides={"count": pl.UInt64},
    )
    return made(scenario, {**tables(scenario, (20, 27)), "histograms": histogram})


@pytest.fixture
def with_states() -> Run:
    """Return a run with a queue that reports its marking probabilities twice a second."""
    scenario = a_scenario(qdisc="dualpi2", labels={"experiment": "A"})
    rows = [
        {"t_s": t, "queue": "bottleneck.down.qdisc", "name": name, "value": value}
        for t, coupled in ((0.5, 0.1), (1.0, 0.2))
        for name, value in (("fraction_l", coupled), ("fraction_c", 0.01), ("fraction_native", 0.0), ("prob", 0.1))
    ]
    return made(scenario, {**tables(scenario, (20, 27)), "queue_state": pl.DataFrame(rows)})


def made(scenario: Mapping[str, Any], results: Mapping[str, pl.DataFrame]) -> Run:
    """Return a run with these tables."""
    return Run.fresh(a_key(scenario), _core.Run(_core.Scenario(json.dumps(scenario)), "sim", "0", results))


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
    rate = data.filter((pl.col("of") == "flow-1 (cubic)") & (pl.col("quantity") == "Throughput (Mbit/s)"))
    assert rate.select("t_s", "value", "low", "high").row(0) == (0.25, 40.0, 40.0, 44.0)
    queue = data.filter(pl.col("quantity") == "Queue delay (ms)")
    assert queue.select("value", "low", "high").row(0) == pytest.approx((5.0, 4.0, 6.0))


@pytest.mark.parametrize(("kind", "axis"), [("delivery", "low"), ("fairness", "low"), ("shares", "of"), ("cdf", "of")])
def test_an_axis_may_be_called_as_a_column_is(make_run: Make, with_histogram: Run, kind: str, axis: str) -> None:
    run = make_run((40.0, 5.0), labels={axis: "20ms"})
    if kind == "cdf":
        run = made(
            {**with_histogram.scenario, "cell": [[axis, "20ms"]]},
            {n: with_histogram.table(n) for n in with_histogram.tables},
        )
    data = checked(KINDS[kind].draw([run]))
    assert data[f"axis.{axis}"].unique().to_list() == ["20ms"]
    assert axis in data.columns


@pytest.fixture
def stepped(make_run: Make) -> list[Run]:
    """Return runs of two senders with an RTT of 25 ms throughout, 5 ms above the base; an event happens at 30 s."""
    return [
        make_run((rate,), seed=seed, ccs=(cc,), delays=("10ms",), labels={"cc": cc, "video": video})
        for cc in ("cubic", "prague")
        for video, rate in (("none", 40), ("in-C", 30))
        for seed in (1, 2)
    ]


def test_shares_are_parts_of_all_that_arrived_and_the_zoom_leaves_them(two_queues: list[Run]) -> None:
    data = checked(KINDS["shares"].draw(two_queues))
    shares = data.filter(pl.col("queue") == "pfifo")["share_percent"].to_list()
    assert shares == pytest.approx([100 * (40 / 47 + 44 / 47) / 2, 100 * (7 / 47 + 3 / 47) / 2])
    assert KINDS["shares"].draw(two_queues, {"zoom": "99"}).data.equals(data)


def test_the_unresponsive_come_first_in_shares(make_run: Make) -> None:
    run = make_run((10.0, 30.0), ccs=("cubic", "udp"), labels={"load": "50mbit"})
    assert checked(KINDS["shares"].draw([run]))["of"].to_list() == ["flow-2", "flow-1"]


def test_probabilities_are_parts_of_what_was_sent(make_run: Make) -> None:
    scenario = a_scenario()
    results = tables(scenario, (20, 27))
    # Of every ten segments one is lost, and of the nine that come three are marked; the second flow has none of both.
    one = pl.when(pl.col("flow") == "flow-1").then(1).otherwise(0)
    steps = (pl.col("t_s") / 0.5).cast(pl.UInt64)
    flows = results["flows"].with_columns(
        lost=(steps * one).cast(pl.UInt64), delivered=steps * 9, ce=(steps * 3 * one).cast(pl.UInt64)
    )
    data = checked(KINDS["probabilities"].draw([made(scenario, {**results, "flows": flows})]))
    assert data["dropped_percent"].to_list() == pytest.approx([10, 0])
    assert data["marked_percent"].to_list() == pytest.approx([100 / 3, 0])
    assert data["of"].to_list() == ["flow-1", "flow-2"]


def test_delays_are_those_of_the_histogram(with_histogram: Run) -> None:
    [row] = checked(KINDS["delays"].draw([with_histogram])).rows(named=True)
    # 90 packets in 1 to 2 ms, 10 in 10 to 20 ms: their middles, and nine tenths of the way through the last bucket.
    assert row["mean_ms"] == pytest.approx(0.9 * 1.5 + 0.1 * 15, rel=0.02)
    assert row["p99_ms"] == pytest.approx(19, rel=0.03)


def test_a_cdf_counts_every_packet(make_run: Make, with_histogram: Run) -> None:
    data = checked(KINDS["cdf"].draw([make_run()], {"tail": "log"}))
    assert data.select("of", "value", "below").rows() == [("ping", 21.0, 0.5), ("ping", 22.0, 1.0)]
    induced = checked(KINDS["cdf"].draw([make_run(seed=1), make_run(seed=2)], {"induced": "yes"}))
    assert induced["value"].to_list() == pytest.approx([0.0, 1.0])
    assert induced["below"].to_list() == [0.5, 1.0]
    queue = checked(KINDS["cdf"].draw([with_histogram], {"quantity": "sojourn", "log": "yes"}))
    assert queue.select("value", "below").rows() == [(2.0, 0.9), (20.0, 1.0)]


def test_queue_delay_has_mean_and_range_of_each_second(two_queues: list[Run]) -> None:
    data = checked(KINDS["queue-delay"].draw(two_queues, {"only": "queue=pfifo"}))
    assert data.height == 180
    assert data.select("t_s", "value", "low", "high").row(3) == pytest.approx((3.5, 5.0, 4.0, 6.0))


def test_marking_is_what_the_queue_says_in_per_cent(with_states: Run) -> None:
    data = checked(KINDS["marking"].draw([with_states], {"step": "1"}))
    marks = data.filter(pl.col("quantity") == "Marked (%)")
    assert marks["of"].unique(maintain_order=True).to_list() == ["fraction_c", "fraction_l", "fraction_native"]
    coupled = marks.filter(pl.col("of") == "fraction_l")
    assert coupled.select("t_s", "value", "low", "high").row(0) == pytest.approx((0.5, 15.0, 10.0, 20.0))
    rates = data.filter(pl.col("quantity") == "Throughput (Mbit/s)")
    assert set(rates["of"].to_list()) == {"flow-1 (cubic)", "flow-2 (cubic)"}


def test_what_runs_do_not_have_is_said(two_queues: list[Run]) -> None:
    for name, said in (
        ("delays", "no histogram"),
        ("marking", "record no marking"),
        ("cdf", r"has no one-way delay back \(owd_back\)"),
    ):
        options = {"quantity": "owd_back"} if name == "cdf" else {}
        with pytest.raises(UsageError, match=said):
            KINDS[name].draw(two_queues, options)


def test_more_cells_than_a_picture_can_show_are_refused_with_the_axes(make_run: Make) -> None:
    runs = [make_run(labels={"queue": f"q{i}"}, seconds=40) for i in range(41)]
    with pytest.raises(UsageError) as raised:
        KINDS["delivery"].draw(runs)
    assert "41 cells" in raised.value.render()
    assert "queue (41)" in raised.value.render()
    assert checked(KINDS["delivery"].draw(runs, {"only": "queue=q7"})).height


def test_goodput_has_one_bar_for_each_disturber(stepped: list[Run]) -> None:
    data = checked(KINDS["goodput"].draw(stepped, {"by": "video", "x": "cc"}))
    assert data.select("cc", "video", "goodput_mbps", "seeds").rows() == [
        ("cubic", "in-C", 30.0, 2),
        ("cubic", "none", 40.0, 2),
        ("prague", "in-C", 30.0, 2),
        ("prague", "none", 40.0, 2),
    ]


def test_harm_is_against_the_cell_without_a_rival(stepped: list[Run]) -> None:
    data = checked(KINDS["harm"].draw(stepped))
    assert data.select("cc", "rival").rows() == [("cubic", "in-C"), ("prague", "in-C")]
    assert data["harm"].to_list() == pytest.approx([0.25, 0.25])
    less = KINDS["harm"].draw(stepped, {"value": "mean(srtt, {flow})", "better": "less", "axis": "video"}).data
    assert less["harm"].to_list() == pytest.approx([0.0, 0.0])


def test_harm_is_done_to_one_flow(make_run: Make) -> None:
    """Where the rival is the first flow, and is not there when there is none, harm to "the first flow" is nonsense."""
    runs = [
        made({**run.scenario, "flows": run.scenario["flows"][skip:]}, {n: run.table(n) for n in run.tables})
        for video, skip in (("none", 1), ("in-C", 0))
        for run in [make_run((20.0, 20.0), labels={"video": video})]
    ]
    with pytest.raises(UsageError) as caught:
        KINDS["harm"].draw(runs)
    assert "the first flow is flow-1 in some of these cells, flow-2 in others" in caught.value.message
    assert caught.value.help == "name it: value=goodput(flow-1)"
    checked(KINDS["harm"].draw(runs, {"value": "goodput(flow-2)"}))


def test_harm_by_phases_of_one_run(make_run: Make) -> None:
    phases = [
        {"name": name, "from": {"at": f"{start}s"}, "to": {"at": f"{start + 50}s"}}
        for name, start in (("alone", 10), ("loaded", 100))
    ]
    data = checked(KINDS["harm"].draw([make_run(phases=phases)], {"phases": "loaded", "alone": "alone"}))
    assert data.select("rival", "harm").rows() == [("loaded", 0.0)]


def test_spikes_have_height_and_length_above_the_level(stepped: list[Run]) -> None:
    data = checked(KINDS["spikes"].draw(stepped, {"above": "2"}))
    # RTT 25 ms, base 20 ms, level 22 ms, from the event at 30 s to the end at 180 s.
    assert data["height_ms"].to_list() == pytest.approx([3.0] * 4)
    assert data["length_s"].to_list() == pytest.approx([150.0] * 4, abs=1)
    assert KINDS["spikes"].draw(stepped, {"above": "10"}).data["length_s"].to_list() == [0.0] * 4


def test_a_plane_has_the_steps_that_both_flows_have(two_queues: list[Run]) -> None:
    data = checked(KINDS["chiu-jain"].draw(two_queues[:1], {"step": "10"}))
    run = two_queues[0]
    for way, flow in (("x", "flow-1"), ("y", "flow-2")):
        rates, _ = binned_flows(run, 10.0)[flow]
        assert data[way].to_list() == pytest.approx(rates.value)
        assert data["t_s"].to_list() == pytest.approx(rates.t)


def test_steps_are_those_of_the_frame(two_queues: list[Run]) -> None:
    """The naive twin: each step's samples, one by one."""
    run, step = two_queues[0], 0.5
    wanted: list[Wanted] = [("sojourn_mean_s", "mean"), ("sojourn_min_s", "least"), ("sojourn_max_s", "most")]
    found = run.steps("queues", step, *wanted, by=("queue",))
    rows = run.queues.filter(pl.col("t_s") >= 0)
    assert [own.name for own in found] == rows["queue"].cast(pl.String).unique(maintain_order=True).to_list()
    for own in found:
        its = rows.filter(pl.col("queue").cast(pl.String) == own.name)
        for t, *values in zip(own.t, *own.values, strict=True):
            samples = its.filter((pl.col("t_s") > t - step / 2 + 1e-9) & (pl.col("t_s") <= t + step / 2 + 1e-9))
            there = [samples[column].drop_nans() for column, _ in wanted]
            naive = [there[0].mean(), there[1].min(), there[2].max()]
            assert values == pytest.approx([math.nan if v is None else v for v in naive], nan_ok=True)


def test_rows_are_those_of_the_frame(two_queues: list[Run]) -> None:
    run = two_queues[0]
    name = run.totals["name"].cast(pl.String)[-1]
    frame = run.totals.filter(pl.col("name").cast(pl.String) == name)
    subjects, values = run.rows("totals", "subject", "value", only={"name": name})
    assert subjects
    assert (subjects, values) == (frame["subject"].to_list(), frame["value"].to_list())
    with pytest.raises(UsageError, match='no table "total"'):
        run.rows("total", "value")


def test_a_plane_needs_two_flows_that_are_there(two_queues: list[Run]) -> None:
    for options, said in (
        ({"x": "flow-3"}, 'no flow "flow-3"'),
        ({"x": "flow-1", "y": "flow-1"}, "both axes show flow-1"),
    ):
        with pytest.raises(UsageError) as raised:
            KINDS["chiu-jain"].draw(two_queues[:1], options)
        assert said in raised.value.message


def test_an_overlay_has_both_sets_named(two_queues: list[Run], tmp_path: Path) -> None:
    with Folder.create(tmp_path / "other", version="0", command="by hand") as folder:
        for run in two_queues[:2]:
            folder.add(run.key, {n: run.table(n) for n in run.tables}, command="by hand")
    data = checked(KINDS["overlay"].draw(two_queues, {"with": str(tmp_path / "other"), "names": "ours,theirs"}))
    assert data["queue"].unique().to_list() == ["fq_codel"]
    assert data["set"].unique(maintain_order=True).to_list() == ["ours", "theirs"]
    rate = data.filter((pl.col("of") == "flow-1 (cubic)") & (pl.col("quantity") == "Throughput (Mbit/s)"))
    assert rate.group_by("set", maintain_order=True).agg(pl.col("value").mean())["value"].to_list() == [23.0, 23.0]


def test_an_overlay_of_one_set_says_what_is_missing(two_queues: list[Run]) -> None:
    with pytest.raises(UsageError) as raised:
        KINDS["overlay"].draw(two_queues)
    assert "with=DIR" in raised.value.render()


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
        ("queue=pfifo|fq_codel", ["fq_codel", "pfifo"]),
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


def test_every_kind_is_in_the_reference() -> None:
    text = reference()
    for name in KINDS:
        assert f"## `{name}`" in text
    page = (Path(__file__).parents[2] / "docs" / "figures.md").read_text()
    assert page.count("<!-- table: figures -->") == 1
    # The page links kinds by the anchors that the reference makes.
    for name in re.findall(r"\]\(#([a-z_-]+)\)", page):
        assert name in KINDS


def test_digits_of_labels_are_kept() -> None:
    assert "0.0042" in slim('<svg viewBox="0 0 1 1"><text x="1.2345">0.0042</text></svg>', "")
