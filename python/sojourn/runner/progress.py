"""How far many runs are: a bar on a terminal, a line that changes in a notebook, plain lines elsewhere.

What takes less time than ``after`` shows nothing.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self

from rich.console import Console

_LINE_EVERY: Final = 15.0
"""Seconds between plain lines."""

_FRAME_S: Final = 0.2
"""Seconds between changes of a notebook's display."""


class _Display(Protocol):
    """Where it is shown."""

    def show(self, done: float, runs: str, pace: str) -> None:
        """Show the part that is done, the runs and the pace."""

    def close(self) -> None:
        """Take it away."""


class Progress:
    """Shows runs done, simulated seconds per second and the time left. Use it in a ``with`` statement."""

    def __init__(self, runs: int, seconds: float, *, after: float = 0.0, lines: bool = True) -> None:
        """Begin.

        Args:
            runs: how many there are to make.
            seconds: how long they are together, simulated seconds.
            after: seconds until anything is shown.
            lines: whether to print lines where there is neither a terminal nor a notebook.
        """
        self._runs = runs
        self._seconds = seconds
        self._after = after
        self._lines = lines
        self._done = 0
        self._simulated = 0.0
        self._spent_s = 0.0
        self._began = time.monotonic()
        self._display: _Display | None = None
        self._shown = 0.0

    def __enter__(self) -> Self:
        if self._after <= 0:
            self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._show()
            self._display.close()

    def simulated(self, seconds: float) -> None:
        """Take note of the simulated seconds of all runs together."""
        self._simulated = max(self._simulated, seconds)
        self._show()

    def finished(self) -> None:
        """Take note of a run that is done and stored."""
        self._done += 1
        if time.monotonic() - self._shown >= _FRAME_S:
            self._show()

    def spent(self, cpu_s: float) -> None:
        """Take note of the CPU seconds that a batch has cost, on whatever machine."""
        self._spent_s += cpu_s

    def standing(self) -> str:
        """Return in one line how far it is."""
        pace = self._pace()
        return f"{self._done} of {self._runs} runs done{', ' if pace else ''}{pace}"

    def closing(self) -> str:
        """Return one line about the whole."""
        took = max(time.monotonic() - self._began, 1e-9)
        return (
            f"{self._done} run{'s' if self._done != 1 else ''} in {span(took)}, "
            f"{self._simulated / took:,.0f} simulated seconds per second"
            + (f", {self._spent_s:,.1f} CPU seconds" if self._spent_s else "")
        )

    def _pace(self) -> str:
        took = time.monotonic() - self._began
        if self._simulated <= 0 or took < 0.5:  # noqa: PLR2004 - too early for a rate
            return ""
        pace = self._simulated / took
        cost = f", {self._spent_s:,.0f} CPU-s so far" if self._spent_s else ""
        return f"{pace:,.0f} simulated s/s, {span((self._seconds - self._simulated) / pace)} left{cost}"

    def _show(self) -> None:
        self._shown = time.monotonic()
        if self._display is None:
            if time.monotonic() - self._began < self._after:
                return
            self._display = _display(lines=self._lines)
        part = self._simulated / self._seconds if self._seconds > 0 else 1.0
        self._display.show(part, f"{self._done}/{self._runs} runs", self._pace())


def _display(*, lines: bool) -> _Display:
    console = Console(stderr=True, highlight=False)
    if (shown := notebook()) is not None:
        return _Notebook(shown)
    if console.is_terminal:
        return _Bar(console)
    return _Lines(console) if lines else _Nothing()


def notebook() -> Callable[..., Any] | None:
    """Return IPython's ``display`` if this is a notebook; None otherwise."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display  # noqa: PLC0415 - there only in a notebook

    return display


class _Bar:
    """A bar on a terminal."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - most that is run needs no bar
        from rich.progress import Progress as Bar  # noqa: PLC0415

        self._bar = Bar(
            TextColumn("{task.fields[runs]}"),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[pace]}"),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1.0, runs="", pace="")
        self._bar.start()

    def show(self, done: float, runs: str, pace: str) -> None:
        self._bar.update(self._task, completed=done, runs=runs, pace=pace)

    def close(self) -> None:
        self._bar.stop()


class _Notebook:
    """A line of the cell's output, which is changed in its place and empty in the end."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._handle = display(_text(""), raw=True, display_id=True)
        self._shown = 0.0

    def show(self, done: float, runs: str, pace: str) -> None:
        if time.monotonic() - self._shown >= _FRAME_S:
            self._shown = time.monotonic()
            self._handle.update(_text(f"{runs}, {done:.0%}{', ' if pace else ''}{pace}"), raw=True)

    def close(self) -> None:
        self._handle.update(_text(""), raw=True)


def _text(text: str) -> dict[str, str]:
    return {"text/plain": text}


class _Lines:
    """A line now and then, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said = time.monotonic()

    def show(self, done: float, runs: str, pace: str) -> None:
        if time.monotonic() - self._said >= _LINE_EVERY:
            self._said = time.monotonic()
            self._console.print(f"{runs}, {done:.0%}, {pace}", soft_wrap=True, markup=False)

    def close(self) -> None:
        pass


class _Nothing:
    """Nobody looks."""

    def show(self, done: float, runs: str, pace: str) -> None:
        pass

    def close(self) -> None:
        pass


def span(seconds: float) -> str:
    """Return a time for people: ``8.4 s``, ``3 min 20 s``, ``2 h 5 min``.

    >>> span(8.42), span(200), span(7500)
    ('8.4 s', '3 min 20 s', '2 h 5 min')
    """
    seconds = max(seconds, 0.0)
    if seconds < 60:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:  # noqa: PLR2004
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
