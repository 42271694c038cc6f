"""What pages carry for their script: the numbers of figures, commands, experiments."""

import base64
import json
import math
import re
import shlex
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Make
from sojourn import playground
from sojourn.core.cells import group
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.experiments import experiment, library
from sojourn.experiments.single import single
from sojourn.plotting.draw import panel
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import panel_of
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces
from sojourn.reporting import script
from sojourn.reporting.report import build
from sojourn.reporting.report.again import Experiments
from sojourn.views.run import Run


def unpacked(text: str) -> tuple[dict[str, Any], bytes]:
    """Read what a page carries, as its script does."""
    data = zlib.decompress(base64.b64decode(text), wbits=-zlib.MAX_WBITS)
    [length] = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def array(place: dict[str, Any], head: dict[str, Any], body: bytes) -> np.ndarray[Any, Any]:
    if "g" in place:
        start, step, count = place["g"]
        return np.asarray(start + step * np.arange(count))
    if place["k"] == "f":
        return np.frombuffer(body, "<f4", place["n"], 4 * place["at"])
    high, low = (body[4 * head["f"] + part * head["n"] :][place["at"] :][: place["n"]] for part in (0, 1))
    mixed = bytes(byte for pair in zip(low, high, strict=True) for byte in pair)
    return np.asarray(np.frombuffer(mixed, "<f2").astype(float) * place["s"])


def test_a_figure_carries_what_it_shows() -> None:
    t = [0.5, 1.5, 2.5, 3.5]
    band = Band(t, [1.0, math.nan, 3e5, 0.25], [0.5, 1, 1, 0], [2, 1, 4e5, 1], [[2.0, 1, 4e5, 1], [0.5, 1, 1, 0]])
    queue = Band(t, [1.0, 2, 3, 4], [0.0, 1, 2, 3], [2.0, 3, 4, 5])
    strips = [
        Strip("Rate (Mbit/s)", [Line(band, "#0072b2", page_name="a <b>")], Axis(0, 4e5, logarithmic=False)),
        Strip("Queue (ms)", [Line(queue, "#6f7780")], Axis(0.1, 10, logarithmic=True)),
    ]
    svg, text = Sheet([Part(Traces("it", strips, 4.0, [(2.0, "rate")], (1.0, 4.0)))]).answering()
    head, body = unpacked(text)
    assert [own["called"][:2] for own in head["axes"]] == [["", "Rate (Mbit/s)"], ["Time (s)", "Queue (ms)"]]
    assert [own["y"] for own in head["axes"]] == [[0, 4e5, 0], [0.1, 10, 1]]
    assert [own["free"] for own in head["axes"]] == [True, True]
    assert [own["span"] for own in head["axes"]] == [[1, 4], [1, 4]]
    assert [own["events"] for own in head["axes"]] == [[2], [2]]
    assert head["axes"][0]["notes"] == [[2, "rate"]]
    # Its axes lie inside the picture, one below the other.
    boxes = [own["box"] for own in head["axes"]]
    assert boxes[0][1] + boxes[0][3] < boxes[1][1] < head["h"]
    first, *seeds = head["axes"][0]["lines"][::-1]
    assert (first["n"], first["c"], "r" in first) == ("a <b>", "#0072b2", False)
    assert [own["r"] for own in seeds] == ["seed", "seed"]
    assert array(first["x"], head, body).tolist() == t
    shown = array(first["y"], head, body)
    assert shown == pytest.approx(band.value, rel=2**-11, nan_ok=True)
    assert [array(own["y"], head, body).tolist()[0] for own in seeds] == pytest.approx([0.5, 2.0], rel=2**-11)
    roles = {own.get("r"): array(own["y"], head, body) for own in head["axes"][1]["lines"]}
    assert roles["low"] == pytest.approx(queue.low, rel=2**-11)
    assert roles["high"] == pytest.approx(queue.high, rel=2**-11)
    # The line and its band, and nothing of what no picture shows.
    assert svg.count("#0072b2") == 2
    assert 'data-axes="1"' in svg


def test_bars_carry_their_values_and_names() -> None:
    bars = [Bar("", "", group, series, value) for group, series, value in (("x-1", "a", 2.0), ("x-2", "b", 3.0))]
    head, _ = unpacked(Sheet([BarChart(bars, "Rate (Mbit/s)", "it").part()]).answering()[1])
    [axes] = head["axes"]
    assert [(round(height, 6), name) for _, _, _, height, name in axes["bars"]] == [(2.0, "a"), (3.0, "b")]
    assert [label for _, label in axes["labels"]] == ["x-1", "x-2"]
    assert "free" not in axes


