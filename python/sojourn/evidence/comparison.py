"""A comparison of two result sets: metrics and cells that differ beyond the ranges of their seeds.

A value differs where the range over one set's seeds has nothing in common with that of the other; a tolerance widens
what is common. Two sets of the same thing with n and m seeds differ so by chance in 2 n! m! / (n + m)! of all values:
in 1 of 126 with five seeds each, in 1 of 3 with two. With one seed each, whatever is not equal differs.

Where both sets have the same seeds, the differences seed by seed may be asked for instead (:mod:`.by_seed`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.cells import Cell, paired
from sojourn.core.queues import that_matter
from sojourn.core.run import Better, Run, harm
from sojourn.core.select import cells_of
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.evidence.by_seed import Difference
from sojourn.views.summary_table import USUAL, Asked


@dataclass(frozen=True, slots=True)
class Line:
    """A metric of a cell in both sets."""

    cell: str
    metric: str
    of: str
    """A flow; empty for what is of the queue or of all."""
    first: Spread
    second: Spread
    differs: bool
    difference: Difference | None = None
    """Seed by seed, where that was asked for; :attr:`differs` is by it then."""

    @property
    def change(self) -> float:
        """The second mean less the first, over the first."""
        return (self.second.mean - self.first.mean) / abs(self.first.mean) if self.first.mean else math.nan

    def harm(self, better: Better) -> float:
        """The harm that the second set's rivals do to it, by the means; the first set is without them."""
        return harm(self.first.mean, self.second.mean, better)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it."""

    lines: Sequence[Line]
    only_first: Sequence[str]
    """Cells that the second set does not have."""
    only_second: Sequence[str]

    @property
    def differing(self) -> list[Line]:
        """The lines that differ."""
        return [line for line in self.lines if line.differs]


def compare(
    first: Sequence[Run],
    second: Sequence[Run],
    asked: Sequence[Asked] = USUAL,
    tolerance: float = 0.0,
    *,
    by_seed: bool = False,
) -> Comparison:
    """Compare the cells that both sets have.

    Args:
        first: one set.
        second: the other.
        asked: the metrics.
        tolerance: by which part of the larger mean ranges may lie apart and still count as the same.
        by_seed: compare run with run of the same seed, and not range with range.

    Raises:
        UsageError: if no cell is in both.
    """
    one, two = cells_of(first), cells_of(second)
    common = paired(one, two)
    if not common:
        raise UsageError(
            "the two sets have no cell in common",
            help=f"the first has {_first(one)}, the second {_first(two)}",
        )
    lines = []
    for pair in common:
        matter = that_matter([run for cell in pair for run in cell.runs])
        wanted = [(a, of, expression) for a in asked for of, expression in a.of(pair[0], matter)]
        found = [_values(cell, [expression for _, _, expression in wanted]) for cell in pair]
        for place, (a, of, _) in enumerate(wanted):
            b, c = (Spread.of([own[place] for _, own in values]).scaled(a.scale) for values in found)
            before, after = ({seed: own[place] * a.scale for seed, own in values} for values in found)
            difference = Difference.of(before, after) if by_seed else None
            apart = difference.differs(_room(b, c, tolerance)) if difference else differs(b, c, tolerance)
            lines.append(Line(_name(pair[0]), a.title, of, b, c, apart, difference))
    met = {cell.key for pair in common for cell in pair}
    only = ([_name(cell) for cell in cells if cell.key not in met] for cells in (one, two))
    return Comparison(lines, *only)


def differs(first: Spread, second: Spread, tolerance: float = 0.0) -> bool:
    """Return whether two ranges have nothing in common; also where only one set has a value.

    >>> a, b = Spread.of([1.0, 2.0]), Spread.of([2.1, 3.0])
    >>> differs(a, b), differs(a, b, 0.1), differs(a, Spread.of([])), differs(Spread.of([]), Spread.of([]))
    (True, False, True, False)
    """
    if not first.seeds or not second.seeds:
        return bool(first.seeds) != bool(second.seeds)
    room = _room(first, second, tolerance)
    return first.high + room < second.low or second.high + room < first.low


def _room(first: Spread, second: Spread, tolerance: float) -> float:
    means = [abs(spread.mean) for spread in (first, second) if spread.seeds]
    return tolerance * max(means, default=0.0)


def _values(cell: Cell, expressions: Sequence[str]) -> list[tuple[int, list[float]]]:
    return [(run.seed, run.measure(expressions)) for run in cell.runs]


def _name(cell: Cell) -> str:
    """Return what a cell is called in both sets, whatever made it."""
    return f"{cell.experiment}[{cell.name}]" if cell.labels else cell.experiment


def _first(cells: Sequence[Cell]) -> str:
    return _name(cells[0]) if cells else "no run"
