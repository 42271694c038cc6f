"""As many seeds as it takes: cells get more until a median is known as closely as asked, or a check's verdict stands.

The interval of the median assumes no distribution, and looking several times is paid for: both are
:mod:`sojourn.evidence.claims.interval`'s (order statistics; looks at n, 2n, 4n, 8n seeds, the error of one in ten
divided among them by halves, after Bonferroni). So whoever stops at any look has an interval that misses the median at
most that often. This is for each cell and each aim by itself.

A check holds in a run or does not. That it holds in the median run is the sign test: the interval of the median of its
noughts and ones is of ones alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.core.cells import Cell, group
from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import UsageError
from sojourn.evidence.claims.interval import FEWEST, Look, looks, median, median_interval

CHECKS: Final = "checks"
MOST: Final = 80
"""Seeds at the last look, unless more or fewer are allowed."""

_NORMAL: Final = 1.645
"""The quantile of the normal distribution for an error of one in ten, for estimates of how many more."""


@dataclass(frozen=True, slots=True)
class Aim:
    """How closely the median of a metric is to be known; of the checks, that their verdicts stand."""

    metric: str
    """Empty for the checks."""
    within: float = 0.0
    """Half of how wide the interval of the median may be, in base units."""

    @classmethod
    def parse(cls, text: str) -> "Aim":
        """Read ``METRIC=WITHIN``, or ``checks``.

        >>> Aim.parse("share(goodput, a)=0.01")
        Aim(metric='share(goodput, a)', within=0.01)

        Raises:
            UsageError: saying what it looks like.
        """
        if text.strip() == CHECKS:
            return cls("")
        metric, equals, number = text.rpartition("=")
        try:
            within = float(number)
        except ValueError:
            within = math.nan
        if not equals or not metric.strip() or not 0 < within < math.inf:
            raise UsageError(
                f'"{text}" is no precision',
                help="a metric and how closely its median is to be known, in base units: "
                f"'share(goodput, prague)=0.01'; or {CHECKS}",
            )
        return cls(metric.strip(), within)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of an aim in a cell."""

    cell: str
    of: str
    """The metric, or the check."""
    seeds: int
    median: float
    interval: tuple[float, float] | None
    reached: bool
    more: int | None
    """About so many more seeds would be needed; None if that cannot be said."""
    is_check: bool = False

    def __str__(self) -> str:
        """Return it in one line."""
        head = f"{self.cell}: {self.of}"
        if self.is_check:
            verdict = "holds" if self.median == 1 else "does not hold"
            known = f"{verdict} in the median run" if self.reached else "is not decided"
        elif self.interval is None:
            known = "has no value in every run"
        else:
            low, high = self.interval
            known = f"median {self.median:.4g}, interval {low:.4g} to {high:.4g}"
            known += "" if self.reached else ", not as narrow as asked"
        text = f"{head} {known}, {self.seeds} seeds"
        if self.reached:
            return text
        return f"{text}; " + (f"about {self.more} more would be needed" if self.more else "more may never tell")


def plan(first: int, most: int) -> list[Look]:
    """Return the looks: no more seeds than are allowed.

    >>> [look.seeds for look in plan(10, 45)]
    [10, 20, 40]

    Raises:
        UsageError: if not even the first is allowed, or is at too few seeds for an interval.
    """
    if first < FEWEST:
        raise UsageError(f"{first} seeds give no interval", help=f"--seeds {FEWEST} or more, with --precision")
    found = [look for look in looks(first) if look.seeds <= most]
    if not found:
        raise UsageError(f"the first look is at {first} seeds, and {most} are allowed", help=f"--max-seeds {first}")
    return found


def until(
    keys: Sequence[RunKey],
    aims: Sequence[Aim],
    planned: Sequence[Look],
    make: Callable[[Sequence[RunKey]], list[Run]],
    told: Callable[[str], None] = lambda _: None,
) -> tuple[list[Run], list[Standing]]:
    """Make runs until every aim is reached in every cell, or the looks are over.

    Args:
        keys: every cell with the seeds of the last look, 1 and up.
        aims: what is to be known.
        planned: when to look.
        make: makes runs, those that are there already included.
        told: hears what each look is about.

    Returns:
        The runs that were made, and how each aim stands in each cell at the look at which the cell was left.
    """
    open_cells: Mapping[str, list[RunKey]] = _by_cell(keys)
    runs: list[Run] = []
    standings: list[Standing] = []
    for number, look in enumerate(planned):
        wanted = [key for own in open_cells.values() for key in own if _seed(key) <= look.seeds]
        told(f"look {number + 1}: {len(open_cells)} cells with {look.seeds} seeds")
        made = make(wanted)
        ended: list[str] = []
        last = number + 1 == len(planned)
        for cell in group(made):
            found = [one for aim in aims for one in _standings(cell, aim, look)]
            if last or all(own.reached for own in found):
                standings += found
                runs += cell.runs
                ended += [_place(cell.runs[0].key)]
        open_cells = {place: own for place, own in open_cells.items() if place not in ended}
        if not open_cells:
            break
    return runs, standings


def _standings(cell: Cell, aim: Aim, look: Look) -> list[Standing]:
    name = f"{cell.experiment}[{cell.name}]" if cell.labels else cell.experiment
    if aim.metric:
        values = [run.metric(aim.metric) for run in cell.runs]
        return [_width(name, aim, values, look)]
    held: dict[str, list[float]] = {}
    for run in cell.runs:
        for check in run.checks():
            held.setdefault(check.name, []).append(1.0 if check.passed else 0.0)
    return [_verdict(name, check, values, look) for check, values in held.items()]


def _width(cell: str, aim: Aim, values: Sequence[float], look: Look) -> Standing:
    count = len(values)
    if any(math.isnan(value) for value in values):
        return Standing(cell, aim.metric, count, math.nan, None, reached=False, more=None)
    interval = median_interval(values, look.confidence)
    if interval is None:
        return Standing(cell, aim.metric, count, median(values), None, reached=False, more=look.seeds)
    width = interval[1] - interval[0]
    reached = width <= 2 * aim.within
    # The interval narrows with the root of the number.
    more = None if reached else math.ceil(count * ((width / (2 * aim.within)) ** 2 - 1))
    return Standing(cell, aim.metric, count, median(values), interval, reached=reached, more=more)


def _verdict(cell: str, check: str, held: Sequence[float], look: Look) -> Standing:
    count = len(held)
    interval = median_interval(held, look.confidence)
    reached = interval is not None and interval[0] == interval[1]
    off = abs(sum(held) / count - 0.5)
    more = None if reached or off == 0 else max(math.ceil((_NORMAL * 0.5 / off) ** 2) - count, 1)
    middle = median(held) if interval is None else interval[0]
    return Standing(cell, f"check {check}", count, middle, interval, reached=reached, more=more, is_check=True)


def _seed(key: RunKey) -> int:
    return int(key.scenario["seed"])


def _place(key: RunKey) -> str:
    return repr({name: value for name, value in key.scenario.items() if name != "seed"})


def _by_cell(keys: Sequence[RunKey]) -> dict[str, list[RunKey]]:
    found: dict[str, list[RunKey]] = {}
    for key in keys:
        found.setdefault(_place(key), []).append(key)
    return found
