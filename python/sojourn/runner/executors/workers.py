"""Workers that make batches of runs: a ``concurrent.futures.Executor``, and its behaviour when workers die."""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import Any, Final

BATCH_S: Final = 2.0
"""About the work of a batch, CPU seconds, where sending one takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The demands on an executor that is about to be opened."""

    engine: str
    """The engine that makes the runs."""
    slots: int
    """Batches at a time, where it is for us to say."""


class Workers:
    """Workers behind an executor. This one fits any executor; ours override what they know better.

    Invariant: a batch may be made twice without harm, because a run is known by its key.
    """

    batch_s: float = BATCH_S
    """About the work of a batch, CPU seconds."""

    together: bool = True
    """Whether the death of one worker loses all that was under way, as it does in a pool of processes."""

    def __init__(self, make: Callable[[], Executor], *, slots: int) -> None:
        """Begin with what ``make`` returns.

        Args:
            make: returns the executor; called again when it broke.
            slots: batches that it makes at a time.
        """
        self._make = make
        self._slots = slots
        self.executor = make()

    def slots(self) -> int:
        """Return how many batches are made at a time."""
        return self._slots

    def submit(self, made: Callable[[bytes], Any], request: bytes) -> "Future[Any]":
        """Send a batch."""
        return self.executor.submit(made, request)

    def deaths(self, error: BaseException) -> int:
        """Return how many workers died with a batch that ended like this; 0 if that is not what happened."""
        return 1 if isinstance(error, BrokenExecutor) else 0

    def out_of_touch(self, error: BaseException) -> bool:
        """Return whether the batches under way are lost although no worker died: they are sent again."""
        del error
        return False

    def renew(self) -> None:
        """Start again after workers died."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._make()

    def check(self, version: str) -> None:
        """Refuse workers that are known to have another build than ``version``; those met later are refused then."""

    def close(self) -> None:
        """Give up the batches under way, and let go."""
        self.executor.shutdown(wait=False, cancel_futures=True)
