import math
import re
from pathlib import Path

import pytest

from sojourn import load, parse
from sojourn.cli.parity import _place
from sojourn.core.spread import Spread
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.evidence import parity
from sojourn.evidence.parity import METRICS, Comparison, Pair
from sojourn.reporting.report.parity import write as write_page

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


def test_any_two_engines_are_named_in_all_that_is_written() -> None:
    engines = parity.Engines("sim", "live")
    pair = Pair("t", (), "codel", "cubic", (2, 3), [comparison("sum", [47.0], [48.0])], engines)
    (cell,) = parity.as_json([pair], [])["cells"]
    assert cell["seeds"] == {"sim": 2, "live": 3}
    assert (cell["sim"]["mean"], cell["live"]["mean"]) == (47.0, 48.0)
    assert "| cell | metric | simulator | range | live | range | verdict |" in parity.markdown([pair], [])
    assert parity.USUAL.titles == ("the simulator", "Linux")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim", '"sim" is not two engines'),
        ("sim,sim", '"sim,sim" is not two engines'),
        ("sim,", '"sim," is not two engines'),
        ("sim,linus", 'there is no engine "linus"\n  help: did you mean "linux"?'),
    ],
)
def test_two_engines_are_asked_for_by_their_names(words: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        parity.Engines.parse(words)
    assert str(raised.value).startswith(said)


def test_the_page_names_the_engines_that_were_compared(tmp_path: Path) -> None:
    runs = parse(SMALL, "small.toml").run()
    both = parity.both(runs, runs)
    write_page(tmp_path / "p.html", both, parity.compare(both, parity.Engines("sim", "live")))
    text = (tmp_path / "p.html").read_text()
    assert "Parity: the simulator and live" in text
    assert ">the simulator</text>" in text
    assert ">live</text>" in text
    assert "<th>simulator</th><th>range</th><th>live</th>" in text
    assert "Linux" not in text


SMALL = """
[experiment]
name = "small"
duration = "4s"
seeds = 1

[axis.queue]
"codel" = { hop.bottleneck.qdisc = "codel ecn" }
"pie" = { hop.bottleneck.qdisc = "pie ecn" }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"

[[flow]]
name = "first"
cc = "cubic"

[[flow]]
name = "second"
cc = "reno"
"""


def test_the_page_has_both_runs_of_every_cell_and_stands_alone(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    ours = load(file).run()
    theirs = load(file, settings=["hop.bottleneck.rtt=40ms"]).run()
    both = parity.both(ours, theirs)
    pairs = parity.compare(both)
    assert [pair.title for pair in pairs] == ["codel", "pie"]
    page = tmp_path / "parity.html"
    write_page(page, both, pairs)
    text = page.read_text()
    assert text.count("<figure") == 2
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]+"', "", text)
    # Two flows and a queue: two lines in each of three rows, one in the last, from each engine; one is dashed.
    for figure in re.findall(r"<figure.*?</figure>", text, re.DOTALL):
        assert figure.count("stroke-dasharray: 3.6") == 7
        assert figure.count("stroke-opacity: 0.5") == 7
    assert '<tr class="differs"><td class="text">rtt_mean first, ms</td>' in text
    # An engine held against itself agrees in everything.
    write_page(page, parity.both(ours, ours), parity.compare(parity.both(ours, ours)))
    assert "What differs" not in page.read_text()


def test_runs_of_another_version_stay_and_those_of_linux_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"sim": "0.1.0+old", "linux": "0.1.0+kernel"}
    monkeypatch.setattr("sojourn._core.version", lambda engine="sim": versions[engine])
    for engine, version in versions.items():
        assert _place(tmp_path, engine) == tmp_path / engine
        Folder.create(tmp_path / engine, version=version, command="sojourn parity").close()
    versions["sim"] = "0.1.0+new"
    assert _place(tmp_path, "sim") == tmp_path / "sim-new"
    assert _place(tmp_path, "linux") == tmp_path / "linux"
