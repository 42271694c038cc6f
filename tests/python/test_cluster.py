import json
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.cli import cluster, facts
from test_executors import dask  # noqa: F401 - a fixture


def doctor(where: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sojourn", "cluster", "doctor", where, "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_workers_of_this_build_may_take_part(dask: str, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    # Workers come one by one; a run waits for the first, and so does the test.
    words = [sys.executable, "-c", f"from distributed import Client; Client('{dask}').wait_for_workers(2)"]
    subprocess.run(words, check=True, capture_output=True)
    done = doctor(f"dask://{dask}")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result["workers"]) == 2
    for worker in result["workers"]:
        assert worker["wrong"] == []
        assert worker["notes"] == []
        assert worker["said"]["builds"] == result["here"]["builds"]


def test_a_scheduler_that_is_not_there_is_said() -> None:
    done = doctor("dask://127.0.0.1:9")
    assert done.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = facts.of_this_process()
    ours["kernels"] = {"7.3": "a", "mine": "b"}
    other = ours.copy()
    other["builds"] = {**ours["builds"], "sim": "0.0.1+0"}
    other["kernels"] = {"7.3": "c"}
    other["clock_s"] += 60
    assert cluster.wrong(ours, ours) == []
    assert cluster.notes(ours, ours, ours["clock_s"]) == []
    [build] = cluster.wrong(other, ours)
    assert build.startswith("its build of sim is 0.0.1+0, and ours ")
    assert cluster.notes(other, ours, ours["clock_s"]) == [
        "it has another kernel 7.3: it makes no runs on it (--engine linux)",
        "it has no kernel mine: it makes no runs on it (--engine linux)",
        "its clock differs from ours by +60 s",
    ]
    assert "ModuleNotFoundError" in cluster.wrong(ModuleNotFoundError("No module named 'sojourn'"), ours)[0]
