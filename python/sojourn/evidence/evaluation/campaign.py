"""The runs of an evaluation: which there are, and what they measured.

A suite's flows of the names in :data:`~sojourn.evidence.evaluation.subject.TESTED` get the subject's sender, or its
hops of those in :data:`~sojourn.evidence.evaluation.subject.TESTED_HOPS` its discipline; everything else is the suite's
own. Runs are measured suite by suite and let go, unless there is a folder to keep them in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import _core, runner
from sojourn.errors import ExperimentError, Refused
from sojourn.evidence.evaluation.document import Document
from sojourn.evidence.evaluation.subject import Subject
from sojourn.evidence.evaluation.values import Values, measure
from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment, load


@dataclass(frozen=True, slots=True)
class Campaign:
    """The suites of a document with a subject in them."""

    document: Document
    subject: Subject
    engine: str
    experiments: Mapping[str, Experiment]
    """By suite."""
    refused: Mapping[str, str]
    """Why the engine cannot run a suite with it, by suite."""

    @classmethod
    def plan(
        cls,
        document: Document,
        subject: Subject,
        *,
        engine: str = "sim",
        seeds: int | None = None,
        plugins: Sequence[str] = (),
    ) -> "Campaign":
        """Read the suites.

        Raises:
            ExperimentError: if there is no such sender or discipline, with the nearest.
        """
        subject.check(engine=engine, plugins=plugins)
        less = document.linux if _core.facts(engine).kernels else None
        if less is not None and seeds is None:
            seeds = 1
        experiments: dict[str, Experiment] = {}
        refused: dict[str, str] = {}
        for suite in document.suites:
            [named] = library.resolve_suite(suite)
            if less is not None and suite not in less.cells:
                refused[suite] = "left out on the Linux engine, because its runs take longer"
                continue
            settings = subject.settings(named.file.read_text(encoding="utf-8"))
            if less is not None:
                settings += less.settings
            try:
                experiment = load(named.file, settings=settings, seeds=seeds, engine=engine, plugins=plugins)
                if less is not None:
                    experiment = experiment.only(**less.cells[suite])
                runner.refuse(experiment.run_keys, engine=engine)
            except ExperimentError as why:
                refused[suite] = why.message
            except Refused as why:
                refused[suite] = str(why).splitlines()[1].strip()
            else:
                experiments[suite] = experiment
        return cls(document, subject, engine, experiments, refused)

    @property
    def runs(self) -> int:
        """How many there are."""
        return sum(len(experiment.run_keys) for experiment in self.experiments.values())

    @property
    def seconds(self) -> float:
        """Simulated seconds of all of them together."""
        return sum(experiment.seconds for experiment in self.experiments.values())

    def measure(
        self,
        watching: runner.Watching,
        *,
        threads: int | None = None,
        folder: Path | None = None,
    ) -> Values:
        """Make the runs that the folder lacks, and return the measured values.

        Args:
            watching: makes a watcher from the number of runs and their simulated seconds.
            threads: runs at a time.
            folder: a results folder that keeps the runs.
        """
        values = Values()
        campaign = runner.Campaign(
            keys=[key for experiment in self.experiments.values() for key in experiment.run_keys],
            engine=self.engine,
            folder=folder,
            threads=threads or runner.cores(),
            command=f"evaluate {self.subject.word}",
        )
        with campaign.making(watching) as make:
            for suite, experiment in self.experiments.items():
                measure(values, self.document, suite, make(experiment.run_keys))
        return values
