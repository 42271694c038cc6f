"""Sends runs to workers, keeps the answers, and sends lost runs again.

Runs go in batches of about two seconds of work, by foresight, corrected by what batches have cost so far. Two batches
a slot are under way, so that no worker waits and little is lost with one.

If a worker dies, its batch is sent again; that is harmless, because a run is known by its key. A batch that was lost
twice is taken apart. Where one death loses everything under way (a pool of processes), suspects run with nothing else
under way, so that only the guilty run is blamed. A run that has killed three workers, the last by itself, is reported;
the others are kept. When there is nothing left to send, a batch that takes far longer than others is
sent a second time, to whoever is free: who is done first counts, and one slow machine does not hold up the end.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, Protocol

from sojourn import _core
from sojourn.core.store import RunKey
from sojourn.errors import Refused, RunError, SojournError
from sojourn.runner.executors import batch
from sojourn.runner.executors.workers import Workers
from sojourn.runner.interrupt import Interrupt

_MOST: Final = 256
"""Runs of a batch at most."""

_AHEAD: Final = 2
"""Batches under way for each slot."""

_DEADLY: Final = 3
"""A run that killed this number of workers is not repeated."""

_LATE: Final = 4.0
"""A batch is late after this multiple of the median time."""

_TICK_S: Final = 0.2


class Watching(Protocol):
    """A watcher of the progress of runs; and of their cost, if it has a ``spent`` for CPU seconds."""

    def simulated(self, seconds: float) -> None:
        """Take note of the simulated seconds of all runs together."""

    def finished(self) -> None:
        """Take note of a run that is done."""


@dataclass(eq=False)
class _Batch:
    runs: list[int]
    alone: bool = False
    """Whether nothing else was under way that could have killed its worker."""
    sent: float = field(default_factory=time.monotonic)
    doubled: bool = False


class _Campaign:
    """The runs, and the state of each."""

    def __init__(self, keys: Sequence[RunKey], workers: Workers, *, engine: str, command: str) -> None:
        self.keys = keys
        self.workers = workers
        self.failures: list[SojournError] = []
        self.finished: set[int] = set()
        self.cpu_s = 0.0
        self.flying: dict[Future[Any], _Batch] = {}
        self._engine = engine
        self._build = _core.version(engine)
        self._command = command
        self._fresh = deque(range(len(keys)))
        self._again: deque[list[int]] = deque()
        self._deaths: Counter[int] = Counter()
        self._took: list[float] = []
        foreseen = _core.foresee([key.resolved for key in keys], engine=engine)
        self._expected = [None if own is None else max(own.cpu_s, 1e-4) for own in foreseen]
        self._left_s = sum(own for own in self._expected if own is not None)
        self._foreseen_s = 0.0
        self._measured_s = 0.0

    @property
    def done(self) -> bool:
        return len(self.finished) == len(self.keys)

    def fill(self) -> None:
        """Send as much as is to be under way."""
        slots = max(self.workers.slots(), 1)
        if self._again and self.workers.together:
            if not self.flying:
                self._send(self._again.popleft(), alone=True)
            return
        while len(self.flying) < slots * _AHEAD:
            runs = self._again.popleft() if self._again else self._next(slots)
            runs = [run for run in runs if run not in self.finished]
            if runs:
                self._send(runs, alone=not self.workers.together)
            elif not self._again and not self._fresh:
                break
        if not self._fresh and not self._again and len(self.flying) < slots:
            self._double()

    def _next(self, slots: int) -> list[int]:
        # Towards the end batches get smaller, so that it comes for all at about the same time.
        work = min(self.workers.batch_s, self._left_s * self._pace / (_AHEAD * slots))
        runs: list[int] = []
        expected = 0.0
        while self._fresh and len(runs) < _MOST:
            own = self._expected[self._fresh[0]]
            if runs and (own is None or expected + own * self._pace > work):
                break
            runs.append(self._fresh.popleft())
            expected += (own or 0.0) * self._pace
            if own is None:
                break
        self._left_s -= expected / self._pace
        return runs

    @property
    def _pace(self) -> float:
        """The measured cost of runs over the estimate."""
        return min(max(self._measured_s / self._foreseen_s, 0.05), 20.0) if self._foreseen_s > 0 else 1.0

    def _double(self) -> None:
        """Send a late batch a second time."""
        if self.workers.together or not self._took:
            return
        late = max(_LATE * median(self._took), self.workers.batch_s)
        now = time.monotonic()
        for own in list(self.flying.values()):
            if not own.doubled and now - own.sent > late:
                own.doubled = True
                self._send(own.runs, alone=own.alone, doubled=True)
                return

    def _send(self, runs: list[int], *, alone: bool, doubled: bool = False) -> None:
        sent = batch.request(
            [self.keys[run] for run in runs],
            engine=self._engine,
            build=self._build,
            command=self._command,
        )
        try:
            future = self.workers.submit(batch.make, sent)
        except Exception:
            self._again.appendleft(runs)
            raise
        self.flying[future] = _Batch(runs, alone=alone, doubled=doubled)

    def land(self, future: "Future[Any]", keep: Callable[[RunKey, bytes], object]) -> list[int]:
        """Take the answer of a batch; return the runs that are done with it."""
        own = self.flying.pop(future)
        try:
            answer: batch.Answer = future.result()
        except (Exception, CancelledError) as error:  # noqa: BLE001 - what a worker's machinery raises is anything
            self._lost(own, error)
            return []
        if answer["refused"] is not None:
            raise Refused(
                f"the worker {answer['worker']} has the build {answer['refused']}, and {self._said()} was asked for: "
                "results of two builds do not go into one folder",
                help="install the same Sojourn there",
            )
        done = []
        expected = [self._expected[run] for run in own.runs]
        if None not in expected:
            self._foreseen_s += sum(value or 0.0 for value in expected)
            self._measured_s += answer["cpu_s"]
        self.cpu_s += answer["cpu_s"]
        self._took.append(time.monotonic() - own.sent)
        for run, made in zip(own.runs, answer["made"], strict=True):
            if run in self.finished:
                continue
            if isinstance(made, bytes):
                keep(self.keys[run], made)
            else:
                self.failures.append(RunError(made["message"], help=made["help"]))
            self.finished.add(run)
            done.append(run)
        return done

    def died(self, future: "Future[Any]") -> bool:
        """Whether a worker died of this batch."""
        if future.cancelled():
            return False
        error = future.exception()
        return error is not None and self.workers.deaths(error) > 0

    def _said(self) -> str:
        return self._build if self._engine == "sim" else self.keys[0].version

    def _lost(self, own: _Batch, error: BaseException) -> None:
        deaths = self.workers.deaths(error)
        left = [run for run in own.runs if run not in self.finished]
        if deaths == 0:
            if not self.workers.out_of_touch(error):
                raise RunError(
                    f"a worker could not make runs: {type(error).__name__}: {error}",
                    help="finished runs are kept; see that the workers have this very Sojourn",
                ) from error
            self._again.append(left)
            return
        for run in left:
            self._deaths[run] += deaths
        if len(left) == 1 and own.alone and self._deaths[left[0]] >= _DEADLY:
            [run] = left
            self.finished.add(run)
            self.failures.append(
                RunError(
                    f"{self.keys[run].label} was given up: {self._deaths[run]} workers died while they made it",
                    help="make it alone, with --only and without --on, to see why; most often memory runs out",
                )
            )
        elif left and self._deaths[left[0]] >= _DEADLY - 1:
            self._again.extend([run] for run in left)
        elif left:
            self._again.append(left)


def dispatch(
    keys: Sequence[RunKey],
    workers: Workers,
    *,
    engine: str,
    command: str,
    keep: Callable[[RunKey, bytes], object],
    interrupt: Interrupt,
    watcher: Watching | None = None,
) -> list[SojournError]:
    """Have runs made by workers; return why those failed that did.

    Args:
        keys: the runs.
        workers: who makes them.
        engine: what makes them there.
        command: what asked for them.
        keep: gets each run in its stored form, in the order in which they come.
        interrupt: Ctrl-C.
        watcher: receives the progress and the cost.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after what had come back was kept.
        Refused: if a worker has another build.
        RunError: if the workers cannot make runs at all.
        SojournError: if ``keep`` raises one.
    """
    workers.check(_core.version(engine))
    campaign = _Campaign(keys, workers, engine=engine, command=command)
    simulated = 0.0
    spent: Callable[[float], object] | None = getattr(watcher, "spent", None)
    while not campaign.done:
        interrupt.check()
        broken = _fill(campaign)
        came, _ = wait(campaign.flying, timeout=_TICK_S, return_when=FIRST_COMPLETED)
        if workers.together and (broken or any(map(campaign.died, came))):
            # All that was under way is lost with it.
            came, broken = wait(campaign.flying).done, True
        for future in came:
            before = campaign.cpu_s
            for run in campaign.land(future, keep):
                simulated += keys[run].resolved.length
                if watcher is not None:
                    watcher.simulated(simulated)
                    watcher.finished()
            if spent is not None and campaign.cpu_s > before:
                spent(campaign.cpu_s - before)
        if broken and workers.together:
            workers.renew()
    for future in campaign.flying:
        future.cancel()
    return campaign.failures


def _fill(campaign: _Campaign) -> bool:
    """Send as much as is to be under way; return whether the workers turned out to be gone.

    An executor may notice the death of a worker only when it is given the next batch.
    """
    try:
        campaign.fill()
    except Exception as error:
        if not (campaign.workers.deaths(error) or campaign.workers.out_of_touch(error)):
            raise
        return True
    return False
