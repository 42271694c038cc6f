"""``sojourn check``: its report to a pipeline, in each of the forms, and its status."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sojourn.core.spread import Spread
from sojourn.evidence import pipeline
from sojourn.evidence.comparison import Comparison, Line
from sojourn.evidence.pipeline import places
from test_cli import sojourn

ROOT = Path(__file__).parents[2]

TEXT = """
[experiment]
name     = "line"
ping     = false
duration = "4s"
seeds    = 2

[[hop]]
name  = "b"
rate  = "10mbit"
rtt   = "20ms"
qdisc = "fq_codel"

[[flow]]
name  = "f"
count = 2

[[check]]
name = "fair"
that = "jain(goodput) > 0.9"

[[check]]
that = "utilisation(b.down.qdisc) > 0.5"
"""
UNFAIR = TEXT.replace("> 0.9", "> 0.9999999")
FAIR_LINE = TEXT[: TEXT.index("that =")].count("\n") + 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "line.toml").write_text(TEXT)
    (tmp_path / "e" / "other.toml").write_text('[tool]\nname = "of somebody else"\n')
    return tmp_path


def test_the_line_of_a_check_is_where_its_expression_stands() -> None:
    assert places(TEXT) == {"fair": FAIR_LINE, "utilisation(b.down.qdisc) > 0.5": TEXT.count("\n")}
    assert places('check = [{ that = "a > 0" }]\n') == {"a > 0": 1}


def test_what_holds_is_status_0_and_leaves_a_report_and_a_baseline(folder: Path) -> None:
    done = sojourn("check", "e", "-o", "r", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"e/line.toml:{FAIR_LINE}: notice: check fair" in done.stdout
    assert "2 of 2 passed (2 runs)" in done.stderr
    assert list((folder / "r").glob("*.html"))
    again = sojourn("check", "e", "--baseline", "r", cwd=folder)
    assert again.returncode == 0, again.stdout
    slower = sojourn("check", "e", "--baseline", "r", "--set", "hop.b.rate=5mbit", "--format", "github", cwd=folder)
    assert slower.returncode == 1
    assert "::error file=e/line.toml,line=1,title=baseline%3A " in slower.stdout


def test_what_does_not_hold_is_status_1_with_its_line_in_each_form(folder: Path) -> None:
    (folder / "e" / "line.toml").write_text(UNFAIR)
    plain = sojourn("check", "e/line.toml", cwd=folder)
    assert plain.returncode == 1
    assert f"e/line.toml:{FAIR_LINE}: error: check fair" in plain.stdout
    github = sojourn("check", "e/line.toml", "--format", "github", "-o", "r", cwd=folder)
    assert github.returncode == 1
    assert f"::error file=e/line.toml,line={FAIR_LINE},title=check fair::" in github.stdout
    assert all(line.startswith("::") for line in github.stdout.splitlines())
    junit = sojourn("check", "e/line.toml", "--format", "junit", cwd=folder)
    assert junit.returncode == 1
    suite = ET.fromstring(junit.stdout).find("testsuite")  # noqa: S314 - our own
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    result = json.loads(sojourn("check", "e/line.toml", "--json", cwd=folder).stdout)
    assert [note["level"] for note in result["notes"]] == ["error", "notice"]


def test_a_mistake_is_status_2_with_its_place_and_the_others_are_judged(folder: Path) -> None:
    (folder / "e" / "wrong.toml").write_text(TEXT.replace('"line"', '"wrong"').replace("qdisc =", "qdics ="))
    done = sojourn("check", "e", "--format", "github", cwd=folder)
    assert done.returncode == 2
    line = TEXT[: TEXT.index("qdisc =")].count("\n") + 1
    assert f"::error file=e/wrong.toml,line={line}," in done.stdout
    assert "::notice file=e/line.toml" in done.stdout


def test_what_is_not_in_the_baseline_is_a_warning(folder: Path) -> None:
    sojourn("check", "e", "-o", "r", cwd=folder)
    (folder / "e" / "new.toml").write_text(TEXT.replace('"line"', '"new"'))
    done = sojourn("check", "e", "--baseline", "r", cwd=folder)
    assert done.returncode == 0, done.stdout
    assert "e/new.toml:1: warning: new is not in the baseline" in done.stdout


def test_a_folder_without_checks_and_two_files_of_one_name_are_refused(folder: Path) -> None:
    (folder / "none").mkdir()
    assert "no experiment with a check" in sojourn("check", "none", cwd=folder).stderr
    (folder / "e" / "twice.toml").write_text(TEXT)
    done = sojourn("check", "e", cwd=folder)
    assert done.returncode == 2
    assert "are both called line" in done.stderr


def test_two_sides_of_a_difference_never_read_alike() -> None:
    line = Line(
        "ci", "utilisation, %", "", Spread(99.9962, 99.995, 99.998, 3), Spread(100.0, 100.0, 100.0, 3), differs=True
    )
    [note] = pipeline.of_baseline(Comparison([line], [], []), {"ci": "ci.toml"})
    assert note.message == "ci: utilisation, % was 99.996 (99.995 to 99.998), is 100 (100 to 100)"
