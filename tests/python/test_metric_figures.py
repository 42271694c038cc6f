"""Kinds that draw any metric or quantity: the figures have the metric's values."""

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from by_hand import a_scenario, tables
from conftest import Make
from sojourn import _core
from sojourn.errors import UsageError
from sojourn.plotting import labels
from sojourn.plotting.draw.curves import CurveChart
from sojourn.plotting.draw.heat import HeatChart
from sojourn.plotting.draw.points import Ellipse, PointChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.figures import KINDS, Drawn
from sojourn.views.run import Run
from test_figures import made


def checked(drawn: Drawn) -> pl.DataFrame:
    """Return the data of a figure that is well-formed, follows the page and has a caption."""
    assert ET.fromstring(drawn.svg).tag.endswith("svg")  # noqa: S314 - our own text
    assert "currentColor" in drawn.svg
    assert drawn.caption.endswith(".")
    return drawn.data


def chart_of(drawn: Drawn, number: int = 0) -> Any:
    assert isinstance(drawn.picture, Sheet)
    return drawn.picture.parts[number].chart


def words(drawn: Drawn) -> list[str]:
    root = ET.fromstring(drawn.svg)  # noqa: S314 - our own text
    return ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("text")]


RATES: dict[tuple[str, str], tuple[float, float]] = {
    ("0.5", "20ms"): (30.0, 10.0),
    ("0.5", "80ms"): (24.0, 16.0),
    ("4", "20ms"): (12.0, 28.0),
    ("4", "80ms"): (20.0, 20.0),
}


@pytest.fixture
def grid(make_run: Make) -> list[Run]:
    """Return runs over two axes, three seeds each: the first flow's rate differs by 1 Mbit/s from seed to seed."""
    return [
        make_run((a + seed - 2, b), seed=seed, labels={"buffer": buffer, "rtt": rtt}, seconds=60)
        for (buffer, rtt), (a, b) in RATES.items()
        for seed in (1, 2, 3)
    ]


def test_lines_are_the_metric_against_the_axis(grid: list[Run]) -> None:
    drawn = KINDS["lines"].draw(grid, {"y": "goodput(flow-1)", "x": "buffer", "colour": "rtt"})
    data = checked(drawn)
    found = {
        (b, r): (m, lo, hi, n)
        for b, r, m, lo, hi, n in data.select("buffer", "rtt", "mean", "low", "high", "seeds").rows()
    }
    assert found == {key: (a, a - 1, a + 1, 3) for key, (a, _) in RATES.items()}
    assert data["unit"].unique().to_list() == ["Mbit/s"]
    chart = chart_of(drawn)
    assert isinstance(chart, PointChart)
    # At their numbers, not side by side.
    assert sorted({(p.colour, p.x, p.mean) for p in chart.points}) == [
        ("rtt 20ms", 0.5, 30.0),
        ("rtt 20ms", 4.0, 12.0),
        ("rtt 80ms", 0.5, 24.0),
        ("rtt 80ms", 4.0, 20.0),
    ]
    assert "Goodput: flow-1 (Mbit/s)" in words(drawn)


def test_several_metrics_have_rows_and_flows_are_an_axis(grid: list[Run]) -> None:
    drawn = KINDS["lines"].draw(grid, {"y": "goodput({flow}), jain(goodput)", "x": "rtt"})
    chart = chart_of(drawn)
    assert list(dict.fromkeys(p.row for p in chart.points)) == [
        "Goodput (Mbit/s)",
        "Jain's index of goodput",
    ]
    assert {p.colour for p in chart.points} == {"flow-1", "flow-2", ""}
    [jain] = [p for p in chart.points if p.row.startswith("Jain") and (p.x, p.dash or p.panel) == (80.0, "buffer 4")]
    values = [
        run.metric("jain(goodput)") for run in grid if dict(run.scenario["cell"]) == {"buffer": "4", "rtt": "80ms"}
    ]
    assert jain.mean == pytest.approx(sorted(values)[1])
    assert sorted(jain.seeds) == sorted(values)
    # A share and an index end at one.
    assert chart.tops == {"Jain's index of goodput": 1.0}


