"""The parameters that a queue's words state, with the defaults filled in as ``tc qdisc show`` prints them.

A run on the simulator prints the queue's whole configuration in the table ``tc``: the discipline's own parser has read
the words. Here this line is read back, in seconds, bytes and numbers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sojourn.errors import UsageError

_UNITS: Final[Mapping[str, float]] = {
    "": 1,
    "p": 1,
    "b": 1,
    "B": 1,
    "Kb": 1 << 10,
    "Mb": 1 << 20,
    "%": 0.01,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1,
}
_NUMBER: Final = re.compile(r"(-?\d+(?:\.\d+)?)([A-Za-z%]*)")


@dataclass(frozen=True, slots=True)
class Parameters:
    """A discipline and its configuration."""

    discipline: str
    numbers: Mapping[str, float]
    """By tc's words: times in seconds, sizes in bytes or packets, shares as fractions."""
    flags: frozenset[str]
    """Words without a value: ``ecn``."""

    def __getitem__(self, name: str) -> float:
        """Return a number.

        Raises:
            UsageError: if the words do not state it.
        """
        if name not in self.numbers:
            raise UsageError(f'{self.discipline} does not state "{name}"', help=f"it states {', '.join(self.numbers)}")
        return self.numbers[name]

    def get(self, name: str, default: float) -> float:
        """Return a number, or what stands for one that is not there."""
        return self.numbers.get(name, default)


def parameters(shown: str) -> Parameters:
    """Read ``tc qdisc show``: the last discipline, which is the one below a shaper.

    >>> own = parameters("qdisc red limit 400Kb min 30Kb max 90Kb ecn ewma 4 probability 0.1 Scell_log 14")
    >>> own.discipline, own["min"], own["probability"], sorted(own.flags)
    ('red', 30720.0, 0.1, ['ecn'])
    >>> parameters("qdisc codel limit 1000p target 5ms interval 100ms")["target"]
    0.005
    """
    words = [line for line in shown.splitlines() if line.startswith("qdisc ")][-1].split()[1:]
    discipline, rest = words[0], words[1:]
    numbers: dict[str, float] = {}
    flags: set[str] = set()
    name = ""
    for word in rest:
        found = _NUMBER.fullmatch(word)
        if found and found[2] in _UNITS and name:
            numbers[name] = float(found[1]) * _UNITS[found[2]]
            flags.discard(name)
            name = ""
        else:
            flags.add(word)
            name = word
    return Parameters(discipline, numbers, frozenset(flags))
