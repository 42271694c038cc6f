"""Dead jobs of Slurm are distinguished from waiting ones, also where Slurm keeps no accounts."""

import time
from concurrent.futures import wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.runner.executors.slurm import JobDied, Slurm, Watched, _Jobs


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_job_is_dead_when_the_queue_has_not_had_it_for_a_while() -> None:
    clock = Clock()
    asked: list[float] = []
    queue: set[str] | None = {"1", "2"}

    def queued() -> set[str] | None:
        asked.append(clock.now)
        return queue

    watched = Watched(queued, look_s=10, gone_s=30, clock=clock)

    def dead() -> list[str]:
        watched.look(["1", "2"])
        return [job for job in ("1", "2") if watched.dead(job)]

    assert dead() == []
    queue = {"1"}
    clock.now = 5
    assert dead() == []
    assert asked == [0]
    clock.now = 10
    assert dead() == []
    # A controller that does not answer says nothing of anybody.
    queue = None
    clock.now = 39
    assert dead() == []
    clock.now = 40
    assert dead() == ["2"]
    # It may come back: a job that is queued again after its node died has the same number.
    queue = {"1", "2"}
    clock.now = 50
    assert dead() == []
    assert asked == [0, 10, 39, 50]


class Cluster:
    """A stand-in for submitit's executor: jobs with numbers and folders; every second one dies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def submit(self, made: Any, request: Any) -> Any:
        self.count += 1
        files = {
            name: self.folder / f"{self.count}.{name}"
            for name in ("submitted_pickle", "result_pickle", "submission_file", "stdout", "stderr")
        }
        for name, file in files.items():
            if name != "result_pickle" or self.count % 2:
                file.touch()
        return SimpleNamespace(
            job_id=str(self.count), paths=SimpleNamespace(folder=self.folder, **files), result=lambda: made(request)
        )


def test_a_dead_job_is_an_error_and_a_finished_one_leaves_nothing(tmp_path: Path) -> None:
    jobs = _Jobs(Cluster(tmp_path), Watched(set, look_s=0, gone_s=0.1, clock=time.monotonic))
    try:
        futures = [jobs.submit(str.upper, text) for text in ("a", "b", "c")]
        assert not wait(futures, timeout=30).not_done
    finally:
        jobs.shutdown()
    assert [futures[0].result(), futures[2].result()] == ["A", "C"]
    with pytest.raises(JobDied, match="job 2 has left Slurm's queue"):
        futures[1].result()
    # What a dead one wrote is kept for whoever looks for the reason.
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "2.stderr",
        "2.stdout",
        "2.submission_file",
        "2.submitted_pickle",
    ]
    death = futures[1].exception()
    assert death is not None
    assert Slurm(lambda: jobs, slots=1).deaths(death) == 1