def test_bars_of_any_metric(grid: list[Run]) -> None:
    drawn = KINDS["bars"].draw(grid, {"y": "share(goodput, flow-2)", "x": "rtt", "colour": "buffer"})
    data = checked(drawn)
    [low] = data.filter((pl.col("buffer") == "4") & (pl.col("rtt") == "80ms"))["mean"]
    assert low == pytest.approx(math.fsum(20 / (20 + a) for a in (19, 20, 21)) / 3)
    chart = chart_of(drawn)
    # Few seeds: the median, and a dot for each.
    assert {(b.group, b.series): b.value for b in chart.bars}["80", "buffer 4"] == pytest.approx(0.5)
    mean = KINDS["bars"].draw(
        grid, {"y": "share(goodput, flow-2)", "x": "rtt", "colour": "buffer", "statistic": "mean"}
    )
    assert {(b.group, b.series): b.value for b in chart_of(mean).bars}["80", "buffer 4"] == pytest.approx(low)
    assert chart.below == "rtt (ms)"


def test_a_heatmap_has_a_square_a_cell(grid: list[Run]) -> None:
    drawn = KINDS["heatmap"].draw(grid, {"value": "goodput(flow-2)", "x": "rtt", "y": "buffer"})
    data = checked(drawn)
    assert data.height == 4
    chart = chart_of(drawn)
    assert isinstance(chart, HeatChart)
    assert chart.values == {
        ("", r.removesuffix("ms"), buffer): pytest.approx(b) for (buffer, r), (_, b) in RATES.items()
    }
    assert {"28", "16", "buffer", "rtt (ms)", "Goodput: flow-2 (Mbit/s)"} <= set(words(drawn))


def test_a_heatmap_without_two_axes_is_refused(make_run: Make) -> None:
    with pytest.raises(UsageError, match="two axes that vary"):
        KINDS["heatmap"].draw([make_run(labels={"rtt": r}) for r in ("20ms", "80ms")])


def test_scatter_has_a_point_a_cell_and_an_ellipse_around_its_runs(grid: list[Run]) -> None:
    options = {"x": "mean(srtt, {flow})", "y": "goodput({flow})", "colour": "flow", "dash": "buffer"}
    drawn = KINDS["scatter"].draw(grid, options)
    data = checked(drawn)
    rows = data.filter((pl.col("flow") == "flow-1") & (pl.col("buffer") == "0.5") & (pl.col("rtt") == "20ms"))
    [row] = rows.rows(named=True)
    assert (row["x"], row["y"], row["y_low"], row["y_high"], row["seeds"]) == pytest.approx((25.0, 30.0, 29.0, 31.0, 3))
    # Three runs at 29, 30, 31 Mbit/s and one RTT: a standard deviation of sqrt(2/3), and none across.
    assert row["ellipse_long"] == pytest.approx(math.sqrt(2 / 3))
    assert row["ellipse_short"] == pytest.approx(0, abs=1e-6)
    assert chart_of(drawn).reversed


def test_two_seeds_have_bars_and_no_ellipse(grid: list[Run]) -> None:
    two = [run for run in grid if run.seed < 3]
    drawn = KINDS["scatter"].draw(two, {"y": "goodput(flow-1)", "x": "mean(srtt, flow-1)"})
    assert not chart_of(drawn).ellipses
    assert all(p.high - p.low == pytest.approx(1) for p in chart_of(drawn).points)


def test_an_ellipse_is_that_of_the_covariance() -> None:
    found = Ellipse.around([(0.0, 0.0), (2.0, 2.0), (1.0, 0.0), (1.0, 2.0), (0.0, 2.0), (2.0, 0.0)])
    assert found is not None
    # Uncorrelated: var x = 2/3, var y = 1.
    assert (found.x, found.y, found.long, found.short) == pytest.approx((1, 1, 1, math.sqrt(2 / 3)))
    x, y = found.outline()
    assert (max(x), max(y)) == pytest.approx((1 + math.sqrt(2 / 3), 2), rel=1e-3)


def test_boxes_over_seeds(grid: list[Run]) -> None:
    data = checked(KINDS["box"].draw(grid, {"y": "goodput(flow-1)", "x": "rtt"}))
    [row] = data.filter((pl.col("buffer") == "4") & (pl.col("rtt") == "20ms")).rows(named=True)
    five = [row[name] for name in ("whisker_low", "quartile_1", "median", "quartile_3", "whisker_high")]
    assert five == [11.0, 11.5, 12.0, 12.5, 13.0]
    assert row["values"] == 3


@pytest.fixture
def with_completions() -> list[Run]:
    """Return a run of each of two queues with a hundred short flows of 0.1, 0.2, … 10 s, half of that with fq."""
    runs = []
    for queue, factor in (("pfifo", 1.0), ("fq", 0.5)):
        scenario = a_scenario(labels={"queue": queue})
        durations = [factor * n / 10 for n in range(1, 101)]
        rows = pl.DataFrame(
            {
                "t_s": [float(n) for n in range(1, 101)],
                "flow": ["web"] * 100,
                "bytes": pl.Series([1000] * 100, dtype=pl.UInt64),
                "duration_s": [*durations[:-1], math.nan],
            }
        )
        runs.append(made(scenario, {**tables(scenario, (20, 27)), "completions": rows}))
    return runs


