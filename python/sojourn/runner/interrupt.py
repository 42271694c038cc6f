"""Ctrl-C that waits for a good moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self._pressed = False

    def press(self, number: int, frame: FrameType | None) -> None:
        """Take note; the second time, do not wait any longer."""
        del number, frame
        if self._pressed:
            raise KeyboardInterrupt
        self._pressed = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was pressed: here nothing is half done."""
        if self._pressed:
            raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[Interrupt]:
    """Hold Ctrl-C back until :meth:`Interrupt.check` is called; a second one acts at once.

    Only Python's main thread hears of it; on others nothing changes.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt.press)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
