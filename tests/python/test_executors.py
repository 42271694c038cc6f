import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sojourn import _core, runner
from sojourn.core.store import Folder, RunKey
from sojourn.errors import Refused, RunError, UsageError
from sojourn.experiments.experiment import load
from sojourn.runner import executors
from sojourn.runner.executors import Asked, Workers, batch

EXPERIMENT = """
[experiment]
name = "small"
seeds = 2
duration = "4s"

[axis.cc]
"cubic" = { flow.one.cc = "cubic" }
"reno" = { flow.one.cc = "reno" }

[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "10ms"
qdisc = "fq_codel"

[[flow]]
name = "one"
"""

DEADLY = """
import os
import signal
from pathlib import Path
from sojourn.custom import CongestionControl, View

class Deadly(CongestionControl):
    def on_ack(self, view: View) -> int:
        ONCE
        os.kill(os.getpid(), signal.SIGKILL)
        return view.cwnd

    def on_loss(self, view: View) -> int:
        return view.cwnd // 2
"""

ONCE = """
        mark = Path(__file__).with_suffix(".died")
        if mark.exists():
            return view.cwnd + 1
        mark.touch()
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(EXPERIMENT)
    return file


def keys(file: Path) -> list[RunKey]:
    return list(load(file).run_keys)


def stored(folder: Path) -> Mapping[str, object]:
    """Return head and digests of each run; the command that asked for it is not a part of a run."""
    return {
        own.name: ({**own.head, "command": ""}, own.results().digests(), own.brief)
        for own in Folder.open(folder).records()
    }


def sojourn(*words: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "from sojourn.cli import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=300,
    )


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[str]:
    """Start a scheduler and two workers; yield their address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    host, port = address.split(":")
    dask = [sys.executable, "-m", "dask"]
    with (tmp_path / "dask.log").open("wb") as log:
        scheduler = ["scheduler", "--host", host, "--port", port]
        workers = [["worker", f"tcp://{address}", "--local-directory", str(tmp_path / name)] for name in ("one", "two")]
        started = [
            subprocess.Popen([*dask, *words, "--no-dashboard"], stderr=log, start_new_session=True)
            for words in (scheduler, *([*worker, "--nthreads", "1"] for worker in workers))
        ]
        try:
            yield address
        finally:
            for process in reversed(started):
                # With the nanny of a worker goes the worker.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def test_processes_dask_and_slurm_jobs_store_the_very_runs_of_this_process(
    tmp_path: Path, experiment: Path, dask: str
) -> None:
    assert sojourn("run", experiment, "-o", tmp_path / "here").returncode == 0
    for name, where in (
        ("processes", "processes:2"),
        ("dask", f"dask://{dask}"),
        ("jobs", "submitit:local:2"),
    ):
        done = sojourn("run", experiment, "-o", tmp_path / name, "--on", where, SOJOURN_SLURM_FOLDER=str(tmp_path))
        assert done.returncode == 0, done.stderr
        assert "4 runs in" in done.stderr
        assert "CPU seconds" in done.stderr
        assert stored(tmp_path / name) == stored(tmp_path / "here")
    again = sojourn("run", experiment, "-o", tmp_path / "dask", "--on", f"dask://{dask}")
    assert "4 of 4 runs are in" in again.stderr


def test_runs_in_memory_are_the_same_wherever_they_are_made(experiment: Path) -> None:
    here = runner.Campaign(keys=keys(experiment), threads=2).run()
    with ThreadPoolExecutor(2) as pool:
        there = runner.Campaign(keys=keys(experiment), threads=2, on=Workers(lambda: pool, slots=2)).run()
    for one, other in zip(here, there, strict=True):
        assert one.key == other.key
        assert one.metric("delivery_rate(one)") == other.metric("delivery_rate(one)")
        assert set(one.tables) - set(other.tables) <= {"tc"}
        for table in other.tables:
            assert one.table(table).equals(other.table(table))


def with_deadly(tmp_path: Path, experiment: Path, *, once: bool) -> Path:
    (tmp_path / "deadly.py").write_text(DEADLY.replace("ONCE", ONCE.strip() if once else "pass"))
    file = tmp_path / "deadly.toml"
    file.write_text(EXPERIMENT.replace("[[hop]]", '"dead" = { flow.one.cc = "python:deadly.py:Deadly" }\n\n[[hop]]', 1))
    return file


def test_a_run_that_kills_its_workers_is_named_and_the_others_stand(tmp_path: Path, experiment: Path) -> None:
    file = with_deadly(tmp_path, experiment, once=False)
    done = sojourn("run", file, "--seeds", "1", "-o", tmp_path / "r", "--on", "processes:2")
    assert done.returncode == 1
    assert "small[dead]#1 was given up: 3 workers died while they made it" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(Folder.open(tmp_path / "r").records()) == 2


def test_what_a_dead_worker_was_making_is_made_again(tmp_path: Path, experiment: Path) -> None:
    file = with_deadly(tmp_path, experiment, once=True)
    done = sojourn("run", file, "-o", tmp_path / "r", "--on", "processes:2")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "deadly.died").exists()
    sojourn("run", file, "-o", tmp_path / "undisturbed")
    assert stored(tmp_path / "r") == stored(tmp_path / "undisturbed")