def test_a_cell_carries_every_seed(make_run: Make) -> None:
    runs = [make_run((10.0 + seed, 5.0), seed=seed, seconds=20) for seed in (1, 2, 3)]
    [cell] = group(runs)
    shown = panel_of(cell)
    head, body = unpacked(Sheet([panel.part(shown, panel.Scales.over([shown]))]).answering()[1])
    mine = [own for own in head["axes"][0]["lines"] if own["n"].startswith("flow-1")]
    last = [float(array(own["y"], head, body)[-1]) for own in mine]
    assert sorted(last) == pytest.approx([11.0, 12.0, 13.0], rel=2**-11)


def suites() -> list[str]:
    return ["l4s-tests/s6", "sce-l4s-ect1/s1", "parity/late", "rfc-9743/reordering"]


@pytest.mark.parametrize("name", suites())
def test_a_cell_as_a_file_of_its_own_is_that_cell(name: str) -> None:
    loaded = experiment.load(name, seeds=1)
    text = loaded.toml().partition("\n")[2]
    for key in loaded.run_keys[::7]:
        own = single(text, key.scenario)
        assert own is not None, key.label
        [again] = experiment.parse(own, "own").run_keys
        assert {**again.scenario, "cell": []} == {**key.scenario, "cell": []}


def test_a_run_that_a_file_does_not_say_has_no_file_of_its_own() -> None:
    text = library.resolve("l4s-tests/s6")[0].file.read_text()
    other = experiment.load("l4s-tests/s6", settings=["hop.bottleneck.rate=10mbit"], seeds=1).run_keys[0]
    assert single(text, other.scenario) is None
    assert single("[experiment", other.scenario) is None
    assert single('[experiment]\nname = "x"\n[axis]\nqueue = "1..2"', other.scenario) is None


FEW = ["--only", "queue=fq_codel(1q)", "--only", "rival=reno-ecn", "--set", "experiment.duration=3s"]
FEW += ["--set", "window.steady.last=1s"]


def sojourn(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=folder)


def test_the_command_of_a_cell_makes_its_runs(tmp_path: Path) -> None:
    sojourn("run", "l4s-tests/s6", *FEW, "--seeds", "2", "-o", "first", "-q", folder=tmp_path)
    folder = Folder.open(tmp_path / "first")
    report = build(folder)
    [cell] = report.scenarios[0].cells
    words = shlex.split(cell.again)
    assert words[:3] == ["sojourn", "run", "l4s-tests/s6"]
    sojourn(*words[1:], "-q", folder=tmp_path)
    names = [sorted(Folder.open(tmp_path / own).store.names()) for own in ("first", "again")]
    assert names[0] == names[1]
    assert len(names[0]) == 2
    # With --set, no file alone says what was run: the playground is not offered another experiment.
    assert cell.experiment is None


def test_the_playground_is_given_the_cell(tmp_path: Path) -> None:
    text = """[experiment]
name = "mine"
duration = "2s"
[axis.queue]
"a'<script>" = { hop.bottleneck.qdisc = "pie" }
b = { hop.bottleneck.qdisc = "codel" }
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
[[flow]]
name = "f"
"""
    file = tmp_path / "mine.toml"
    file.write_text(text)
    done = sojourn("run", str(file), "-o", "r", "-q", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = Folder.open(tmp_path / "r")
    experiments = Experiments(folder)
    cells = group(Run.stored(record) for record in folder.records())
    found = [experiments.again(cell, folder.record(cell.runs[0].key)) for cell in cells]
    assert sorted(own.playground for own in found if own.playground is not None) == [0, 1]
    for cell, own in zip(cells, found, strict=True):
        assert own.playground is not None
        carried, run = experiments.carried()["texts"][own.playground]
        scenario = experiment.parse(carried, "carried").run_keys[run].scenario
        assert {**scenario, "cell": []} == {**cell.scenario, "cell": []}
        assert shlex.join(["--only", f"queue={dict(cell.labels)['queue']}"]) in own.command
    # A file that was changed since is not what was run.
    file.write_text(text.replace("10mbit", "20mbit"))
    from sojourn.reporting.report import again  # noqa: PLC0415 - its cache is emptied

    again._read.cache_clear()  # noqa: SLF001
    changed = again.Experiments(folder).again(cells[0], folder.record(cells[0].runs[0].key))
    assert changed.playground is None
    assert "scenario.json" in changed.command


def test_no_text_of_a_run_is_part_of_the_script(tmp_path: Path) -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval\(|Function\(|document\.write", script.script())
    assert "fetch(" not in script.script()


def test_an_address_that_was_copied_is_checked() -> None:
    whole = playground.fragment("x")
    assert playground.checked_fragment(whole) == whole
    for damaged in ("#1.", "#2.abc", f"{whole} b", f"{whole}<script>", f"#1.{'a' * 100_000}"):
        with pytest.raises(UsageError, match="is not an address of the playground"):
            playground.checked_fragment(damaged)
