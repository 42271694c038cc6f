"""``--on processes[:N]``: processes of this machine, one run at a time each."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor

from sojourn.errors import UsageError
from sojourn.runner.executors.workers import Asked, Workers


class Processes(Workers):
    """A pool of processes."""

    def close(self) -> None:
        """Give up the batches under way, without waiting for long runs."""
        # There is no public way to end a pool's processes before Python 3.14.
        processes = list((getattr(self.executor, "_processes", None) or {}).values())
        super().close()
        for process in processes:
            process.terminate()


def opened(place: str, asked: Asked) -> Processes:
    """Return a pool; ``place`` is the number of processes (default: the number of slots).

    Raises:
        UsageError: if it is no number.
    """
    slots = count(place, asked.slots)
    # Processes that are forked from one with threads may hang; a server of forks has none, and imports once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sojourn.runner.executors.batch"])
    return Processes(lambda: ProcessPoolExecutor(slots, context, initializer=_calm), slots=slots)


def count(place: str, otherwise: int) -> int:
    """Return how many processes ``processes:PLACE`` means.

    Raises:
        UsageError: if it is no number.
    """
    if place and not (place.isascii() and place.isdigit() and int(place) > 0):
        raise UsageError(f'"{place}" is no number of processes', help="write --on processes:4")
    return int(place) if place else otherwise


def _calm() -> None:
    """Leave Ctrl-C to who asked for the runs, and do not outlive it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this process when who asked for it has ended: killed, it cannot say goodbye."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
