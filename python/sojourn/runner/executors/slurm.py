"""``--on slurm:PARTITION[:JOBS]``: jobs of Slurm, by the package ``submitit``.

A job is a batch. Slurm takes seconds to start one, and its administrators minutes to ask about ten thousand, so that a
batch is five minutes of work rather than two seconds. Requests and answers pass through a folder that all nodes must
share: SOJOURN_SLURM_FOLDER, or ``~/.cache/sojourn/slurm``. ``--on submitit:local[:JOBS]`` has the same jobs made by
processes of this machine, for a trial.

A job has ended when its answer is there. One that died leaves none. submitit asks ``sacct`` then, which knows nothing
where the cluster keeps no accounts, and a dead job would be waited for without end. So we ask ``squeue``: a job that
has not been in the queue for a while, and has not answered, is dead.
"""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sojourn.errors import UsageError
from sojourn.runner.executors.workers import Asked, Workers

_POLL_S: Final = 0.5
"""How often jobs are asked whether they have ended."""

_JOBS: Final = 16
"""Jobs at a time unless said otherwise."""

_LOOK_S: Final = 10.0
"""How often the queue is asked for; administrators see each question."""

_GONE_S: Final = 30.0
"""How long a job must have been out of the queue before it is held for dead: a shared folder shows its files late."""

_LONGEST_MIN: Final = 60
"""The time limit of a job, minutes; Slurm ends it then."""


class JobDied(RuntimeError):  # noqa: N818 - what happened, and not a fault of ours
    """A job that has left Slurm's queue without an answer."""


