"""Runs that are made elsewhere: by processes of this machine, by Dask's workers, by Slurm, by a user's executor.

A :class:`concurrent.futures.Executor` (PEP 3148), named by ``--on``, makes them. The word in front of the colon is its
name, and it reads the rest itself: ``processes:4``, ``dask://HOST:8786``, ``slurm:PARTITION``. Other
distributions add theirs as entry points of the group ``sojourn.executors``: functions as :data:`Opens`.

:mod:`.workers` is the interface of an executor; :mod:`.batch` has the messages; :mod:`.dispatch` sends runs, waits, and
sends lost runs again.
"""

import re
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from sojourn.core.extensions import Registry
from sojourn.errors import UsageError
from sojourn.runner.executors.dispatch import dispatch
from sojourn.runner.executors.workers import Asked, Workers

Opens = Callable[[str, Asked], Executor | Workers]
"""Opens an executor, from the words after its name and the demands on it."""

OWN: Final = {
    "processes": "processes:opened",
    "dask": "dask:opened",
    "slurm": "slurm:opened",
    "submitit": "slurm:tried",
}
"""Ours, by name."""


def _function(made: object) -> str | None:
    return None if callable(made) else f"it is {type(made).__name__}, not a function"


EXECUTORS: Final[Registry[Opens]] = Registry("sojourn.executors", "executor", own=__name__, check=_function)
"""Every executor that ``--on`` can name."""


def opened(words: str, asked: Asked) -> Workers:
    """Return the workers that ``--on`` names.

    Args:
        words: ``processes``, ``processes:4``, ``dask://HOST:8786``, ``slurm:PARTITION``.
        asked: the demands on them.

    Raises:
        UsageError: if there is none of that name, or it does not understand the rest.
    """
    name, place = parts(words)
    made = EXECUTORS.find(name)(place, asked)
    if isinstance(made, Workers):
        return made
    return Workers(lambda: made, slots=asked.slots)


def parts(words: str) -> tuple[str, str]:
    """Return the name of an executor, and the words after it.

    >>> parts("processes"), parts("processes:4"), parts("dask://lab:8786")
    (('processes', ''), ('processes', '4'), ('dask', 'lab:8786'))
    """
    found = re.fullmatch(r"([A-Za-z0-9_.-]+)(?::(?://)?(.+))?", words)
    if found is None:
        raise UsageError(
            f'"{words}" names no executor',
            help="write NAME or NAME:PLACE: processes:4, dask://HOST:8786, slurm:PARTITION",
        )
    return found[1], found[2] or ""


def here(words: str | None, threads: int) -> int | None:
    """Return how many runs this machine makes at a time; None where others make them.

    Args:
        words: as for :func:`opened`; None for threads of this process.
        threads: how many unless the words say so.
    """
    if words is None:
        return threads
    name, place = parts(words)
    if name != "processes":
        return None
    from sojourn.runner.executors import processes  # noqa: PLC0415 - a pool takes longer to import than short runs

    return processes.count(place, threads)


__all__ = ["EXECUTORS", "Asked", "Opens", "Workers", "dispatch", "here", "opened", "parts"]
