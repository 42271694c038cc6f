"""What is legal and may not be what was meant: said once, stored with its runs, shown in reports."""

import json
from pathlib import Path

import pytest

import sojourn as package
from sojourn.core.store import Folder
from test_cli import EXPERIMENT, sojourn


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(EXPERIMENT.replace('"fq_codel"', '"fq_codel target 5"').replace("> 5mbit", "> 0mbit"))
    return path


def test_a_warning_has_its_place_and_its_runs(file: Path) -> None:
    experiment = package.load(file)
    [warning] = experiment.warnings
    assert (warning.place.line, warning.place.file) == (8, str(file))
    assert warning.place.message.startswith("5 is 5us: tc takes a bare number for microseconds")
    assert warning.runs == (2, 3)
    assert [key.warnings for key in experiment.run_keys[:3]] == [(), (), (str(warning),)]
    assert "small.toml:8:" in experiment._repr_html_()
    # It says something of a run, and does not make it another.
    assert experiment.run_keys[2].digest == package.load(file, seeds=1).run_keys[1].digest


def test_it_is_said_once_stored_and_reported(tmp_path: Path, file: Path) -> None:
    results = tmp_path / "results"
    ran = sojourn("run", str(file), "-o", str(results), "--json")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("warning: 5 is 5us") == 1
    assert f"--> {file}:8:" in ran.stderr
    assert "help: write 5ms if milliseconds are meant, or 5us" in ran.stderr
    [said] = json.loads(ran.stdout)["warnings"]
    assert said.startswith("small.toml:8:")
    stored = [record.key.warnings for record in Folder.open(results).records()]
    assert stored == [(), (), (said,), (said,)]
    assert sojourn("report", str(results)).returncode == 0
    for page in ("report.md", "report.html"):
        assert "5 is 5us" in (results / page).read_text()
    assert "warning" not in sojourn("run", str(file), "-o", str(tmp_path / "quiet"), "-q").stderr


def test_a_quick_run_points_into_the_command() -> None:
    words = ("try", "prague", "--rtt", "0ms", "--qdisc", "codel target 5", "--duration", "1s")
    tried = sojourn(*words)
    assert tried.returncode == 0, tried.stderr
    assert "  | --qdisc codel target 5\n  |                      ^\n" in tried.stderr
    assert "warning: the base RTT here is 0" in tried.stderr
    assert "-->" not in tried.stderr
    assert len(json.loads(sojourn(*words, "--json").stdout)["warnings"]) == 2


def test_bits_and_bytes_are_asked_for_on_the_command_line() -> None:
    for words in (("--rate", "50 Mbps"), ("--rate", "50mbit", "--up", "50 Mbps")):
        tried = sojourn("try", "cubic", *words)
        assert tried.returncode == 2
        assert "write 50mbit or 400mbit" in tried.stderr
    assert "write 1mbit or 8mbit" in sojourn("try", "cubic", "--set", "flow.cubic.app_rate=1mbps").stderr


def test_capitals_do_not_matter_in_an_experiment() -> None:
    tried = json.loads(sojourn("try", "BBR", "--qdisc", "FQ_CoDel", "--duration", "1s", "--json").stdout)
    [queue] = tried["queues"]
    assert queue["qdisc"] == "fq_codel"
    assert queue["flows"][0]["flow"] == "bbr"
    assert 'did you mean "bbr' in sojourn("try", "BBRR").stderr


def test_no_suite_is_warned_of_without_reason() -> None:
    found = {name: [str(own) for own in package.load(name, seeds=1).warnings] for name in package.suites()}
    assert {name: said for name, said in found.items() if said} == {}