class Watched:
    """Which jobs are dead: those that the queue has not had for a while."""

    def __init__(
        self,
        queued: Callable[[], Collection[str] | None],
        *,
        look_s: float = _LOOK_S,
        gone_s: float = _GONE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without having looked.

        Args:
            queued: the numbers of the jobs in the queue, or nothing if it cannot be asked now.
            look_s: how often it is asked.
            gone_s: how long a dead job has been out of it.
            clock: seconds.
        """
        self._queued = queued
        self._look_s, self._gone_s, self._clock = look_s, gone_s, clock
        self._next = clock()
        self._missed: dict[str, float] = {}

    def look(self, jobs: Collection[str]) -> None:
        """Ask the queue for these, if it is time to."""
        now = self._clock()
        if now < self._next or not jobs:
            return
        self._next = now + self._look_s
        queued = self._queued()
        # A controller that is restarted says nothing of anybody.
        if queued is not None:
            self._missed = {job: self._missed.get(job, now) for job in jobs if job not in queued}

    def dead(self, job: str) -> bool:
        """Return whether it has been out of the queue for so long."""
        return job in self._missed and self._clock() - self._missed[job] >= self._gone_s


def squeue() -> set[str] | None:
    """Return the numbers of this user's jobs in Slurm's queue, or nothing if it cannot be asked now."""
    program = shutil.which("squeue")
    if program is None:
        return None
    try:
        said = subprocess.run(  # noqa: S603
            [program, "--noheader", "--format=%A", f"--user={os.getuid()}"],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return set(said.stdout.split())


class _Jobs(Executor):
    """Jobs of submitit as futures."""

    def __init__(self, jobs: Any, watched: Watched | None) -> None:  # noqa: ANN401 - its types say less than they promise
        """Begin to poll.

        Args:
            jobs: submitit's executor.
            watched: what tells the dead; without it submitit is asked.
        """
        self._jobs = jobs
        self._watched = watched
        self._open: list[tuple[Any, Future[Any]]] = []
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def submit(self, made: Callable[..., Any], /, *args: Any, **more: Any) -> "Future[Any]":  # noqa: ANN401
        future: Future[Any] = Future()
        job = self._jobs.submit(made, *args, **more)
        future.set_running_or_notify_cancel()
        with self._lock:
            self._open.append((job, future))
        return future

    def _poll(self) -> None:
        while not self._end.wait(_POLL_S):
            with self._lock:
                pairs = list(self._open)
            if self._watched is not None:
                self._watched.look([str(job.job_id) for job, _ in pairs])
            ended = [pair for pair in pairs if self._ended(pair[0])]
            with self._lock:
                self._open = [pair for pair in self._open if pair not in ended]
            for job, future in ended:
                self._answer(job, future)

    def _ended(self, job: Any) -> bool:  # noqa: ANN401
        if self._watched is None:
            return bool(job.done())
        # A shared folder that is looked at again is looked up again.
        with suppress(OSError):
            job.paths.folder.chmod(job.paths.folder.stat().st_mode)
        return job.paths.result_pickle.exists() or self._watched.dead(str(job.job_id))

    def _answer(self, job: Any, future: "Future[Any]") -> None:  # noqa: ANN401
        if self._watched is not None and not job.paths.result_pickle.exists():
            future.set_exception(JobDied(f"job {job.job_id} has left Slurm's queue without an answer"))
            return
        try:
            answer = job.result()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the future's
            future.set_exception(error)
            return
        # What a finished job has left is in its answer.
        left = job.paths
        for file in (left.submitted_pickle, left.result_pickle, left.submission_file, left.stdout, left.stderr):
            with suppress(OSError):
                Path(file).unlink(missing_ok=True)
        future.set_result(answer)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - PEP 3148's
        self._end.set()
        if wait:
            self._thread.join()
        if cancel_futures:
            for job, _ in self._open:
                with suppress(OSError, RuntimeError):
                    job.cancel()


class Slurm(Workers):
    """Jobs of a cluster."""

    together = False
    batch_s = 300.0

    def deaths(self, error: BaseException) -> int:
        """Return 1 for a job that ended without a result."""
        from submitit.core.utils import FailedJobError, UncompletedJobError  # noqa: PLC0415 - an optional dependency

        if isinstance(error, JobDied):
            return 1
        return int(isinstance(error, UncompletedJobError) and not isinstance(error, FailedJobError))


def opened(place: str, asked: Asked) -> Slurm:
    """Return jobs on this partition.

    Raises:
        UsageError: if no partition is named, or the package is not installed.
    """
    partition, jobs = _parts(place, "slurm:PARTITION")
    return _with(asked, jobs, cluster="slurm", slurm_partition=partition, cpus_per_task=1)


def tried(place: str, asked: Asked) -> Slurm:
    """Return jobs of submitit's ``local`` executor: processes of this machine.

    Raises:
        UsageError: if another one is named, or the package is not installed.
    """
    kind, jobs = _parts(place, "submitit:local")
    if kind != "local":
        raise UsageError(f'submitit has no cluster "{kind}" for a trial', help="write --on submitit:local")
    return _with(asked, jobs or asked.slots, cluster="local")


def _parts(place: str, form: str) -> tuple[str, int | None]:
    partition, _, jobs = place.partition(":")
    if not partition or (jobs and not (jobs.isascii() and jobs.isdigit() and int(jobs) > 0)):
        raise UsageError(
            f'"{place}" is not understood', help=f"write --on {form} or --on {form}:JOBS, at most JOBS at a time"
        )
    return partition, int(jobs) if jobs else None


def _with(asked: Asked, jobs: int | None, *, cluster: str, **settings: Any) -> Slurm:  # noqa: ANN401
    del asked
    try:
        import submitit  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("submitit is not installed here", help="pip install 'sojourn[slurm]'") from error
    folder = Path(os.environ.get("SOJOURN_SLURM_FOLDER") or Path.home() / ".cache" / "sojourn" / "slurm")

    def make() -> Executor:
        try:
            executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        except RuntimeError as error:
            raise UsageError(f"there is no Slurm here: {error}", help="give the command on a login node") from error
        executor.update_parameters(name="sojourn", timeout_min=_LONGEST_MIN, **settings)
        return _Jobs(executor, Watched(squeue) if cluster == "slurm" else None)

    return Slurm(make, slots=jobs or _JOBS)
