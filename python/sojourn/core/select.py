"""Runs chosen by their names or by the labels of their axes, and the axes that they have."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from sojourn.core import cells as grouping
from sojourn.core.cells import Cell, natural
from sojourn.core.run import Run
from sojourn.core.scenario import Scenario
from sojourn.errors import UsageError

PATTERN: Final = (
    "axis=label pairs with commas (queue=dualpi2,rtt=20*), or a part of a run's name (s1[fq_codel,20ms]); "
    "* and ? stand for anything, a bar for either (rtt=20ms|80ms)"
)
"""What chooses runs, for help texts."""


def labelled(labels: Mapping[str, str], own: Mapping[str, object]) -> dict[str, object]:
    """Return a row of a table: labels by axis, then the row's own columns.

    An axis may be called as a column is; its column is then named after it.

    >>> labelled({"queue": "pie", "low": "20ms"}, {"low": 1.5})
    {'queue': 'pie', 'axis.low': '20ms', 'low': 1.5}
    """
    return {**{f"axis.{axis}" if axis in own else axis: label for axis, label in labels.items()}, **own}


def axes_of(cell: Cell) -> dict[str, str]:
    """Return a cell's labels by axis: scenario, engine, and those of the file."""
    return {"scenario": cell.experiment, "engine": cell.engine, **dict(cell.labels)}


class Named(Protocol):
    """What can be chosen: a run, or one that is yet to be made."""

    @property
    def scenario(self) -> Scenario:
        """The whole scenario."""
        ...

    @property
    def engine(self) -> str:
        """The engine's name."""
        ...

    @property
    def label(self) -> str:
        """Experiment, cell and seed."""
        ...


OfNamed = TypeVar("OfNamed", bound=Named)


def terms_of(pattern: str) -> dict[str, str]:
    """Return a pattern's ``axis=label`` pairs; none if it is a part of a name."""
    terms = re.split(r",(?=[^,=\[\]]+=)", pattern)
    if not all("=" in term for term in terms):
        return {}
    return {axis.strip(): label.strip() for axis, _, label in (term.partition("=") for term in terms)}


def select(runs: Iterable[OfNamed], pattern: str) -> list[OfNamed]:
    """Return the runs that a pattern (:data:`PATTERN`) chooses; all if it is empty.

    Raises:
        UsageError: if there are none, with the nearest name.
    """
    runs = list(runs)
    if not pattern or not runs:
        return runs
    terms = terms_of(pattern)
    if terms:
        apart = {id(run): dict(labels) for labels, own in grouping.distinguished(runs) for run in own}
        every = {id(run): _labels(run) | apart[id(run)] for run in runs}
        for axis, wanted in terms.items():
            labels = {id(run): every[id(run)].get(axis) for run in runs}
            if not any(label is not None for label in labels.values()):
                raise UsageError.unknown("axis", axis, list(dict.fromkeys(a for run in runs for a in every[id(run)])))
            glob = _glob(wanted)
            left = [run for run in runs if glob.fullmatch(labels[id(run)] or "")]
            if not left:
                known = list(dict.fromkeys(label for label in labels.values() if label is not None))
                raise UsageError.unknown(f"{axis} among these runs", wanted, known)
            runs = left
        return runs
    glob = _glob(f"*{pattern}*")
    left = [run for run in runs if glob.fullmatch(run.label)]
    if not left:
        names = list(dict.fromkeys(run.label.split("#")[0] for run in runs))
        raise UsageError.unknown("cell", pattern, names[:_MOST_NAMED] if len(names) > _MOST_NAMED else names)
    return left


_MOST_NAMED: Final = 200


def varied(cells: Sequence[Cell]) -> dict[str, list[str]]:
    """Return the axes that differ among these cells with their labels, both in the order of the files."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for axis, label in axes_of(cell).items():
            found.setdefault(axis, {})[label] = None
    return {axis: list(labels) for axis, labels in found.items() if len(labels) > 1}


def cells_of(runs: Iterable[Run]) -> list[Cell]:
    """Return the cells of these runs in the natural order of their labels."""
    return sorted(
        grouping.group(runs),
        key=lambda cell: (natural(cell.experiment), [natural(label) for _, label in cell.labels], cell.engine),
    )


def _labels(run: Named) -> dict[str, str]:
    own = run.scenario
    return {"scenario": own.experiment, "engine": run.engine, "seed": str(own.seed), **dict(own.labels)}


def _glob(pattern: str) -> re.Pattern[str]:
    """Return what ``*``, ``?`` and ``|`` stand for; brackets, which names have, stand for themselves."""
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".").replace(r"\|", "|"))
