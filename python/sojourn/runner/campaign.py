"""A campaign: the runs that somebody wants, made by one engine and kept in one folder."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.core.store import Folder, RunKey
from sojourn.errors import UsageError
from sojourn.runner import foresight
from sojourn.runner.executors import Asked, Workers, dispatch, here, opened
from sojourn.runner.interrupt import deferred
from sojourn.runner.runs import Plan, Stored, Watcher, make, refuse, say_failures
from sojourn.views.results import Results
from sojourn.views.run import Run

Watching = Callable[[int, float], AbstractContextManager[Watcher | None]]
"""Makes a watcher from the number of runs and the simulated seconds of all."""


def cores() -> int:
    """Return how many runs this machine makes at a time unless somebody says otherwise."""
    return os.cpu_count() or 1


@dataclass(slots=True, kw_only=True)
class Campaign:
    """Runs to make, and how.

    The order is :meth:`refuse`, :meth:`refuse_what_cannot_fit`, :meth:`plan`, :meth:`making`; :meth:`run` does all.
    """

    keys: Sequence[RunKey]
    engine: str = "sim"
    folder: Path | None = None
    """The results folder that keeps the runs; runs that it has are not made again. None: results stay in memory."""
    threads: int = field(default_factory=cores)
    """Runs at a time."""
    on: str | Workers | None = None
    """Who makes the runs, as ``--on`` names them; threads of this process if None. Workers stay open."""
    pcap: int | None = None
    """The bytes to keep of each packet; None: no packets are kept."""
    captures: Sequence[Path] = ()
    """Where packets go if there is no results folder: a folder a run."""
    memory: float | None = None
    """The bytes of memory that the runs may take; None: the machine's memory."""
    command: str = ""
    """The command that asks for the runs; the folder keeps it."""

    def refuse(self) -> None:
        """Ask the engine whether it can make these runs, before any is made.

        Raises:
            Refused: if the engine lacks something that a run needs.
            UsageError: if packets are to be kept by other machines, or nowhere.
        """
        if self.pcap is not None and self.on is not None:
            raise UsageError("packets are kept where runs are made", help="leave out --pcap or --on")
        refuse(self.keys, engine=self.engine, pcap=self.pcap is not None)
        if self.pcap is not None and self.folder is None and not self.captures:
            raise UsageError("packets are kept in a results folder", help="give one")

    def refuse_what_cannot_fit(self) -> None:
        """Compare the memory that the runs need with the memory that there is; other machines' is not known.

        Raises:
            Refused: if the runs would not fit.
        """
        if (threads := self.here) is not None:
            foresight.refuse_what_cannot_fit(
                self.plan().to_make, engine=self.engine, threads=threads, most_bytes=self.memory
            )

    @property
    def here(self) -> int | None:
        """How many runs this machine makes at a time; None if other machines make them."""
        return None if isinstance(self.on, Workers) else here(self.on, self.threads)

    def plan(self) -> Plan:
        """Return which of the runs the folder has and which are to be made.

        Raises:
            StoreError: if the folder is damaged or no results folder.
        """
        there = self.folder is not None and (self.folder / "manifest.json").exists()
        store = Folder.open(self.folder) if self.folder is not None and there else None
        return Plan.of(self.keys, store, pcap=self.pcap is not None)

    @contextmanager
    def making(self, watching: Watching | None = None) -> Iterator[Callable[[Sequence[RunKey]], list[Run]]]:
        """Lock the folder, start the workers, and give the function that makes any of the runs.

        Args:
            watching: who watches; nobody if None.

        Raises:
            StoreError: if the folder cannot be written or belongs to another version.
        """
        with ExitStack() as stack:
            store = None
            if self.folder is not None:
                created = Folder.create(self.folder, version=_core.version(self.engine), command=self.command)
                store = stack.enter_context(created)
            plan = Plan.of(self.keys, store, pcap=self.pcap is not None)
            watched = watching(len(plan.to_make), plan.seconds) if watching else nullcontext()
            watcher = stack.enter_context(watched)
            workers = self.on if isinstance(self.on, Workers) else None
            if isinstance(self.on, str) and plan.to_make:
                workers = opened(self.on, Asked(self.engine, self.threads))
                stack.callback(workers.close)
            kept = self._fresh if store is None else partial(self._stored, store)
            yield partial(kept, watcher, workers)

    def _fresh(self, watcher: Watcher | None, workers: Workers | None, keys: Sequence[RunKey]) -> list[Run]:
        made: dict[str, Run] = {}
        if workers is None:

            def keep(key: RunKey, results: _core.Run | None) -> None:
                if results is not None:
                    made[key.digest] = Run.fresh(key, results)

            make(keys, keep=keep, captures=self.captures, watcher=watcher, **self._how)
            return [made[key.digest] for key in keys]
        # What workers send is a stored run: a folder holds it until the caller has no run of it any more.
        with tempfile.TemporaryDirectory(prefix="sojourn-") as place:
            folder = Folder.create(Path(place) / "runs", version=_core.version(self.engine), command=self.command)
            with folder:
                self._elsewhere(keys, workers, lambda _, encoded: folder.add_encoded(encoded), watcher)
                return [Run.fresh(key, folder.record(key).results()) for key in keys]

    def _stored(
        self, store: Folder, watcher: Watcher | None, workers: Workers | None, keys: Sequence[RunKey]
    ) -> list[Run]:
        plan = Plan.of(keys, store, pcap=self.pcap is not None)
        captures: dict[str, Path] = {}

        def keep(key: RunKey, _: _core.Run | None) -> None:
            if key.digest in captures:
                store.add_captures(key, captures[key.digest])

        if workers is None:
            stored = Stored(store, self.command)
            with ExitStack() as stack:
                if self.pcap is not None:
                    captures |= {key.digest: stack.enter_context(store.captures(key)) for key in plan.to_make}
                make(
                    plan.to_make,
                    keep=keep,
                    captures=list(captures.values()),
                    watcher=watcher,
                    store=stored,
                    **self._how,
                )
        else:
            self._elsewhere(plan.missing, workers, lambda _, encoded: store.add_encoded(encoded), watcher)
        return [Run.stored(store.record(key), key) for key in (*plan.there, *plan.missing)]

    def _elsewhere(
        self,
        keys: Sequence[RunKey],
        workers: Workers,
        keep: Callable[[RunKey, bytes], object],
        watcher: Watcher | None,
    ) -> None:
        with deferred() as interrupt:
            failures = dispatch(
                keys,
                workers,
                engine=self.engine,
                command=self.command,
                keep=keep,
                interrupt=interrupt,
                watcher=watcher,
            )
        say_failures(failures)

    @property
    def _how(self) -> dict[str, Any]:
        return {"engine": self.engine, "threads": self.threads, "snap_len": self.pcap or _core.SNAP_LEN}

    def run(self, watching: Watching | None = None) -> Results:
        """Make the runs that the folder lacks; return all: those that were there, then the others.

        Args:
            watching: as for :meth:`making`.

        Raises:
            Refused, UsageError, StoreError: as the other methods; nothing was run then.
            RunError: if a run failed; the others are kept.
            KeyboardInterrupt: on Ctrl-C; the runs that had finished are kept.
        """
        self.refuse()
        self.refuse_what_cannot_fit()
        with self.making(watching) as make:
            return Results(make(self.keys))
