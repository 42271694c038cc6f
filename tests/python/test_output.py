"""Where results are printed to: full, closed or plain places, and texts that would steer a terminal."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sojourn.cli.screen import Screen


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    text = command.replace("sojourn", f"{sys.executable} -m sojourn")
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | environment,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", ["qdiscs", "qdiscs --json", "schema", "--version"])
def test_a_full_place_has_a_message(words: str) -> None:
    done = shell(f"sojourn {words} > /dev/full")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert "standard output could not be written: No space left on device" in done.stderr


@pytest.mark.parametrize("words", ["qdiscs --json", "stacks linux-7.3", "schema"])
def test_a_reader_may_leave(words: str) -> None:
    done = shell(f"sojourn {words} | head -c 10")
    assert done.stderr == ""


def test_a_closed_place_is_no_traceback() -> None:
    assert "Traceback" not in shell("sojourn qdiscs >&-").stderr


def test_plain_places_get_plain_signs() -> None:
    done = shell("sojourn try cubic --duration 2s", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_texts_do_not_steer_the_terminal() -> None:
    file = io.StringIO()
    Screen(file=file, force_terminal=True, color_system=None).print("a\x1b[2Jb\0c\x9bd\ne\tf", markup=False)
    assert not {"\x1b", "\0", "\x9b"} & set(file.getvalue())
    assert "a[2Jbcd" in file.getvalue()


def test_written_files_are_reported_as_json(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        '[experiment]\nname = "one"\nduration = "3s"\n[[hop]]\nname = "line"\nrate = "5mbit"\nrtt = "20ms"\n'
        'qdisc = "pie"\n[[flow]]\nname = "a"\ncc = "cubic"\n'
    )
    done = shell(f"cd {tmp_path} && sojourn run one.toml -o r -q")
    assert done.returncode == 0, done.stderr

    def written(words: str) -> dict[str, Any]:
        done = shell(f"cd {tmp_path} && sojourn {words} --json")
        assert done.returncode == 0, done.stderr
        value: dict[str, Any] = json.loads(done.stdout)
        return value

    assert written("report r") == {"pages": [{"markdown": "r/report.md", "html": "r/report.html"}]}
    assert "r/parquet/runs.parquet" in written("export parquet r")["files"]
    [file] = written("export flent r")["files"]
    assert (tmp_path / file).is_file()
    again = written(f"import {file} -o other")
    assert again["failed"] == []
    assert [(one["file"], one["new"]) for one in again["files"]] == [(file, True)]