def test_a_cdf_of_completion_times_counts_those_that_completed(with_completions: list[Run]) -> None:
    drawn = KINDS["cdf"].draw(with_completions, {"quantity": "completion_time", "log": "yes"})
    data = checked(drawn)
    own = data.filter(pl.col("queue") == "fq")
    assert own.height == 99
    assert own.filter(pl.col("value") <= 2.5 + 1e-9)["below"].to_list()[-1] == pytest.approx(50 / 99)
    assert own["unit"].unique().to_list() == ["s"]
    assert {"Flow completion time (s), from the origin on", "Fraction of flows (CDF)", "fq", "pfifo"} <= set(
        words(drawn)
    )
    late = KINDS["cdf"].draw(with_completions, {"quantity": "completion_time", "window": "over last 130s"}).data
    # Those that started after 50 s: the 51st to the 99th.
    assert late.filter(pl.col("queue") == "pfifo")["value"].to_list() == pytest.approx([n / 10 for n in range(51, 100)])


def test_boxes_of_every_value(with_completions: list[Run]) -> None:
    data = checked(KINDS["box"].draw(with_completions, {"quantity": "completion_time", "x": "queue"}))
    [row] = data.filter(pl.col("queue") == "pfifo").rows(named=True)
    # Nearest rank of 99 values 0.1 … 9.9.
    five = [row[name] for name in ("whisker_low", "quartile_1", "median", "quartile_3", "whisker_high")]
    assert five == pytest.approx([0.1, 2.5, 5.0, 7.5, 9.9])
    assert row["values"] == 99


def test_a_cdf_has_colours_and_dashes_by_axes(make_run: Make) -> None:
    runs = [make_run(labels={"queue": q, "buffer": b}) for q in ("pfifo", "fq") for b in ("1", "4")]
    drawn = KINDS["cdf"].draw(runs, {"colour": "queue", "dash": "buffer"})
    chart = chart_of(drawn)
    assert isinstance(chart, CurveChart)
    assert {(c.colour, c.dash) for c in chart.curves} == {
        (q, f"buffer {b}") for q in ("pfifo", "fq") for b in ("1", "4")
    }
    assert isinstance(drawn.picture, Sheet)
    names = [key.name for key in drawn.picture.parts[0].keys]
    assert names == ["fq", "pfifo", "buffer 1", "buffer 4"]


def test_what_a_quantity_was_called_is_said(make_run: Make) -> None:
    with pytest.raises(UsageError) as raised:
        KINDS["cdf"].draw([make_run()], {"quantity": "queue"})
    assert "queue is called sojourn" in raised.value.message


