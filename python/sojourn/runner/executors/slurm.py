"""``--on slurm:PARTITION[:JOBS]``: jobs of Slurm, by the package ``submitit``.

A job is a batch. Slurm takes seconds to start one, and its administrators minutes to ask about ten thousand, so that a
batch is five minutes of work rather than two seconds. Requests and answers pass through a folder that all nodes must
share: SOJOURN_SLURM_FOLDER, or ``~/.cache/sojourn/slurm``. ``--on submitit:local[:JOBS]`` has the same jobs made by
processes of this machine, for a trial.
"""

import os
import threading
from collections.abc import Callable
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

_LONGEST_MIN: Final = 60
"""What a job may take, minutes; Slurm ends it then."""


class _Jobs(Executor):
    """Jobs of submitit as futures."""

    def __init__(self, jobs: Any) -> None:  # noqa: ANN401 - submitit's types say less than they promise
        self._jobs = jobs
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
                ended = [(job, future) for job, future in self._open if job.done()]
                self._open = [pair for pair in self._open if pair not in ended]
            for job, future in ended:
                try:
                    answer = job.result()
                except Exception as error:  # noqa: BLE001 - whatever it is, it is the future's
                    future.set_exception(error)
                    continue
                # What a finished job has left is in its answer.
                for file in (job.paths.submitted_pickle, job.paths.result_pickle):
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
            f'"{place}" is not understood', help=f"write --on {form} or --on {form}:JOBS, so many at a time"
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
        return _Jobs(executor)

    return Slurm(make, slots=jobs or _JOBS)
