import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from by_hand import a_scenario
from conftest import Make
from sojourn.core import cells
from sojourn.plotting.draw import panel, topology
from sojourn.plotting.draw.flows import looks
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import panel_of, step_of
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.draw.svg import bounded, standalone
from sojourn.plotting.draw.terminal import Line, chart, legend, side_by_side
from sojourn.plotting.draw.ticks import nice_ceiling
from sojourn.plotting.figures import KINDS


@pytest.mark.parametrize(("value", "ceiling"), [(47.8, 50), (50, 50), (0.9, 1), (1e-7, 1e-7), (-1, 1), (8.1, 10)])
def test_axes_end_at_round_numbers(value: float, ceiling: float) -> None:
    assert nice_ceiling(value) == ceiling


def test_a_line_in_the_terminal() -> None:
    rows = [row.plain for row in chart([Line("a", [0, 1], [0, 4])], title="ms", columns=12, rows=3, x_end=1)]
    assert rows == [
        "ms          ",
        "4 ┤      ⣀⠔⠊",
        "  │   ⡠⠔⠊   ",
        "0 ┤⡠⠔⠉      ",
        "  └─────────",
        "   0     1 s",
    ]


def test_a_gap_in_the_data_is_a_gap_in_the_line() -> None:
    line = Line("a", [0, 1, 2, 3, 4], [1, 1, float("nan"), 1, 1])
    top = chart([line], title="", columns=23, rows=2, x_end=4)[1].plain
    assert "   " in top.removeprefix("  1 ┤").strip()


def test_charts_stand_side_by_side_and_lines_are_named() -> None:
    one = chart([Line("a", [0, 1], [1, 2])], title="x", columns=20, rows=3, x_end=1)
    assert [len(row) for row in side_by_side(one, one)] == [43] * 6
    assert legend(["cubic", "reno"]).plain == "━━ cubic   ━━ reno   "


def test_a_panel_is_one_well_formed_picture_with_what_it_shows(make_run: Make) -> None:
    runs = [make_run((20.0, 27.0), seed=1), make_run((22.0, 25.0), seed=2)]
    [cell] = cells.group(runs)
    drawn = panel_of(cell)
    assert [f.name for f in drawn.flows] == ["flow-1 (cubic)", "flow-2 (cubic)"]
    assert drawn.events == [(30.0, "rate 10Mbit")]
    first = drawn.flows[0].rate
    assert set(first.value) == {20.0}
    assert (set(first.low), set(first.high)) == ({20.0}, {22.0})
    assert drawn.queues[0][1].value[0] == pytest.approx(5.0)
    scales = panel.Scales.over([drawn])
    assert (scales.seconds, scales.rate.high, scales.rtt.high, scales.queue.high) == (180, 30, 25, 6)
    assert not any(axis.logarithmic for axis in (scales.rate, scales.rtt, scales.queue))
    sheet = Sheet([panel.part(drawn, scales, "a < b")])
    text = sheet.svg()
    assert text == sheet.svg()
    root = ET.fromstring(text)  # noqa: S314 - our own text
    words = " ".join(node.text or "" for node in root.iter() if node.tag.endswith("text"))
    for word in ("Throughput", "(Mbit/s)", "RTT", "Queue delay", "Time (s)", "rate 10Mbit", "a < b", "flow-1 (cubic)"):
        assert word in words
    assert "currentColor" in text
    assert "<metadata" not in text
    file = ET.fromstring(standalone(text))  # noqa: S314
    assert "".join(file.itertext()).count("a < b") == 1


def test_an_axis_is_logarithmic_where_panels_lie_far_apart() -> None:
    assert Axis.over([[1.0, 200.0], [1.0, 150.0]]) == Axis(0, 200, logarithmic=False)
    assert Axis.over([[5.0, 6.0, 7.0], [150.0, 230.0]]) == Axis(2, 250, logarithmic=True)
    assert Axis.over([[0.0, 0.0, 0.0, 6.0], [150.0, 230.0]]) == Axis(2, 250, logarithmic=True), "empty mostly"
    assert Axis.over([[], []]) == Axis(0, 1, logarithmic=False)


def test_steps_are_round_and_give_as_many_points_as_an_eye_can_use() -> None:
    assert step_of(180) == 0.5
    assert step_of(60) == 0.2
    assert step_of(10) == 0.03


