"""Many runs: those that a results folder has are not made again, the others are stored as they finish."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from sojourn import _core
from sojourn.core.store import Folder, RunKey
from sojourn.errors import Refused, RunError, SojournError
from sojourn.linux import kernels
from sojourn.runner.interrupt import deferred

_REFUSALS_SHOWN: Final = 10


class Watcher(Protocol):
    """Whoever wants to know how far many runs are."""

    def simulated(self, seconds: float) -> None:
        """Take note of the simulated seconds of all runs together; called some ten times a second."""

    def finished(self) -> None:
        """Take note of a run that is done, and stored where there is a folder."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where runs are stored, and how."""

    folder: Folder
    command: str
    """The command that asks for them."""

    def arguments(self, keys: Sequence[RunKey]) -> dict[str, Any]:
        """Return the arguments of ``run_many``."""
        return {
            "store": self.folder.store,
            "command": self.command,
            "warnings": [list(key.warnings) for key in keys] if any(key.warnings for key in keys) else [],
            "keep": [key.keep for key in keys],
            "repetitions": [key.repetition for key in keys],
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs to make, and those that are there already."""

    missing: Sequence[RunKey]
    there: Sequence[RunKey]
    uncaptured: Sequence[RunKey] = ()
    """The stored runs without packets, if the user wants packets."""

    @classmethod
    def of(cls, keys: Sequence[RunKey], folder: Folder | None, *, pcap: bool = False) -> "Plan":
        """Look which of the runs the folder has, with as much of each as its key keeps.

        Args:
            keys: the runs.
            folder: where they may be.
            pcap: whether to look for captures, too.
        """
        if folder is None:
            return cls(keys, [])
        there = {s.digest for s in keys if folder.has(s)}
        found = [s for s in keys if s.digest in there]
        uncaptured = [s for s in found if pcap and not folder.record(s).captures]
        return cls([s for s in keys if s.digest not in there], found, uncaptured)

    @property
    def to_make(self) -> Sequence[RunKey]:
        """The runs to make: a run is repeated for its packets."""
        return [*self.missing, *self.uncaptured]

    @property
    def seconds(self) -> float:
        """Simulated seconds of the runs to make together."""
        return sum(key.resolved.length for key in self.to_make)


def run_keys(
    scenarios: Sequence[_core.Scenario],
    *,
    engine: str,
    keep: str = "all",
    warnings: Sequence[Sequence[str]] | None = None,
) -> list[RunKey]:
    """Return the keys of the runs of these scenarios.

    Args:
        scenarios: as engines take them.
        engine: what runs them.
        keep: how much of each a results folder keeps.
        warnings: those of each scenario.
    """
    versions = _core.identities(scenarios, engine=engine)
    own = [()] * len(scenarios) if warnings is None else warnings
    return [
        RunKey(scenario, engine, version, warnings=tuple(texts), keep=keep)
        for scenario, version, texts in zip(scenarios, versions, own, strict=True)
    ]


def refuse(keys: Sequence[RunKey], *, engine: str, pcap: bool = False) -> None:
    """Ask the engine whether it can run all of these, and capture their packets if that is wanted.

    Raises:
        Refused: naming everything that it lacks, and where.
    """
    if _core.facts(engine).kernels:
        # Programs are run from there: not from a folder that is somebody else's.
        kernels.cache()
    lacking = _core.refusals([s.resolved for s in keys], engine=engine, pcap=pcap)
    if lacking:
        shown = "\n  ".join(lacking[:_REFUSALS_SHOWN])
        more = len(lacking) - _REFUSALS_SHOWN
        raise Refused(f"the engine {engine} cannot run this:\n  {shown}" + (f"\n  and {more} more" if more > 0 else ""))


def make(
    keys: Sequence[RunKey],
    *,
    engine: str,
    threads: int,
    keep: Callable[[RunKey, _core.Run | None], None],
    watcher: Watcher | None = None,
    store: Stored | None = None,
    captures: Sequence[Path] = (),
    snap_len: int = _core.SNAP_LEN,
) -> None:
    """Run all of these, handing each result to ``keep`` as soon as it is there.

    Args:
        keys: the runs.
        engine: what runs them.
        threads: runs at a time.
        keep: gets each result; None if it is in the store.
        watcher: receives the progress.
        store: where results go.
        captures: folders for the packets, one a run; none, and they are not kept.
        snap_len: bytes that are kept of a packet.

    Raises:
        KeyboardInterrupt: on Ctrl-C, after the results that had finished were handed over.
        RunError: if runs failed, after all others were made.
        SojournError: if ``keep`` raises one.
    """
    failures: list[SojournError] = []
    with deferred() as interrupt:

        def done(index: int, results: _core.Run | SojournError | None) -> None:
            if isinstance(results, SojournError):
                failures.append(results)
            else:
                keep(keys[index], results)
            if watcher is not None:
                watcher.finished()

        def progress(seconds: float) -> None:
            if watcher is not None:
                watcher.simulated(seconds)
            interrupt.check()

        _core.run_many(
            [s.resolved for s in keys],
            engine=engine,
            threads=threads,
            on_done=done,
            on_progress=progress,
            captures=[str(folder) for folder in captures],
            snap_len=snap_len,
            **({} if store is None else store.arguments(keys)),
        )
    say_failures(failures)


def say_failures(failures: Sequence[SojournError]) -> None:
    """Raise one error for the runs that failed, if any did."""
    if failures:
        others = len(failures) - 1
        raise RunError(
            failures[0].message + (f" (and {others} more run{'s' if others > 1 else ''})" if others else ""),
            help=(
                f"the other runs are kept; {failures[0].help}"
                if failures[0].help
                else "the other runs are kept; please report this with the run's scenario.json"
            ),
        )
