"""Campaigns: experiments that are run together, judged and reported."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from sojourn import runner
from sojourn.core.run import Run
from sojourn.errors import UsageError
from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment, load
from sojourn.views.checks import Tally, tally


class Campaign(runner.Campaign):
    """Experiments that are run together, judged and reported: what ``sojourn run`` and ``sojourn report`` do.

    >>> import sojourn
    >>> experiment = sojourn.Experiment.dumbbell(
    ...     flows=["cubic", "reno"], duration="5s", check=[{"name": "fair", "that": "jain(goodput, cubic, reno) > 0.6"}]
    ... )
    >>> campaign = sojourn.Campaign.of(experiment)
    >>> len(campaign.plan().to_make)
    1
    >>> results = campaign.run()
    >>> [(check.name, check.held, check.runs) for check in campaign.judge(results)]
    [('fair', 1, 1)]
    """

    @classmethod
    def of(
        cls,
        *what: str | os.PathLike[str] | Experiment,
        folder: str | os.PathLike[str] | None = None,
        engine: str = "sim",
        seeds: int | None = None,
        settings: Sequence[str] = (),
        threads: int | None = None,
        on: str | None = None,
    ) -> Self:
        """Return a campaign of these experiments; it runs nothing yet. A run that two of them have is made once.

        Args:
            what: suites and experiments by name, files, or experiments that are read already.
            folder: the results folder that keeps the runs; they stay in memory if None.
            engine: what runs them.
            seeds: the number of seeds per cell, instead of the files'; not for experiments that are read already.
            settings: changes as ``path=value``; not of experiments that are read already.
            threads: runs at a time; one a core if None.
            on: other processes or machines that make the runs: ``processes:4``, ``dask://HOST:8786``.

        Raises:
            ExperimentError: if a file has a mistake, with the place.
            UsageError: if there is no experiment of that name, with the nearest.
        """
        experiments: list[Experiment] = []
        for one in what:
            if isinstance(one, Experiment):
                experiments.append(one)
                continue
            files = [named.file for named in library.resolve(os.fspath(one))]
            experiments += [load(file, settings=settings, seeds=seeds, engine=engine) for file in files]
        keys = {key.digest: key for one in experiments for key in one.run_keys}
        return cls(
            keys=list(keys.values()),
            engine=engine,
            folder=None if folder is None else Path(folder),
            threads=threads or runner.cores(),
            on=on,
            command=f"Campaign {', '.join(one.name for one in experiments)}",
        )

    @staticmethod
    def judge(made: Iterable[Run]) -> list[Tally]:
        """Return each check of the experiments, with the runs in which it holds and those in which it does not.

        Args:
            made: the runs, as :meth:`run` returns them.
        """
        return tally(made)

    def report(self) -> list[Path]:
        """Write the pages of the results folder; return the HTML files.

        Raises:
            UsageError: if the campaign has no results folder.
            StoreError: if the folder is damaged or cannot be written.
        """
        from sojourn.reporting.pages import pages  # noqa: PLC0415 - what draws takes longer to import than short runs

        if self.folder is None:
            raise UsageError("a report needs a results folder", help="Campaign.of(…, folder=DIR)")
        return [html for _, html in pages(self.folder, processes=self.threads)]
