"""Trials: runs of the experiment's file with some settings and a seed, and their metrics.

Every trial is a line of ``trials.jsonl`` as soon as its generation is done, with all that is needed to make its run
again: ``sojourn run FILE --set …``. A search that goes on in the same folder finds them there and does not run them a
second time.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sojourn import _core, runner
from sojourn.core.store import RunKey
from sojourn.core.store.atomic import write_file
from sojourn.core.store.lock import lock
from sojourn.core.store.reading import MOST_TEXT, read, why
from sojourn.errors import RunError, SojournError, StoreError, UsageError
from sojourn.experiments import experiment
from sojourn.views.run import Run

TRIALS: Final = "trials.jsonl"


@dataclass(frozen=True, slots=True)
class Subject:
    """The experiment that is searched: its file, and the command's settings."""

    text: str
    file: str
    """What messages call it."""
    folder: str
    """From which its plugins are seen."""
    settings: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()

    def keys(self, settings: Sequence[str], seeds: Sequence[int], *, engine: str = "sim") -> Sequence[RunKey]:
        """Return the runs of this experiment with some settings, one a seed.

        Raises:
            ExperimentError: if it cannot be with these settings.
            UsageError: if it has several cells.
        """
        read = experiment.parse(
            self.text,
            self.file,
            settings=[*self.settings, *settings, f"experiment.seeds={list(seeds)}"],
            engine=engine,
            plugins=self.plugins,
            folder=self.folder,
        )
        if len(read.run_keys) != len(seeds):
            raise UsageError(
                f"{self.file} has {len(read.cells)} cells, and a search has one objective for one scenario",
                help="write the axis as a list of choices in [search]",
            )
        return read.run_keys


@dataclass(frozen=True, slots=True)
class Trial:
    """The settings of a trial, and its result."""

    number: int
    generation: int
    settings: tuple[str, ...]
    seed: int
    value: float
    """Of the objective, in base units; NaN if it has none."""
    behaviour: tuple[float, ...]
    failed: str = ""
    """Why there is no run: the words of the language, or of the engine."""

    def json(self) -> dict[str, Any]:
        """Return it as a line of the file; NaN is null."""
        numbers = [None if math.isnan(own) else own for own in (self.value, *self.behaviour)]
        return {
            "trial": self.number,
            "generation": self.generation,
            "seed": self.seed,
            "settings": list(self.settings),
            "value": numbers[0],
            "behaviour": numbers[1:],
            "failed": self.failed,
        }

    @classmethod
    def of(cls, line: Mapping[str, Any], *, behaviours: int) -> "Trial":
        """Return the trial of a line of the file.

        Raises:
            KeyError: if it lacks a key.
            TypeError: if a value is of another kind.
            ValueError: if it has another number of values.
        """
        numbers = [math.nan if value is None else float(value) for value in (line["value"], *line["behaviour"])]
        if len(numbers) != 1 + behaviours:
            raise ValueError(f"it has {len(numbers)} values, and the search has {1 + behaviours} metrics")
        settings, failed = line["settings"], line["failed"]
        if not (isinstance(failed, str) and all(isinstance(own, str) for own in settings)):
            raise TypeError("its settings are not text")
        place = int(line["trial"]), int(line["generation"])
        return cls(*place, tuple(settings), int(line["seed"]), numbers[0], tuple(numbers[1:]), failed)


