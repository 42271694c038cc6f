"""How far a campaign is: a bar with rate and time left on a terminal, plain lines elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from sojourn.cli.screen import err, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_LINE_EVERY: Final = 15.0
"""Seconds between plain lines."""


class Progress:
    """Shows runs done, simulated seconds per second and the time left. Use it in a ``with`` statement."""

    def __init__(self, runs: int, seconds: float) -> None:
        self._runs = runs
        self._seconds = seconds
        self._done = 0
        self._simulated = 0.0
        self._began = time.monotonic()
        self._said = self._began
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        console = err()
        if console.is_terminal:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.fields[runs]}"),
                BarColumn(bar_width=20),
                TextColumn("{task.percentage:>3.0f} %  {task.fields[pace]}"),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=self._seconds, runs=self._count(), pace="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def simulated(self, seconds: float) -> None:
        """Take note of the simulated seconds of all runs together."""
        self._simulated = max(self._simulated, seconds)
        self._show()

    def finished(self) -> None:
        """Take note of a run that is done and stored."""
        self._done += 1
        self._show()

    def closing(self) -> str:
        """Return one line about the whole."""
        took = max(time.monotonic() - self._began, 1e-9)
        return (
            f"{self._done} run{'s' if self._done != 1 else ''} in {span(took)}, "
            f"{self._simulated / took:,.0f} simulated seconds per second"
        )

    def _count(self) -> str:
        return f"{self._done}/{self._runs} runs"

    def _pace(self) -> str:
        took = time.monotonic() - self._began
        if self._simulated <= 0 or took < 0.5:  # noqa: PLR2004 - too early for a rate
            return ""
        pace = self._simulated / took
        return f"{pace:,.0f} simulated s/s, {span((self._seconds - self._simulated) / pace)} left"

    def _show(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._simulated, runs=self._count(), pace=self._pace())
        elif time.monotonic() - self._said >= _LINE_EVERY:
            self._said = time.monotonic()
            say(f"{self._count()}, {self._simulated / self._seconds:.0%}, {self._pace()}")


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
