"""What all judgements share: bounds, what an interval says of one, the worst of several verdicts, what decides.

Claims, parity and comparisons hold an interval against a bound. Claims, conformance and evaluation join the verdicts of
seeds, cells and parts to one on the whole, in an order of their own.
"""

import enum
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

Verdict_co = TypeVar("Verdict_co", bound=enum.StrEnum, covariant=True)


class Judged(Protocol[Verdict_co]):
    """What has a verdict: a step, a cell, a figure, a part of a claim."""

    @property
    def verdict(self) -> Verdict_co:
        """What became of it."""
        ...


Verdict = TypeVar("Verdict", bound=enum.StrEnum)
Part = TypeVar("Part", bound=Judged[enum.StrEnum])


def worst(parts: Iterable[Judged[Verdict]], order: Sequence[Verdict], none: Verdict) -> Verdict:
    """Return the verdict on a whole: of ``order``, the worst first, the first that a part has; ``none`` of no part."""
    return min((part.verdict for part in parts), key=order.index, default=none)


def telling(parts: Iterable[Part], order: Sequence[enum.StrEnum], room: Callable[[Part], float]) -> Part | None:
    """Return the part that decides: of those with the worst verdict the one with the least room to its limit.

    Args:
        parts: the judged parts.
        order: the verdicts, the worst first.
        room: how far a part is within its limit; NaN where it has no value, which decides last.
    """

    def rank(part: Part) -> tuple[int, float]:
        left = room(part)
        return order.index(part.verdict), math.inf if math.isnan(left) else left

    return min(parts, key=rank, default=None)


class Ruling(enum.Enum):
    """What an interval says of a bound."""

    HOLDS = enum.auto()
    """The whole interval is within."""
    FAILS = enum.auto()
    """The whole interval is outside, on one side."""
    OPEN = enum.auto()
    """It spans a limit, or is none."""


_UNITS: Final = {
    "": (1.0, ""),
    "%": (0.01, "%"),
    "us": (1e-6, "us"),
    "ms": (1e-3, "ms"),
    "s": (1.0, "s"),
    "kbit": (1e3, "kbit/s"),
    "mbit": (1e6, "Mbit/s"),
}
_QUANTITY: Final = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([a-z%]*)")


@dataclass(frozen=True, slots=True)
class Bound:
    """What a value must be: an interval in base units, written as ``>= 10``, ``< 4ms`` or ``14ms to 17ms``.

    >>> bound = Bound.parse("< 4ms")
    >>> bound.holds(0.0039), bound.holds(0.004)
    (True, False)
    >>> Bound.parse("14ms to 17ms").holds(0.014)
    True
    """

    text: str
    low: float
    """The least that holds; -inf if there is no least."""
    high: float
    """The greatest that holds; inf if there is no greatest."""
    strict: bool
    """Whether the limit itself does not hold."""
    scale: float
    """What a base unit is divided by for people: 0.001 for ms."""
    unit: str
    """The unit that people are shown."""

    @classmethod
    def parse(cls, text: str) -> "Bound":
        """Read a bound.

        Raises:
            ValueError: saying what a bound looks like.
        """
        one = re.fullmatch(r"(>=|>|<=|<)\s*(.+)", text.strip())
        if one:
            value, scale, unit = _quantity(one[2], text)
            above = one[1].startswith(">")
            low, high = (value, math.inf) if above else (-math.inf, value)
            return cls(text, low, high, len(one[1]) == 1, scale, unit)
        two = re.fullmatch(r"(.+?)\s+to\s+(.+)", text.strip())
        if not two:
            raise _wrong(text)
        (low, scale, unit), (high, _, other) = (_quantity(part, text) for part in (two[1], two[2]))
        if unit != other or low >= high:
            raise _wrong(text)
        return cls(text, low, high, False, scale, unit)  # noqa: FBT003 - by its place as above

    @classmethod
    def around(cls, margin: float) -> "Bound":
        """Return the bound of differences of at most this either way."""
        return cls(f"±{margin:g}", -margin, margin, strict=False, scale=1.0, unit="")

    def ruling(self, low: float, high: float) -> Ruling:
        """Return what an interval says; one of NaN says nothing.

        >>> [Bound.parse("< 4ms").ruling(*own).name for own in ((0.001, 0.003), (0.004, 0.005), (0.003, 0.005))]
        ['HOLDS', 'FAILS', 'OPEN']
        """
        if self.holds(low) and self.holds(high):
            return Ruling.HOLDS
        return Ruling.FAILS if self.excludes(low, high) else Ruling.OPEN

    def holds(self, value: float) -> bool:
        """Return whether a value is within; where there is no limit on a side, "never" (inf) is."""
        if self.strict:
            return (self.low < value or self.low == -math.inf) and (value < self.high or self.high == math.inf)
        return self.low <= value <= self.high

    def excludes(self, low: float, high: float) -> bool:
        """Return whether a whole interval is outside, on one side."""
        if self.strict:
            return -math.inf < self.low >= high or low >= self.high < math.inf
        return high < self.low or low > self.high

    def margin(self, value: float) -> float:
        """Return how far within a value is, in units of the limit that is nearer; negative outside."""
        size = max(abs(limit) for limit in (self.low, self.high) if math.isfinite(limit)) or self.scale
        return min(value - self.low, self.high - value) / size

    def show(self, value: float) -> str:
        """Return a value in the bound's unit, as people read it."""
        if math.isnan(value):
            return "none"
        if math.isinf(value):
            return "never" if value > 0 else "-inf"
        return f"{value / self.scale:.4g}"


def _quantity(text: str, whole: str) -> tuple[float, float, str]:
    match = _QUANTITY.fullmatch(text.strip())
    if not match or match[2] not in _UNITS:
        raise _wrong(whole)
    scale, unit = _UNITS[match[2]]
    return float(match[1]) * scale, scale, unit


def _wrong(text: str) -> ValueError:
    units = ", ".join(unit for unit in _UNITS if unit)
    return ValueError(f'"{text}" is not a bound: ">= 10", "< 4ms" or "14ms to 17ms", with one of the units {units}')
