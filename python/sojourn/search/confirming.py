"""A find made again with seeds that the search never saw, and on other engines.

A search takes the most extreme of thousands of values, so the value that it reports is more extreme than the find is.
So the account also has the median over fresh seeds, with its distribution-free interval
(:mod:`sojourn.evidence.interval`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from sojourn.evidence.interval import median_interval
from sojourn.search.objective import Objective
from sojourn.search.trials import Subject, measure

FRESH: Final = 15
_BEYOND: Final = 1000
"""How far from the search's seed the fresh ones begin: beyond those of the shrinking."""

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What fresh seeds say."""

    engine: str
    seeds: Sequence[int]
    values: Sequence[float]
    bound: float
    shows: Sequence[bool]
    """Of each seed, whether the objective reaches the bound."""
    refused: str = ""
    """Why this engine has no values."""

    @property
    def stands(self) -> int:
        """How many seeds show it."""
        return sum(self.shows)

    @property
    def median(self) -> float:
        """Their median."""
        return median(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the median; None where there are too few."""
        return median_interval(self.values, CONFIDENCE)

    @property
    def is_confirmed(self) -> bool:
        """Whether most of the fresh seeds show the find."""
        return 2 * self.stands > len(self.values)

    @property
    def showing(self) -> list[int]:
        """The fresh seeds that show it."""
        return [seed for seed, shows in zip(self.seeds, self.shows, strict=False) if shows]

    def __str__(self) -> str:
        """Return it in one line."""
        if self.refused:
            return f"{self.engine}: not run: {self.refused}"
        seeds = f"{len(self.values)} fresh seed{'s'[: len(self.values) != 1]}"
        text = f"{self.engine}: median {self.median:.4g} of {seeds}"
        if self.interval is not None:
            text += f", {CONFIDENCE:.0%} interval {self.interval[0]:.4g} to {self.interval[1]:.4g}"
        of = len(self.values)
        if self.is_confirmed:
            return f"{text}: confirmed, {self.stands} of {of} reach {self.bound:.4g}"
        return f"{text}: not confirmed, {of - self.stands} of {of} do not reach {self.bound:.4g}"


def confirm(
    subject: Subject,
    objective: Objective,
    text: str,
    *,
    bound: float,
    seed: int,
    threads: int,
    engine: str = "sim",
    count: int = FRESH,
) -> Confirmation:
    """Make a scenario again.

    Args:
        subject: the experiment that was searched.
        objective: the metric of the search, and its direction.
        text: the scenario's own file.
        bound: the value that a find reaches.
        seed: the search's.
        threads: runs at a time.
        engine: what runs it.
        count: how many fresh seeds.
    """
    seeds = range(seed + _BEYOND, seed + _BEYOND + count)
    own = replace(subject, text=text, settings=())
    (result,) = measure([(own, (), seeds)], [objective.metric], threads=threads, engine=engine)
    if result.failed:
        return Confirmation(engine, seeds, (), bound, (), refused=result.failed)
    values = [one[0] for one in result.values]
    return Confirmation(engine, seeds, values, bound, [objective.reaches(value, bound) for value in values])
