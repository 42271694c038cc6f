"""One search: generations until the budget is gone."""

import math
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.search.archive import Archive
from sojourn.search.budget import Budget
from sojourn.search.objective import Objective
from sojourn.search.optimiser import Optimiser
from sojourn.search.trials import Subject, Trial, Trials

_IDLE: Final = 20
"""Generations without a point that is new, after which nothing is left to try."""

Report: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    objective: Objective
    subject: Subject
    searched: _core.Search
    start: Trial
    """The file as it is."""
    best: Trial
    archive: Archive
    trials: Trials
    generations: int
    seconds: float

    @property
    def nothing(self) -> bool:
        """Whether found no more extreme scenario than the file itself."""
        return not self.objective.better(self.best.value, self.start.value)


@dataclass(slots=True)
class Campaign:
    """A search that is to be made."""

    subject: Subject
    searched: _core.Search
    objective: Objective
    seed: int
    budget: Budget
    threads: int
    folder: Path | None = None
    report: Report = field(default=lambda _: None)

    @classmethod
    def plan(
        cls,
        subject: Subject,
        *,
        minimise: str | None,
        maximise: str | None,
        seed: int,
        budget: Budget,
        threads: int,
        folder: Path | None = None,
        report: Report = lambda _: None,
    ) -> "Campaign":
        """Read the settings that may vary, and the objective; metrics of the command replace the file's.

        Raises:
            ExperimentError: if the file says something that is not right, with the place.
            UsageError: if it says nothing of a search.
        """
        searched = _core.load_search(
            subject.text,
            subject.file,
            settings=list(subject.settings),
            plugins=list(subject.plugins),
            folder=subject.folder,
        )
        if searched is None:
            raise UsageError(
                f"{subject.file} names no settings to vary",
                help='[search]\nhop.bottleneck.rate = "5mbit..200mbit log"',
            )
        if minimise is not None and maximise is not None:
            raise UsageError("a search minimises a metric or maximises one, not both", help="remove one of them")
        if minimise is None and maximise is None:
            minimise, maximise = searched.minimise, searched.maximise
        metric = minimise if minimise is not None else maximise
        if metric is None:
            raise UsageError(
                "the search has no objective", help="--minimise 'share(cubic)', or minimise = … in [search]"
            )
        objective = Objective(metric, minimise=minimise is not None)
        return cls(subject, searched, objective, seed, budget, threads, folder, report)

    def make(self) -> Found:
        """Search.

        Raises:
            UsageError: if a metric is wrong, or the file as it is has no value of it.
            StoreError: as :class:`Trials`.
            KeyboardInterrupt: on Ctrl-C; the next search in the folder uses its trials.
        """
        metrics = [self.objective.metric, *(metric for metric, _ in self.searched.behaviour)]
        with closing(Trials(self.subject, metrics, self.threads, self.folder, self.seed)) as trials:
            return self._search(trials)

    def _search(self, trials: Trials) -> Found:
        begun = time.monotonic()
        behaviour = self.searched.behaviour
        archive = Archive(self.objective, [edges for _, edges in behaviour])
        start = trials.make(0, [()])[0]
        if start.failed:
            raise UsageError(f"{self.subject.file} cannot be run as it is: {start.failed}")
        best: Trial | None = None
        dimensions = [(size, choice) for _, size, choice in self.searched.dimensions]
        optimiser = Optimiser(dimensions, self.seed)
        generation = idle = 0
        while not self.budget.spent(trials.runs, time.monotonic() - begun) and idle < _IDLE:
            generation += 1
            before = trials.runs
            asked = optimiser.ask(archive)
            points = asked if self.budget.runs is None else asked[: self.budget.runs - trials.runs]
            made = trials.make(generation, [tuple(self.searched.settings(point)) for point in points])
            idle = 0 if trials.runs > before else idle + 1
            for trial, point in zip(made, points, strict=True):
                archive.add(trial, point, self._choices(trial))
                if best is None or self.objective.better(trial.value, best.value):
                    best = trial
            # A generation that the budget cut short is the last.
            if len(points) < len(asked):
                break
            optimiser.tell([self.objective.score(trial.value) for trial in made])
            if best is not None:
                self.report(f"{trials.runs} runs: {self.objective.metric} = {best.value:.4g}")
        if best is None or math.isnan(best.value):
            raise UsageError(
                f"no run has a value of {self.objective.metric}", help="try it on one run: sojourn metric, or another"
            )
        return Found(
            self.objective,
            self.subject,
            self.searched,
            start,
            best,
            archive,
            trials,
            generation,
            time.monotonic() - begun,
        )

    def _choices(self, trial: Trial) -> list[str]:
        dimensions = self.searched.dimensions
        return [own for own, (_, _, choice) in zip(trial.settings, dimensions, strict=True) if choice]
