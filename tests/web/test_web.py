"""The playground in Node and Chromium: its bits are the native build's, its lessons are those of ``sojourn run``.

``make test-web`` builds what is tested here, and runs this.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from in_pages import ROOT, WEB, needs_chromium, needs_node, node
from sojourn import _core, playground
from sojourn.experiments import experiment, library

BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
MODULE = BUILT / "wasm32-unknown-unknown" / "web" / "sojourn_web.wasm"
PAGE = BUILT / "web" / "playground.html"
RANDOM = BUILT / "web" / "random.jsonl"
LESSONS = {
    f"{file.stem}.{side}": tomllib.loads(file.read_text(encoding="utf-8"))[side]
    for file in sorted((WEB / "lessons").glob("*.toml"))
    for side in "ab"
}
"""The experiments of the lessons."""
MOST_BYTES = 2_000_000
SCENARIOS = BUILT / "web" / "golden"
"""What the tables of tests/golden are of, as the simulator's own tests write it."""
CELLS = int(os.environ.get("SOJOURN_WEB_CELLS", "40"))
"""The number of the suites' cells to run; 0 for all of them, which takes hours."""


def compare(where: str, cases: list[dict[str, Any]], folder: Path) -> dict[str, int]:
    file = folder / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    said: dict[str, int] = json.loads(node("test/same_bits.mjs", where, MODULE, file))
    return said


def random_cases() -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in RANDOM.read_text().splitlines()]
    return [{**case, "label": f"SEED={case['seed']}", "events": 300_000} for case in cases]


@needs_node
@pytest.mark.parametrize("where", ["node", pytest.param("chromium", marks=needs_chromium)])
def test_random_experiments_have_the_native_bits(where: str, tmp_path: Path) -> None:
    cases = random_cases()
    said = compare(where, cases, tmp_path)
    # What is refused is refused in the same words; what runs has the same tables.
    assert said["cases"] == len(cases)
    assert said["ran"] >= 100


def digests(text: str) -> dict[str, str]:
    return dict(word.split("=") for word in text.split())


def golden_cells() -> list[dict[str, Any]]:
    """Return every cell of the golden tables, with what it is digests of."""
    cells = []
    for file in (ROOT / "tests" / "golden" / f"{name}.digests.txt" for name in ("grid", "overload")):
        scenarios = (SCENARIOS / f"{file.name.partition('.')[0]}.jsonl").read_text().splitlines()
        for line, scenario in zip(file.read_text().splitlines(), scenarios, strict=True):
            label, _, own = line.partition(" | ")
            cells.append({"label": label, "scenario": json.loads(scenario), "digests": digests(own)})
    return cells


@needs_node
@pytest.mark.parametrize("where", ["node", pytest.param("chromium", marks=needs_chromium)])
def test_golden_cells_have_the_native_bits(where: str, tmp_path: Path) -> None:
    cells = golden_cells()
    assert compare(where, cases=cells, folder=tmp_path) == {"cases": len(cells), "ran": len(cells), "differing": 0}


