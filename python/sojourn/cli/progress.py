"""How far runs are, as much of it as is wanted: nothing with ``-q``, a line a run with ``-v``."""

from collections.abc import Iterator
from contextlib import contextmanager

from sojourn.cli.screen import TALK, detail, say
from sojourn.errors import Interrupted
from sojourn.runner import Campaign, Watching
from sojourn.runner.progress import Progress


class _Told(Progress):
    """Progress that says when each run is done."""

    def finished(self) -> None:
        super().finished()
        if TALK.verbose:
            detail(self.standing())


def watching(runs: int, seconds: float, *, after: float = 0.0) -> Progress:
    """Return a watcher of a number of runs and their simulated seconds, for a ``with`` statement.

    Args:
        runs: how many.
        seconds: how long they are together, simulated seconds.
        after: seconds until anything is shown; what may be that quick shows no lines in a log either.
    """
    never = float("inf")
    return _Told(runs, seconds, after=never if TALK.quiet or TALK.verbose else after, lines=after <= 0)


def watching_to_the_end(before: str = "") -> Watching:
    """Return :func:`watching` with a line at the end about the runs that were made, if any was.

    Args:
        before: the beginning of that line.
    """

    @contextmanager
    def watched(runs: int, seconds: float) -> Iterator[Progress]:
        with watching(runs, seconds) as progress:
            yield progress
        if runs:
            say(before + progress.closing())

    return watched


@contextmanager
def interruptible(campaign: Campaign) -> Iterator[None]:
    """Say on Ctrl-C which runs of a campaign are kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        plan = campaign.plan()
        raise Interrupted(
            f"interrupted: {len(plan.there)} of {len(campaign.keys)} runs are finished and kept in {campaign.folder}",
            help=f"to go on from there: {campaign.command}",
        ) from None