@dataclass(slots=True)
class Trials:
    """All trials of a search, kept in a folder."""

    subject: Subject
    metrics: Sequence[str]
    """The objective, then the metrics of behaviour."""
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)
    folder: Path | None = None
    seed: int = 1
    made: list[Trial] = field(default_factory=list)
    runs: int = 0
    """Runs made, of this time and of times before in the same folder."""
    _seen: set[tuple[str, ...]] = field(default_factory=set)
    _known: dict[tuple[str, ...], tuple[float, tuple[float, ...], str]] = field(default_factory=dict)
    _written: int = 0
    _lock: int | None = None

    def __post_init__(self) -> None:
        """Read the trials that the folder has.

        Raises:
            StoreError: if they are of another search or damaged, or another command is writing there.
        """
        if self.folder is None:
            return
        file = self.folder / TRIALS
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot create {self.folder}: {error.strerror}") from error
        self._lock = lock(self.folder)
        lines = read(file, MOST_TEXT).splitlines(keepends=True) if os.path.lexists(file) else []
        if not lines or not lines[0].endswith(b"\n"):
            # A search that was killed, or had no room, before it had tried anything.
            write_file(file, _line(self._head()))
            return
        try:
            head = json.loads(lines[0])
        except ValueError as error:
            raise _damaged(file, 1, why(error)) from error
        if head != self._head():
            raise StoreError(
                f"{file} belongs to another search: the file, its settings, its metrics or this build differ",
                help="give another folder, or delete this one",
            )
        if not lines[-1].endswith(b"\n"):
            # The last line of a search that was killed while it wrote it.
            write_file(file, b"".join(lines[:-1]))
            del lines[-1]
        for number, line in enumerate(lines[1:], 2):
            try:
                own = Trial.of(json.loads(line), behaviours=len(self.metrics) - 1)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise _damaged(file, number, why(error)) from error
            self._known[own.settings] = (own.value, own.behaviour, own.failed)
            self._written += 1

    def close(self) -> None:
        """Let another search write into the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _head(self) -> dict[str, Any]:
        said = json.dumps([self.subject.text, self.subject.settings, self.subject.plugins])
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        return {
            "search": self.subject.file,
            "digest": digest,
            "metrics": list(self.metrics),
            "seed": self.seed,
            "version": _core.version("sim"),
        }

    def _append(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if self.folder is None:
            return
        file = self.folder / TRIALS
        try:
            with file.open("ab") as out:
                out.writelines(map(_line, lines))
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from error

    def make(self, generation: int, points: Sequence[tuple[str, ...]]) -> list[Trial]:
        """Run these settings, each once; return the trials in their order."""
        fresh = list(dict.fromkeys(point for point in points if point not in self._known))
        values = measure([(self.subject, point, (self.seed,)) for point in fresh], self.metrics, threads=self.threads)
        for point, own in zip(fresh, values, strict=True):
            found = own.values[0] if own.values else [math.nan] * len(self.metrics)
            self._known[point] = (found[0], tuple(found[1:]), own.failed)
        # A run that is there from before counts as one that is made, so that the same budget has the same end.
        self._seen.update(points)
        self.runs = len(self._seen)
        trials = [
            Trial(len(self.made) + index, generation, point, self.seed, *self._known[point])
            for index, point in enumerate(points)
        ]
        self.made += trials
        self._append([trial.json() for trial in trials if trial.number >= self._written])
        self._written = max(self._written, len(self.made))
        return trials


def _line(own: Mapping[str, Any]) -> bytes:
    return json.dumps(own).encode() + b"\n"


def _damaged(file: Path, number: int, reason: str) -> StoreError:
    return StoreError(
        f"{file}:{number} is damaged: {reason}",
        help="delete the lines from there on, and the search repeats their trials; or give another folder",
    )


@dataclass(frozen=True, slots=True)
class Values:
    """The metrics with some settings: a list a seed, or why there is none."""

    values: Sequence[Sequence[float]]
    failed: str = ""


def measure(
    asked: Sequence[tuple[Subject, Sequence[str], Sequence[int]]],
    metrics: Sequence[str],
    *,
    threads: int,
    engine: str = "sim",
) -> list[Values]:
    """Run each of these (experiment, settings, seeds) and measure; no run is kept.

    What cannot be run or measured says so, and stops no other.

    Raises:
        KeyboardInterrupt: on Ctrl-C.
    """
    keys: list[Sequence[RunKey]] = []
    failed: list[str] = []
    for subject, settings, seeds in asked:
        own: Sequence[RunKey] = ()
        why = ""
        try:
            own = subject.keys(settings, seeds, engine=engine)
            runner.refuse(own, engine=engine)
        except SojournError as error:
            own, why = (), error.message
        keys.append(own)
        failed.append(why)
    found: dict[str, list[float]] = {}
    unmeasured: dict[str, str] = {}

    def keep(key: RunKey, results: _core.Run | None) -> None:
        if results is None:
            return
        try:
            found[key.digest] = Run.fresh(key, results).measure(metrics)
        except UsageError as error:
            unmeasured[key.digest] = error.message

    every = list({key.digest: key for own in keys for key in own}.values())
    trouble = ""
    if every:
        try:
            runner.make(every, engine=engine, threads=threads, keep=keep)
        except RunError as error:
            trouble = error.message
    values = []
    for own, why in zip(keys, failed, strict=True):
        lacking = [key.digest for key in own if key.digest not in found]
        if why or lacking:
            values.append(Values((), failed=why or unmeasured.get(lacking[0], trouble)))
        else:
            values.append(Values([found[key.digest] for key in own]))
    return values
