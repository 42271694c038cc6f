"""How far runs are, as much of it as is wanted: nothing with ``-q``, a line a run with ``-v``."""

from sojourn.cli.screen import TALK, detail
from sojourn.runner.progress import Progress


class _Told(Progress):
    """Progress that says when each run is done."""

    def finished(self) -> None:
        super().finished()
        detail(self.standing())


def watching(runs: int, seconds: float, *, after: float = 0.0) -> Progress:
    """Return who watches so many runs of so many simulated seconds together, for a ``with`` statement.

    Args:
        runs: how many.
        seconds: how long they are together, simulated seconds.
        after: seconds until anything is shown; what may be that quick shows no lines in a log either.
    """
    never = float("inf")
    return _Told(runs, seconds, after=never if TALK.quiet or TALK.verbose else after, lines=after <= 0)
