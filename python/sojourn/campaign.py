"""Many runs: those that a results folder has are not made again, the others are stored as they finish."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import polars as pl

from sojourn import _core, describe
from sojourn.errors import Refused, RunError, SojournError
from sojourn.interrupt import deferred
from sojourn.run import Run
from sojourn.store import Folder, Stamp

_REFUSALS_SHOWN: Final = 10


class Watcher(Protocol):
    """Whoever wants to know how far a campaign is."""

    def simulated(self, seconds: float) -> None:
        """Take note of the simulated seconds of all runs together; called some ten times a second."""

    def finished(self) -> None:
        """Take note of a run that is done, and stored where there is a folder."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs to make, and those that are there already."""

    missing: Sequence[Stamp]
    there: Sequence[Stamp]

    @classmethod
    def of(cls, stamps: Sequence[Stamp], folder: Folder | None) -> "Plan":
        """Look which of the runs the folder has."""
        if folder is None:
            return cls(stamps, [])
        there = {s.digest for s in stamps if s in folder}
        return cls([s for s in stamps if s.digest not in there], [s for s in stamps if s.digest in there])

    @property
    def seconds(self) -> float:
        """Simulated seconds of the missing runs together."""
        return sum(describe.length(stamp.scenario) for stamp in self.missing)


def stamp(scenario_json: str, *, engine: str) -> Stamp:
    """Return what identifies a run of this scenario."""
    scenario = describe.from_json(scenario_json)
    return Stamp(scenario, describe.label(scenario), engine, _core.version())


def refuse(stamps: Sequence[Stamp], *, engine: str) -> None:
    """Ask the engine whether it can run all of these.

    Raises:
        Refused: naming everything that it lacks, and where.
    """
    lacking = _core.refusals([describe.to_json(s.scenario) for s in stamps], engine=engine)
    if lacking:
        shown = "\n  ".join(lacking[:_REFUSALS_SHOWN])
        more = len(lacking) - _REFUSALS_SHOWN
        raise Refused(f"the engine {engine} cannot run this:\n  {shown}" + (f"\n  and {more} more" if more > 0 else ""))


def make(
    stamps: Sequence[Stamp],
    *,
    engine: str,
    threads: int,
    keep: Callable[[Stamp, _core.Run], None],
    watcher: Watcher | None = None,
) -> None:
    """Run all of these, handing each result to ``keep`` as soon as it is there.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after the results that had finished were handed over.
        RunError: if runs failed, after all others were made.
        SojournError: if ``keep`` raises one.
    """
    failures: list[SojournError] = []
    with deferred() as interrupt:

        def done(index: int, results: _core.Run | SojournError) -> None:
            if isinstance(results, SojournError):
                failures.append(results)
            else:
                keep(stamps[index], results)
            if watcher is not None:
                watcher.finished()

        def progress(seconds: float) -> None:
            if watcher is not None:
                watcher.simulated(seconds)
            interrupt.check()

        _core.run_many(
            [describe.to_json(s.scenario) for s in stamps],
            engine=engine,
            threads=threads,
            on_done=done,
            on_progress=progress,
        )
    if failures:
        others = len(failures) - 1
        raise RunError(
            failures[0].message + (f" (and {others} more run{'s' if others > 1 else ''})" if others else ""),
            help="the other runs are kept; please report this with the run's scenario.json",
        )


def make_stored(
    plan: Plan, folder: Folder, *, engine: str, threads: int, command: str, watcher: Watcher | None = None
) -> list[Run]:
    """Make what is missing and store it; return every run of the plan."""

    def keep(made: Stamp, results: _core.Run) -> None:
        folder.add(made, {n: pl.DataFrame(results.table(n)) for n in results.tables}, command=command)

    make(plan.missing, engine=engine, threads=threads, keep=keep, watcher=watcher)
    return [Run.stored(folder.record(s)) for s in (*plan.there, *plan.missing)]


def make_fresh(stamps: Sequence[Stamp], *, engine: str, threads: int, watcher: Watcher | None = None) -> list[Run]:
    """Make runs and keep them in memory; return them in order."""
    made: dict[str, Run] = {}

    def keep(one: Stamp, results: _core.Run) -> None:
        made[one.digest] = Run.fresh(one, results)

    make(stamps, engine=engine, threads=threads, keep=keep, watcher=watcher)
    return [made[s.digest] for s in stamps]
