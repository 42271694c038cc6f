"""A hook that does not come back ends in an error that names its line, and not in a run that hangs for ever.

A thread looks once a second at the stacks of all threads. A thread with its outermost frame in the user's file is a
call from the simulator. If that is the same frame at :data:`LOOKS` looks in a row, the hook is interrupted where it is:
:class:`Endless` is raised there, and comes out of it as any error of the file's own would.

Looks are counted and not seconds, so that a machine that slept is no reason. Results do not depend on it: a hook that
comes back has been let alone, and one that was interrupted has no result. A hook costs nothing more for being watched.
What waits in C (``time.sleep``) is interrupted when that returns.
"""

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LOOKS = 20
"""Looks at the same call before it is interrupted."""

MODULE_LOOKS = 60
"""Looks at the same module while it is loaded, which may import what takes long."""

PERIOD_S = 1.0
"""Between two looks."""

MESSAGE: Final = "it does not come back"
"""The text of the error about an interrupted hook."""

_BETWEEN: Final = frozenset({"make_aqm"})
"""Our functions between the simulator and the user's file."""


class Endless(BaseException):
    """A hook has not come back; no ``except Exception`` of the file's holds it up."""


class _Watchdog:
    def __init__(self) -> None:
        self._files: set[str] = set()
        self._loading: dict[int, str] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, path: str) -> None:
        """Look after the calls into a file from now on."""
        with self._lock:
            self._files.add(path)
            self._begin()

    @contextmanager
    def loading(self, path: str) -> Iterator[None]:
        """Look after a file that this thread runs as a module."""
        thread = threading.get_ident()
        with self._lock:
            self._loading[thread] = path
            self._begin()
        try:
            yield
        finally:
            self._loading.pop(thread, None)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="sojourn-watchdog", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        seen: dict[int, tuple[FrameType, int]] = {}
        while True:
            time.sleep(PERIOD_S)
            now: dict[int, tuple[FrameType, int]] = {}
            for thread, frame in sys._current_frames().items():  # noqa: SLF001 - there is no other way to see them
                call = self._call(frame, self._loading.get(thread))
                if call is None:
                    continue
                before, looks = seen.get(thread, (None, 0))
                looks = looks + 1 if before is call else 1
                if looks >= (MODULE_LOOKS if thread in self._loading else LOOKS):
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Endless))
                    looks = 0
                # Held, so that no other frame can come to have its place in memory.
                now[thread] = (call, looks)
            seen = now

    def _call(self, frame: FrameType, loading: str | None) -> FrameType | None:
        """Return the call into a file that a thread is in; None if it is in none that the simulator made.

        The outermost frame of a script that is itself the file is its module, and nobody's call; a module that we load
        is a call of ours.
        """
        frames = [frame]
        while (outer := frames[-1].f_back) is not None:
            frames.append(outer)
        if loading is not None:
            wanted = (loading, _MODULE)
            return next((own for own in frames if (own.f_code.co_filename, own.f_code.co_name) == wanted), None)
        while frames and frames[-1].f_code.co_name in _BETWEEN:
            frames.pop()
        if not frames or frames[-1].f_code.co_filename not in self._files or frames[-1].f_code.co_name == _MODULE:
            return None
        return frames[-1]


_MODULE: Final = "<module>"


_WATCHDOG: Final = _Watchdog()


@contextmanager
def patience(looks: int) -> Iterator[None]:
    """Interrupt hooks and modules of this process after this number of looks, while the context lasts."""
    global LOOKS, MODULE_LOOKS  # noqa: PLW0603 - one watchdog watches a process
    before = LOOKS, MODULE_LOOKS
    LOOKS = MODULE_LOOKS = looks
    try:
        yield
    finally:
        LOOKS, MODULE_LOOKS = before


watch = _WATCHDOG.watch
loading = _WATCHDOG.loading
