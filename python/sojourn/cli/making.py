"""Runs for commands that judge them: made where they are missing, and returned in the order of their keys."""

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn.cli.plugins import note_plugins
from sojourn.cli.progress import watching
from sojourn.core.store import RunKey
from sojourn.runner import Campaign, cores
from sojourn.views.run import Run


def maker(engine: str, threads: int | None, output: Path | None) -> Callable[[Sequence[RunKey]], Sequence[Run]]:
    """Return a function that makes runs, in the order of their keys."""

    def make(keys: Sequence[RunKey]) -> Sequence[Run]:
        note_plugins(keys)
        campaign = Campaign(
            keys=keys,
            engine=engine,
            folder=output,
            threads=threads or cores(),
            command=shlex.join(["sojourn", *sys.argv[1:]]),
        )
        with campaign.making(watching) as made:
            by_digest = {run.key.digest: run for run in made(keys)}
        return [by_digest[key.digest] for key in keys]

    return make
