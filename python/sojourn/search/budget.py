"""How long a search may take: ``500 runs``, ``10min``."""

import re
from dataclasses import dataclass
from typing import Final

from sojourn.errors import UsageError

_UNITS: Final = {"s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_SAID: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class Budget:
    """A number of runs or a time that the search itself may use; shrinking and confirming do not count.

    >>> Budget.parse("500 runs"), Budget.parse("10min")
    (Budget(runs=500, seconds=None), Budget(runs=None, seconds=600.0))
    """

    runs: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Read a budget.

        Raises:
            UsageError: saying what one looks like.
        """
        match = _SAID.fullmatch(text.strip().lower())
        if match and match[2] in ("", "run", "runs") and float(match[1]).is_integer() and float(match[1]) >= 1:
            return cls(runs=int(float(match[1])))
        if match and match[2] in _UNITS and float(match[1]) > 0:
            return cls(seconds=float(match[1]) * _UNITS[match[2]])
        raise UsageError(f'"{text}" is not a budget', help="a number of runs, 500 runs, or a time: 90s, 10min, 2h")

    def spent(self, runs: int, seconds: float) -> bool:
        """Return whether nothing is left."""
        return (self.runs is not None and runs >= self.runs) or (self.seconds is not None and seconds >= self.seconds)

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.runs} runs" if self.runs is not None else f"{self.seconds:g}s"
