"""Runs grouped: those of one cell differ by their seeds, the cells of one scenario by the labels of its axes."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sojourn import describe
from sojourn.run import Run


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one combination of an experiment's axes, by seed."""

    experiment: str
    labels: tuple[tuple[str, str], ...]
    """(axis, label) in the order of the file."""
    engine: str
    runs: Sequence[Run]

    @property
    def title(self) -> str:
        """Its labels, or ``single cell`` where the experiment has no axes."""
        return ", ".join(label for _, label in self.labels) or "single cell"

    @property
    def scenario(self) -> describe.Scenario:
        """The scenario of its first run."""
        return self.runs[0].scenario


def group(runs: Iterable[Run]) -> list[Cell]:
    """Return the cells of these runs, experiments and cells in the order in which they first occur."""
    found: dict[tuple[str, tuple[tuple[str, str], ...], str], list[Run]] = defaultdict(list)
    for run in runs:
        labels = tuple((axis, label) for axis, label in run.scenario["cell"])
        found[run.scenario["experiment"], labels, run.engine].append(run)
    return [
        Cell(experiment, labels, engine, sorted(own, key=lambda r: r.seed))
        for (experiment, labels, engine), own in found.items()
    ]