def test_a_quantity_that_a_run_has_not_names_those_that_it_has(make_run: Make) -> None:
    with pytest.raises(UsageError) as raised:
        KINDS["cdf"].draw([make_run()], {"quantity": "completion_time"})
    assert "has no flow completion time" in raised.value.message
    assert "srtt" in (raised.value.help or "")


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("lines", {"y": ""}, "needs a metric"),
        ("lines", {"x": "bufer"}, 'did you mean "buffer"?'),
        ("lines", {"y": "godput({flow})"}, "goodput"),
        ("bars", {"panel": "-", "colour": "-"}, "would be indistinguishable"),
        ("box", {"y": "goodput(flow-1)", "quantity": "rtt"}, "not both"),
        ("box", {}, "one metric or one quantity"),
        ("lines", {"column": "cwnd"}, "timeseries has it"),
    ],
)
def test_what_is_wrong_is_said(grid: list[Run], kind: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        KINDS[kind].draw(grid, options)
    assert said in raised.value.render()


def test_every_metric_and_quantity_has_a_label() -> None:
    known = json.loads(_core.metrics())
    assert all(one["label"] for of in ("functions", "quantities") for one in known[of])


def test_pictures_are_written_in_every_format_and_size(grid: list[Run], tmp_path: Path) -> None:
    drawn = KINDS["lines"].draw(grid, {"y": "jain(goodput)"})
    pdf, csv = drawn.write(str(tmp_path), "a", "pdf", "254x127mm")
    content = pdf.read_bytes()
    assert content.startswith(b"%PDF")
    assert b"/MediaBox [ 0 0 720 360 ]" in content
    # TrueType that is embedded, and no font of Type 3, which journals refuse.
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert pl.read_csv(csv).height == drawn.data.height
    png, _ = drawn.write(tmp_path, "a", "png", "1200x800px")
    head = png.read_bytes()[:24]
    assert (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")) == (1200, 800)
    svg, _ = drawn.write(tmp_path, "a", "svg", "88mm")
    assert 'viewBox="0 0 249.4' in svg.read_text()
    assert drawn.render("pdf") == drawn.render("pdf")
    for form, size in (("bmp", ""), ("pdf", "x"), ("pdf", "1x1mm")):
        with pytest.raises(UsageError):
            drawn.render(form, size)


def test_labels_of_users_do_no_harm(make_run: Make, tmp_path: Path) -> None:
    bad = "a\x1b[31m\x00b|c<script>$x_1$"
    runs = [make_run((a, 20.0), labels={"queue": label}) for a, label in ((10.0, bad), (20.0, "other"))]
    for kind, options in (
        ("lines", {"y": "goodput(flow-1)"}),
        ("bars", {}),
        ("cdf", {}),
        ("delivery", {}),
        ("fairness", {}),
        ("box", {"y": "goodput(flow-1)"}),
        ("scatter", {"x": "goodput(flow-2)"}),
    ):
        drawn = KINDS[kind].draw(runs, options)
        svg = drawn.svg
        checked(drawn)
        assert "\x1b" not in svg
        assert "\x00" not in svg
        assert "<script" not in svg
        # A dollar is no mathematics.
        assert any("$x_1$" in text for text in words(drawn)), kind
        assert "<script" not in drawn._repr_html_()
        for form in ("pdf", "png"):
            assert drawn.render(form)


def test_numbers_of_files_have_no_more_digits_than_doubles(tmp_path: Path, grid: list[Run]) -> None:
    drawn = Drawn("<svg/>", pl.DataFrame({"a": [1.0000000000000002e-6, 0.1 + 0.2]}), "Two.")
    _, csv = drawn.write(tmp_path, "x")
    assert csv.read_text().split() == ["a", "1e-6", "0.3"]


def test_who_draws_otherwise_has_svg_alone(tmp_path: Path) -> None:
    drawn = Drawn('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>', pl.DataFrame({"a": [1]}), "One.")
    with pytest.raises(UsageError, match="exists as SVG only"):
        drawn.render("pdf")


def test_the_measuring_window_is_shaded_and_said(make_run: Make) -> None:
    run = make_run(seconds=60)
    # The last third, up to a second before the end.
    assert run.window() == pytest.approx((39.0, 59.0))
    assert run.window("over last 10s") == pytest.approx((50.0, 60.0))
    for kind in ("delivery", "timeseries", "queue-delay"):
        drawn = KINDS[kind].draw([run])
        assert chart_of(drawn).window == run.window()
        assert "Shaded: the measuring window, 39 s to 59 s." in drawn.caption
    assert "the measuring window (39 s to 59 s)" in KINDS["fairness"].draw([run]).caption
    assert "over last 10s (50 s to 60 s)" in KINDS["goodput"].draw([run], {"window": "over last 10s"}).caption


def test_rtt_has_axes_of_its_own(make_run: Make) -> None:
    drawn = KINDS["delivery"].draw([make_run()])
    strips = [strip.title for strip in chart_of(drawn).strips]
    assert strips == ["Throughput (Mbit/s)", "RTT (ms)", "Queue delay (ms)"]


def test_shares_show_the_ranges_of_their_data(make_run: Make) -> None:
    runs = [make_run((10.0 + seed, 20.0), seed=seed, labels={"load": "1"}) for seed in (1, 2, 3)]
    drawn = KINDS["shares"].draw(runs)
    rows = drawn.data.select("share_percent_low", "share_percent_high").rows()
    assert [(bar.low, bar.high) for bar in chart_of(drawn).bars] == rows
    assert all(low < high for low, high in rows)
    assert "the thin lines span the seeds" in drawn.caption


def test_columns_over_time_have_their_range_over_seeds(make_run: Make) -> None:
    runs = [make_run((10.0 + seed, 20.0), seed=seed) for seed in (1, 2, 3)]
    drawn = KINDS["timeseries"].draw(runs, {"column": "goodput_bps"})
    line = chart_of(drawn).strips[0].lines[0]
    assert (set(line.band.low), set(line.band.high)) == ({11.0}, {13.0})


def test_what_has_no_colour_is_nobodys(grid: list[Run]) -> None:
    drawn = KINDS["lines"].draw(grid, {"y": "goodput({flow}), jain(goodput)", "x": "rtt"})
    assert isinstance(drawn.picture, Sheet)
    # The first flow is blue, as everywhere.
    assert [(key.name, key.colour) for key in drawn.picture.parts[0].keys][:2] == [
        ("flow-1", "#0072B2"),
        ("flow-2", "#D55E00"),
    ]


def test_a_percentile_of_means_is_not_called_one_of_packets(grid: list[Run]) -> None:
    metric = "p99(queue_delay, {queue})"
    means = KINDS["lines"].draw(grid, {"y": metric, "x": "rtt"})
    assert means.caption.startswith("99th percentile of 500-ms mean queue delay")
    assert f"{metric} is of 500-ms means; p99(sojourn, {{queue}}) is of every packet." in means.caption
    # A mean of means, weighted by packets, is the mean of the packets.
    assert KINDS["lines"].draw(grid, {"y": "mean(queue_delay, {queue})", "x": "rtt"}).caption.startswith("Mean queue d")


def test_no_line_joins_two_metrics(grid: list[Run]) -> None:
    # Both are "Mean queue delay (ms)", and differ in their windows.
    drawn = KINDS["lines"].draw(
        grid, {"y": "mean(queue_delay, {queue}) over last 20s, mean(queue_delay, {queue})", "x": "rtt"}
    )
    rows = {p.row for p in chart_of(drawn).points}
    assert rows == {
        "Mean queue delay [mean(queue_delay, {queue}) over last 20s] (ms)",
        "Mean queue delay [mean(queue_delay, {queue})] (ms)",
    }


def test_every_pair_of_metrics_has_labels_of_its_own() -> None:
    every = [f"p99({q}, {{queue}})" for q in ("queue_delay", "sojourn")]
    assert len({str(labels.of_metric(metric, "50ms")) for metric in every}) == len(every)


def test_one_seed_far_out_moves_no_median(make_run: Make) -> None:
    runs = [make_run((rate, 20.0), seed=seed) for seed, rate in enumerate((10.0, 11.0, 40.0), start=1)]
    drawn = KINDS["bars"].draw(runs, {"y": "goodput(flow-1)"})
    assert "median of 3 seeds; each dot is a seed" in drawn.caption
    [bar] = chart_of(drawn).bars
    assert (bar.value, sorted(bar.seeds)) == (11.0, [10.0, 11.0, 40.0])
    assert drawn.data.select("mean", "median").row(0) == pytest.approx((61 / 3, 11.0))


def test_many_panels_are_wrapped_and_too_many_refused(make_run: Make) -> None:
    runs = [make_run((20.0, 27.0), labels={"queue": f"q{n}"}) for n in range(26)]
    runs = [
        made(dict(run.scenario), {**{name: run.table(name) for name in run.tables}, "histograms": _histogram(n)})
        for n, run in enumerate(runs)
    ]
    cdf = {"quantity": "sojourn", "colour": "flow", "dash": "-"}
    drawn = KINDS["cdf"].draw(runs[:9], cdf)
    chart = chart_of(drawn)
    assert chart.inches[0] < 14
    assert chart.inches[1] > 7
    titles = [text for text in words(drawn) if text.startswith("q") and text[1:].isdigit()]
    assert titles == [f"q{n}" for n in range(9)]
    with pytest.raises(UsageError, match="26 panels") as error:
        KINDS["cdf"].draw(runs, cdf)
    assert "colour=AXIS" in str(error.value.help)
    lines = KINDS["lines"].draw(
        [make_run((20.0, 27.0), labels={"queue": f"q{n}", "rtt": rtt}) for n in range(9) for rtt in ("10ms", "20ms")],
        {"y": "goodput({flow})", "x": "rtt", "colour": "flow", "dash": "-"},
    )
    assert chart_of(lines).inches[1] > 5
    assert sum(text.startswith("q") and text[1:].isdigit() for text in words(lines)) == 9


def _histogram(n: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "subject": ["bottleneck.down.qdisc"] * 2,
            "quantity": ["sojourn"] * 2,
            "lo_s": [0.0, 0.01],
            "hi_s": [0.01, 0.02 + n / 1e3],
            "count": pl.Series([3, 1], dtype=pl.UInt64),
        }
    )


def test_no_curve_of_a_later_panel_is_cut(make_run: Make) -> None:
    runs = [make_run((20.0, 27.0), labels={"queue": name}) for name in ("a", "b")]
    wide = _histogram(400)
    both = [
        made(dict(run.scenario), {**{name: run.table(name) for name in run.tables}, "histograms": own})
        for run, own in zip(runs, (_histogram(0), wide), strict=True)
    ]
    drawn = KINDS["cdf"].draw(both, {"quantity": "sojourn", "colour": "flow", "dash": "-"})
    # The longest delay is 420 ms, in the second panel.
    assert "400" in words(drawn)
