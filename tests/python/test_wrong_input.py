"""A newcomer's mistakes: each error is in words, with the place and a correction, and status 2."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sojourn as package
from test_cli import sojourn
from test_own_numbers import TEXT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wrong")
    package.parse(TEXT, "own.toml").run(target / "r", quiet=True)
    return target / "r"


def said(*words: object) -> str:
    wrong = sojourn(*map(str, words))
    assert wrong.returncode == 2, wrong.stdout
    assert "Traceback" not in wrong.stderr
    return wrong.stderr


def test_a_file_is_no_results_folder(tmp_path: Path) -> None:
    file = tmp_path / "results"
    file.write_text("")
    assert f"{file} is a file, not a results folder" in said("table", file)


def test_a_folder_is_no_experiment(tmp_path: Path) -> None:
    assert f"{tmp_path} is a folder, not an experiment file" in said("run", tmp_path, "--dry-run")


def test_what_is_nothing_like_a_suite_gets_a_short_list() -> None:
    message = said("run", "zzzzzzzzzz", "--dry-run")
    assert "available: all, c4, fast-lane, iccrg" in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("over nobody", 'over nobody: there is no window called "nobody"'),
        ("during later", 'during later: there is no phase called "later"'),
        ("over last", "over last: a time is missing here"),
        ("over last 60s", "but the run lasts 3s"),
    ],
)
def test_a_window_that_a_run_does_not_have_is_named(folder: Path, tmp_path: Path, window: str, message: str) -> None:
    wrong = said("plot", folder, "cdf", "quantity=srtt", f"window={window}", "-o", tmp_path / "p.svg")
    assert message in wrong
    assert "drops(run)" not in wrong


def test_an_axis_of_a_heatmap_is_called_by_its_option(folder: Path, tmp_path: Path) -> None:
    wrong = said("plot", folder, "heatmap", "y=goodput", "-o", tmp_path / "p.svg")
    assert 'there is no axis for y "goodput"' in wrong


def test_damage_is_reported_without_names_of_the_program(folder: Path, tmp_path: Path) -> None:
    def damaged(file: str, content: bytes) -> str:
        copy = tmp_path / file.partition("/")[0]
        package.parse(TEXT, "own.toml").run(copy, quiet=True)
        target = next(copy.glob(file))
        target.write_bytes(content)
        message = said("table", copy)
        assert target.name in message
        assert not {"Error:", "Errno"} & {*message.split(), *message.replace("[", " ").split()}
        return message

    assert "it is no JSON" in damaged("manifest.json", b"{")
    assert "is not a segment that this version reads" in damaged("segments/*", b"junk")


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("mean(rtt, {flw})", "{flw} stands for nothing here"),
        ("", "an empty text: the expression ends where a metric or a number should stand"),
    ],
)
def test_an_unknown_metric_is_reported(folder: Path, metric: str, message: str) -> None:
    wrong = said("table", folder, metric)
    assert message in wrong
    assert "help: " in wrong


def test_ctrl_c_of_a_try_says_that_nothing_is_kept(tmp_path: Path) -> None:
    captures = tmp_path / "packets"
    words = ["try", "cubic", "--rate", "1mbit", "--duration", "100000s", "--pcap", str(captures)]
    process = subprocess.Popen([sys.executable, "-m", "sojourn", *words], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    # A capture with packets in it: the run is under way.
    while not any(file.stat().st_size > 10_000 for file in captures.glob("*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: nothing is kept of it" in message
    assert "Traceback" not in message