def test_a_worker_of_another_build_makes_nothing(experiment: Path) -> None:
    [key, *_] = keys(experiment)
    sent = batch.request([key], engine="sim", build="0.0.1+0", command="")
    assert batch.make(sent) == {
        "worker": f"{socket.gethostname()}:{os.getpid()}",
        "refused": _core.version("sim"),
        "cpu_s": 0.0,
        "made": [],
    }


class Scripted(Executor):
    """Does what a test says."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[bytes] = []

    def submit(self, made: Any, /, *args: Any, **more: Any) -> "Future[Any]":
        self.sent.append(args[0])
        future: Future[Any] = Future()
        answer = self.answers.pop(0) if self.answers else made(args[0])
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result(answer)
        return future


class Apart(Workers):
    together = False
    batch_s = 1e-3


def test_other_builds_are_refused_by_name(experiment: Path) -> None:
    answer = {"worker": "lab-7:42", "refused": "0.0.1+0", "cpu_s": 0.0, "made": []}
    with pytest.raises(Refused, match=r"the worker lab-7:42 has the build 0\.0\.1\+0"):
        runner.Campaign(keys=keys(experiment), threads=1, on=Workers(lambda: Scripted(answer), slots=1)).run()


def test_workers_that_can_make_nothing_are_an_error(experiment: Path) -> None:
    scripted = Scripted(ModuleNotFoundError("No module named 'sojourn'"))
    with pytest.raises(RunError, match="a worker could not make runs: ModuleNotFoundError: No module named 'sojourn'"):
        runner.Campaign(keys=keys(experiment), threads=1, on=Workers(lambda: scripted, slots=1)).run()


def test_a_batch_that_is_late_is_sent_to_whoever_is_free(experiment: Path) -> None:
    # The second batch never comes back.
    made = batch.make(batch.request(keys(experiment)[:1], engine="sim", build=_core.version("sim"), command=""))
    scripted = Scripted(made, None)
    runs = runner.Campaign(keys=keys(experiment), threads=1, on=Apart(lambda: scripted, slots=2)).run()
    assert len(runs) == 4
    assert len(scripted.sent) == 5
    assert scripted.sent[1] == scripted.sent[4]


def test_what_a_lost_scheduler_had_is_sent_again(experiment: Path) -> None:
    class Forgetful(Apart):
        def out_of_touch(self, error: BaseException) -> bool:
            return isinstance(error, OSError)

    scripted = Scripted(OSError("the scheduler is gone"), OSError("still"))
    assert len(runner.Campaign(keys=keys(experiment), threads=1, on=Forgetful(lambda: scripted, slots=1)).run()) == 4


def test_executors_of_others_are_named_as_ours(
    tmp_path: Path, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def mine(place: str, asked: Asked) -> Executor:
        opened.append((place, asked))
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(executors.EXECUTORS, "find", {"mine": mine}.__getitem__)
    workers = executors.opened("mine:over-there", Asked("sim", 3))
    runner.Campaign(keys=keys(experiment), folder=tmp_path / "r", threads=1, on=workers).run()
    workers.close()
    assert opened == [("over-there", Asked("sim", 3))]
    assert len(Folder.open(tmp_path / "r").records()) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("proceses", 'there is no executor "proceses"'),
        ("processes:none", '"none" is no number of processes'),
        ("dask", "names no scheduler"),
        ("slurm", '"" is not understood'),
        ("submitit:slrm", 'submitit has no cluster "slrm"'),
        ("::", '"::" names no executor'),
    ],
)
def test_a_wrong_place_is_said_to_be_one(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        executors.opened(words, Asked("sim", 1))


def test_packets_stay_where_they_are(tmp_path: Path, experiment: Path) -> None:
    done = sojourn("run", experiment, "-o", tmp_path / "r", "--pcap", "--on", "processes:2")
    assert done.returncode == 2
    assert "packets are kept where runs are made" in done.stderr


def test_processes_do_not_outlive_who_asked_for_them(tmp_path: Path, experiment: Path) -> None:
    text = experiment.read_text().replace('"4s"', '"2000s"')
    experiment.write_text(text)
    words = ["run", str(experiment), "-o", str(tmp_path / "r"), "--on", "processes:2"]
    command = [sys.executable, "-c", "from sojourn.cli import main; main()", *words]
    asking = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while len(under(asking.pid)) < 3:
        assert asking.poll() is None
        time.sleep(0.05)
    children = under(asking.pid)
    asking.kill()
    asking.wait()
    for _ in range(1200):
        if all(zombie(child) for child in children):
            return
        time.sleep(0.05)
    pytest.fail("they are there still")


FAULTS = Path(__file__).parents[1] / "cluster" / "faults.py"


@pytest.mark.parametrize("faults", ["kill,restart", "cut,stop"])
def test_faults_of_dask_lose_nothing(tmp_path: Path, faults: str) -> None:
    command: list[str | Path] = [sys.executable, FAULTS, "80", tmp_path, "--every", "2", "--faults", faults]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"among [1-9]", done.stdout)


def zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def under(pid: int) -> list[int]:
    """Return the processes below this one."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in own:
            found += [child, *under(child)]
    return found
