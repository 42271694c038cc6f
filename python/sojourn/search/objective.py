"""The objective: a metric of the experiment language, as small or as large as it gets."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric and which way it is to go.

    >>> small = Objective("share(cubic)", minimise=True)
    >>> str(small), small.score(0.1), small.better(0.1, 0.2), small.better(float("nan"), 0.2)
    ('minimise share(cubic)', 0.1, True, False)
    """

    metric: str
    minimise: bool

    def score(self, value: float) -> float:
        """Return the value as one that is to be small; NaN is the worst."""
        if math.isnan(value):
            return math.inf
        return value if self.minimise else -value

    def better(self, value: float, other: float) -> bool:
        """Return whether the first is the better find."""
        return self.score(value) < self.score(other)

    def reaches(self, value: float, bound: float) -> bool:
        """Return whether a value is as extreme as the bound."""
        return not math.isnan(value) and self.score(value) <= self.score(bound)

    @property
    def relation(self) -> str:
        """How a value that is a find stands to its bound."""
        return "<=" if self.minimise else ">="

    def __str__(self) -> str:
        """Return it in words."""
        return f"{'minimise' if self.minimise else 'maximise'} {self.metric}"
