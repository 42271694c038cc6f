"""The same seeds in two sets of results: what differs, seed by seed.

Two runs of one seed draw the same starts, the same jitter and the same losses of the path, as far as their streams
have the same names. What both owe to these draws cancels in the difference, which then varies less from seed to seed
than either value. The median of the differences has an interval that assumes no distribution
(:mod:`.interval`).

How much it narrows depends on how far two runs stay alike; where they part at once, pairing gains nothing and costs
nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from sojourn.core.spread import Spread
from sojourn.evidence.interval import fewest, median_interval
from sojourn.evidence.judging import Bound, Ruling

CONFIDENCE: Final = 0.95
"""How often the interval holds the median: of twenty values without a difference, one seems to differ by chance."""

FEWEST: Final = fewest(CONFIDENCE)
"""The least number of common seeds that give an interval."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The second value less the first over the seeds that both sets have."""

    median: float
    """NaN where no seed is common, or none has the value."""
    low: float
    """Of the interval of the median; NaN where there are fewer than :data:`FEWEST` seeds."""
    high: float
    seeds: int

    @classmethod
    def of(cls, first: Mapping[int, float], second: Mapping[int, float]) -> "Difference":
        """Return it from values by seed; seeds where either set has no value are left out.

        >>> before = {1: 5.0, 2: 9.0, 3: 1.0, 4: 7.0, 5: 3.0, 6: 8.0, 7: 2.0}
        >>> Difference.of(before, {seed: value + 1 for seed, value in before.items() if seed < 7})
        Difference(median=1.0, low=1.0, high=1.0, seeds=6)
        """
        found = [second[seed] - first[seed] for seed in sorted(first.keys() & second.keys())]
        found = [value for value in found if not math.isnan(value)]
        if not found:
            return cls(math.nan, math.nan, math.nan, 0)
        low, high = median_interval(found, CONFIDENCE) or (math.nan, math.nan)
        return cls(median(found), low, high, len(found))

    def differs(self, room: float = 0.0) -> bool:
        """Return whether the whole interval is beyond this on one side of zero; no where there is no interval.

        >>> one = Difference(2.0, 1.0, 3.0, 8)
        >>> one.differs(), one.differs(1.5), Difference(2.0, -0.1, 3.0, 8).differs()
        (True, False, False)
        """
        return Bound.around(room).ruling(self.low, self.high) is Ruling.FAILS

    def spread(self) -> Spread:
        """Return it as a value with its range, the interval."""
        return Spread(self.median, self.low, self.high, self.seeds)
