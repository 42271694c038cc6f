"""A metric over the seeds of a cell: its mean, least and greatest value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A value over seeds; NaN where no run has it."""

    mean: float
    low: float
    high: float
    seeds: int
    """Runs that have the value."""

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of what is no NaN; NaN where nothing is left.

        >>> Spread.of([1.0, 2.0, float("nan")])
        Spread(mean=1.5, low=1.0, high=2.0, seeds=2)
        """
        there = [value for value in values if not math.isnan(value)]
        if not there:
            return cls(math.nan, math.nan, math.nan, 0)
        return cls(math.fsum(there) / len(there), min(there), max(there), len(there))

    def overlaps(self, other: "Spread") -> bool:
        """Whether the two have a value in common."""
        return self.low <= other.high and other.low <= self.high

    def columns(self, name: str) -> dict[str, object]:
        """Return it as columns of a table."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high, "seeds": self.seeds}

    def scaled(self, by: float) -> "Spread":
        """Return it in another unit."""
        return Spread(self.mean * by, self.low * by, self.high * by, self.seeds)
