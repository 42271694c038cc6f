"""Runs grouped: those of one cell differ by their seeds, the cells of one scenario by the labels of its axes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.core import describe
from sojourn.core.run import Run


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one combination of an experiment's axes, by seed."""

    experiment: str
    labels: tuple[tuple[str, str], ...]
    """(axis, label) in the order of the file."""
    engine: str
    runs: Sequence[Run]

    title: str
    """The labels of the axes that vary among the cells that it was grouped with; all of them if none does."""

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
    varied: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for experiment, labels, _ in found:
        for axis, label in labels:
            varied[experiment][axis].add(label)
    cells = []
    for (experiment, labels, engine), own in found.items():
        telling = [label for axis, label in labels if len(varied[experiment][axis]) > 1]
        title = ", ".join(telling or [label for _, label in labels]) or "single cell"
        cells.append(Cell(experiment, labels, engine, sorted(own, key=lambda r: r.seed), title))
    return cells


def ordered(labels: Iterable[str]) -> list[str]:
    """Return each label once, as people count; what stands for nothing comes first.

    >>> ordered(["prague", "80ms", "none", "160ms"])
    ['none', '80ms', '160ms', 'prague']
    """
    return sorted(dict.fromkeys(labels), key=lambda label: (label not in _NOTHING, natural(label)))


_NOTHING: Final = frozenset({"none", "alone", "off", "no", "without", "clean"})


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key that puts ``s2`` before ``s10``.

    >>> sorted(["80ms", "160ms", "20ms"], key=natural)
    ['20ms', '80ms', '160ms']
    """
    return [(int(part or 0), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]
