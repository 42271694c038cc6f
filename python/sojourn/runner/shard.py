"""``--shard 3/40``: a campaign in parts, made anywhere, that ``sojourn merge`` puts together.

A run belongs to a part by its key and by nothing else: not by its place in a list, nor by what else is run. So every
machine that is given the same command knows its part, and the parts together are the whole, each run once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.store import RunKey
from sojourn.errors import UsageError


@dataclass(frozen=True, slots=True)
class Shard:
    """One of the parts of a campaign."""

    number: int
    """Which, from 1."""
    of: int
    """How many there are."""

    @classmethod
    def parse(cls, words: str) -> "Shard":
        """Read ``3/40``.

        >>> Shard.parse("3/40")
        Shard(number=3, of=40)

        Raises:
            UsageError: if it is something else, or there is no such part.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", words)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f'"{words}" is no part of a campaign', help="write --shard 3/40: the third of forty")
        return cls(int(found[1]), int(found[2]))

    def takes(self, key: RunKey) -> bool:
        """Whether a run belongs to this part."""
        return int(key.digest, 16) % self.of == self.number - 1

    def part(self, keys: Sequence[RunKey]) -> list[RunKey]:
        """Return the runs of this part, in their order."""
        return [key for key in keys if self.takes(key)]
