"""As many seeds as it takes: cells get more until a median is known as closely as asked, or a check's verdict stands.

The interval of the median assumes no distribution, and looking several times is paid for: both are
:mod:`sojourn.evidence.interval`'s (order statistics; looks at n, 2n, 4n, 8n seeds, the error of one in ten
divided among them by halves, after Bonferroni). So whoever stops at any look has an interval that misses the median at
most that often. This is for each cell and each aim by itself.

The verdict of a published claim depends on several cells, which are then open together (``Joint``).

A check holds in a run or does not. That it holds in the median run is the sign test: the interval of the median of its
noughts and ones is of ones alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from sojourn.core.cells import Cell, group
from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import UsageError
from sojourn.evidence.interval import FEWEST, Look, looks, median_interval

CHECKS: Final = "checks"
CLAIMS: Final = "claims"
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
        """Read ``METRIC=WITHIN``, or ``checks``; ``claims`` is none of a cell's.

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
                f"'share(goodput, prague)=0.01'; or {CHECKS}, or {CLAIMS}",
            )
        return cls(metric.strip(), within)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of anything that was aimed at; its text is one line."""

    cell: str
    """Of what: a cell, or a claim."""
    of: str
    """The metric, the check, or what the claim says."""
    seeds: int
    """How many of each cell were looked at."""
    reached: bool
    """Whether it is known as closely as asked."""
    more: int | None
    """About how many more seeds would be needed; None if unknown."""
    is_check: bool = False

    def text(self, known: str) -> str:
        """Return what is known with how many seeds, and what would be needed."""
        text = f"{known}, {self.seeds} seeds"
        if self.reached:
            return text
        return f"{text}; " + (f"about {self.more} more would be needed" if self.more else "more may never tell")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Known):
    """What is known of an aim in a cell."""

    median: float
    interval: tuple[float, float] | None

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
        return self.text(f"{head} {known}")


Joint = Callable[[Sequence[Run]], tuple[Sequence[Known], Callable[[Run], bool]]]
"""Looks at all cells together: how things stand, and whether the cell of a run needs more seeds for them."""


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
    make: Callable[[Sequence[RunKey]], Sequence[Run]],
    report: Callable[[str], None] = lambda _: None,
    joint: Joint | None = None,
) -> tuple[Sequence[Run], list[Known]]:
    """Make runs until every aim is reached in every cell, or the looks are over.

    Args:
        keys: every cell with the seeds of the last look, 1 and up.
        aims: the aims to reach.
        planned: when to look.
        make: makes runs, those that are there already included.
        report: hears what each look is about.
        joint: a further judge that keeps cells open.

    Returns:
        The runs that were made, and the state of each aim in each cell at its last look.
    """
    open_cells: Mapping[str, list[RunKey]] = _by_cell(keys)
    cells: dict[str, Cell] = {}
    standings: dict[str, list[Standing]] = {}
    together: Sequence[Known] = []
    for number, look in enumerate(planned):
        wanted = [key for own in open_cells.values() for key in own if _seed(key) <= look.seeds]
        report(f"look {number + 1}: {len(open_cells)} cells with {look.seeds} seeds")
        cells |= {_place(cell.runs[0].key): cell for cell in group(make(wanted))}
        wants: Callable[[Run], bool] | None = None
        if joint is not None:
            together, wants = joint([run for cell in cells.values() for run in cell.runs])
        still_open = {}
        for place, keys_of in open_cells.items():
            standings[place] = [one for aim in aims for one in _standings(cells[place], aim, look)]
            if not all(own.reached for own in standings[place]) or (wants and wants(cells[place].runs[0])):
                still_open[place] = keys_of
        open_cells = still_open
        if not open_cells:
            break
    runs = [run for cell in cells.values() for run in cell.runs]
    return runs, [*(one for own in standings.values() for one in own), *together]


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
    none = any(math.isnan(value) for value in values)
    interval = None if none else median_interval(values, look.confidence)
    middle = math.nan if none else median(values)
    reached, more = False, None if none else look.seeds
    if interval is not None:
        width = interval[1] - interval[0]
        reached = width <= 2 * aim.within
        # The interval narrows with the root of the number.
        more = None if reached else math.ceil(count * ((width / (2 * aim.within)) ** 2 - 1))
    return Standing(cell=cell, of=aim.metric, seeds=count, median=middle, interval=interval, reached=reached, more=more)


def _verdict(cell: str, check: str, held: Sequence[float], look: Look) -> Standing:
    count = len(held)
    interval = median_interval(held, look.confidence)
    reached = interval is not None and interval[0] == interval[1]
    off = abs(sum(held) / count - 0.5)
    more = None if reached or off == 0 else max(math.ceil((_NORMAL * 0.5 / off) ** 2) - count, 1)
    middle = median(held) if interval is None else interval[0]
    return Standing(
        cell=cell,
        of=f"check {check}",
        seeds=count,
        median=middle,
        interval=interval,
        reached=reached,
        more=more,
        is_check=True,
    )


def _seed(key: RunKey) -> int:
    return key.scenario.seed


def _place(key: RunKey) -> str:
    return repr({name: value for name, value in key.scenario.items() if name != "seed"})


def _by_cell(keys: Sequence[RunKey]) -> dict[str, list[RunKey]]:
    found: dict[str, list[RunKey]] = {}
    for key in keys:
        found.setdefault(_place(key), []).append(key)
    return found