def test_the_topology_shows_hops_flows_and_both_directions() -> None:
    text = topology.draw(a_scenario(ccs=("cubic", "reno"), delays=("40ms", "5ms"), qdisc="pfifo limit 1000"))
    root = ET.fromstring(text)  # noqa: S314
    words = [node.text for node in root.iter() if node.tag.endswith("text")]
    for word in ("client", "server", "bottleneck", "flow-1 (cubic)", "flow-2 (reno)", "ping", "flow-1: 40ms"):
        assert word in words
    assert words.index("server") < words.index("flow-1 (cubic)") < words.index("client"), "the server sends downloads"
    assert words.count("htb 50Mbit") == 2
    assert words.count("pfifo limit 1000") == 2


def test_what_people_write_cannot_break_a_picture(tmp_path: Path) -> None:
    scenario = a_scenario(qdisc='<script>"&')
    ET.fromstring(topology.draw(scenario))  # noqa: S314
    assert tmp_path.exists()


def test_the_topology_names_links_by_their_words() -> None:
    scenario = a_scenario()
    for side in ("down", "up"):
        for element in scenario["hops"][0][side]:
            if element["kind"] == "queue":
                element |= {"shaper": "link", "link": 0}
    scenario["links"] = ["slotted every 10ms open 5ms"]
    words = [node.text or "" for node in ET.fromstring(topology.draw(scenario)).iter()]  # noqa: S314
    assert " ".join(words).count("slotted every 10ms open 5ms") == 2


def test_a_topology_keeps_all_flows_where_they_are_many() -> None:
    many = a_scenario(ccs=("cubic",) * 12 + ("bbr",), delays=("40ms",) * 13)
    text = topology.draw(many)
    root = ET.fromstring(text)  # noqa: S314
    words = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert "12 × cubic" in words
    assert "flow-13 (bbr)" in words
    assert "13 flows: 40ms" in words
    # Everything is inside of the picture.
    x, y, width, height = map(float, root.attrib["viewBox"].split())
    for node in root.iter():
        if node.tag.endswith("rect"):
            assert x <= float(node.attrib["x"])
            assert y <= float(node.attrib["y"])
            assert float(node.attrib["x"]) + float(node.attrib["width"]) <= x + width
            assert float(node.attrib["y"]) + float(node.attrib["height"]) <= y + height


def test_flows_of_a_group_share_a_colour_where_colours_are_few() -> None:
    scenario = a_scenario(ccs=("cubic",) * 7 + ("bbr",), delays=("10ms",) * 8)
    for flow in scenario["flows"][:7]:
        flow["group"] = "download"
    found = looks(scenario)
    assert {look.key for look in found.values()} == {"download (7 × cubic)", "flow-8 (bbr)"}
    assert len({look.colour for look in found.values()}) == 2
    few = looks(a_scenario(ccs=("cubic", "bbr")))
    assert [look.key for look in few.values()] == ["flow-1 (cubic)", "flow-2 (bbr)"]
    assert "download (7 × cubic)" in topology.draw(scenario)


def test_letters_are_large_enough_to_read_on_a_phone(make_run: Make) -> None:
    """Pictures are no narrower than that their smallest letters have ten pixels."""
    for kind in ("delivery", "fairness", "cdf", "shares", "timeseries"):
        svg = bounded(KINDS[kind].draw([make_run(labels={"queue": "pie"})]).svg)
        head = svg[: svg.index(">")]
        least = float(head.partition("min-width:")[2].partition("px")[0])
        width = float(head.partition('viewBox="')[2].split()[2])
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([0-9.]+)px", svg)]
        assert min(sizes) * least / width >= 9.4  # of numbers above bars; ticks have ten
        assert "width:100%" in head


def test_no_legend_lies_over_a_title_or_outside(make_run: Make) -> None:
    """Keys are below the title, on as many rows as they need, also in a narrow picture."""
    scenario = {"ccs": ("cubic",) * 6, "delays": ("10ms",) * 6, "labels": {"queue": "a very long label of a queue"}}
    drawn = KINDS["delivery"].draw([make_run((1.0,) * 6, **scenario)])
    root = ET.fromstring(drawn.render("svg", "70mm"))  # noqa: S314
    width = float(root.attrib["viewBox"].split()[2])
    placed = {}
    for node in root.iter():
        if node.tag.endswith("text") and node.text and (node.text.startswith(("flow-", "by-hand"))):
            found = re.search(r"translate\(([0-9.]+) ([0-9.]+)\)", node.attrib.get("transform", ""))
            x, y = (found[1], found[2]) if found else (node.attrib["x"], node.attrib["y"])
            placed[node.text] = (float(x), float(y))
    assert len(placed) == 7
    title = placed.pop(next(text for text in placed if text.startswith("by-hand")))
    assert all(y > title[1] + 5 for _, y in placed.values())
    assert all(x < width - 40 for x, _ in placed.values())
    assert len({y for _, y in placed.values()}) > 1