def cells_of_suites() -> list[dict[str, Any]]:
    """Return cells of the record of every suite's digests, evenly from it, with what they are digests of."""
    record = dict(line.split(" | ") for line in (ROOT / "tests" / "golden" / "digests.txt").read_text().splitlines())
    cells = []
    for suite, files in library.suites().items():
        for name, file in files.items():
            if not any(label.startswith(f"{suite}/{name} ") for label in record):
                continue
            for key in experiment.load(file, seeds=1, yes=True).run_keys:
                label = f"{suite}/{name} {key.label.replace(' ', '_')}"
                # The long ones are left to a run of all.
                short = tomllib.loads(file.read_text())["experiment"]["duration"] in {"60s", "30s"}
                if label in record and (short or not CELLS):
                    scenario = json.loads(key.resolved.json)
                    cells.append({"label": label, "scenario": scenario, "digests": digests(record[label])})
    every = max(1, len(cells) // CELLS) if CELLS else 1
    return cells[::every]


@needs_node
@pytest.mark.parametrize("where", ["node", pytest.param("chromium", marks=needs_chromium)])
def test_cells_of_suites_have_the_recorded_bits(where: str, tmp_path: Path) -> None:
    cells = cells_of_suites()
    said = compare(where, cells, tmp_path)
    assert said["ran"] == len(cells) >= min(CELLS, 1)


@needs_node
def test_lessons_are_what_sojourn_run_makes_of_them(tmp_path: Path) -> None:
    assert len(LESSONS) == 14
    runs: dict[int, Any] = {}
    loaded = [_core.load(text, name) for name, text in LESSONS.items()]
    scenarios = [own.scenarios[0] for own in loaded]
    _core.run_many(scenarios, threads=2, on_done=runs.__setitem__)
    # A lesson warns of nothing.
    assert [own.warnings for own in loaded] == [[]] * len(LESSONS)
    cases = [
        {"label": name, "text": text, "digests": dict(runs[index].digests())}
        for index, (name, text) in enumerate(LESSONS.items())
    ]
    assert compare("node", cases, tmp_path) == {"cases": 14, "ran": 14, "differing": 0}
    files = [tmp_path / name for name in LESSONS]
    for file in files:
        file.write_text(LESSONS[file.name])
    metrics = node("test/measure.mjs", MODULE, *files)
    for index, (name, measured) in enumerate(zip(LESSONS, json.loads(metrics), strict=True)):
        for expression, value in measured.items():
            assert runs[index].measure([expression])[0][0] == pytest.approx(value, rel=1e-15, nan_ok=True), name


def lesson(name: str, *expressions: str) -> list[float]:
    runs: list[Any] = []
    _core.run_many(_core.load(LESSONS[name], name).scenarios, on_done=lambda _, run: runs.append(run))
    return [value for value, _ in runs[0].measure(list(expressions))]


def test_lessons_show_what_their_texts_say() -> None:
    delay = "mean(queue_delay, bottleneck.down.qdisc)"
    small, large = (lesson(f"bufferbloat.{side}", delay)[0] for side in "ab")
    assert large > 20 * small
    fifo, codel = (lesson(f"why-aqm.{side}", delay, "utilisation(bottleneck.down.qdisc)") for side in "ab")
    assert fifo[0] > 5 * codel[0]
    assert min(fifo[1], codel[1]) > 0.95
    shallow, deep = (lesson(f"bbr.{side}", "share(goodput, bbr)")[0] for side in "ab")
    assert shallow > 0.5 > deep
    one, dual = (lesson(f"l4s.{side}", "share(goodput, prague)", "mean(rtt, prague)") for side in "ab")
    assert one[0] > dual[0]
    assert dual[1] < 0.022 < one[1]
    marked, deaf = (lesson(f"fast-lane.{side}", "share(goodput, tweaked)", "mean(rtt, tweaked)") for side in "ab")
    assert marked[0] < 0.4 < deaf[0]
    assert marked[1] < deaf[1]
    shared, own = (lesson(f"rtt.{side}", "share(goodput, near)")[0] for side in "ab")
    assert shared > 0.7 > own
    bursts, paced = (lesson(f"pacing.{side}", "goodput(cubic)")[0] for side in "ab")
    assert paced > 1.3 * bursts


@needs_node
@needs_chromium
def test_the_page() -> None:
    said = node("--test", *sorted((WEB / "test").glob("*.test.mjs")), PLAYGROUND=str(PAGE))
    assert "# fail 0" in said


def test_the_page_is_small_and_trusts_nothing() -> None:
    page = PAGE.read_text()
    assert len(page.encode()) < MOST_BYTES
    assert "default-src 'none'" in page
    assert "unsafe-inline" not in page
    assert "'unsafe-eval'" not in page


@needs_node
def test_an_address_of_the_command_opens_in_the_page() -> None:
    text = LESSONS["bbr.a"]
    state = json.loads(node("--input-type=module", "-e", _UNPACK, playground.fragment(text, "é")))
    assert state == {"a": {"text": text, "run": 0}, "b": {"text": "é", "run": 0}, "lesson": ""}


_UNPACK = """
import { unpack } from "./lib/address.js";
console.log(JSON.stringify(await unpack(process.argv[1])));
"""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["/nope.toml"], "cannot read /nope.toml"), (["a", "b", "c"], "two experiments, not 3")],
)
def test_the_command_says_what_would_be_right(arguments: list[str], message: str) -> None:
    command = [sys.executable, "-m", "sojourn", "playground", "--print", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
