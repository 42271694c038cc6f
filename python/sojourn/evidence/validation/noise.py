"""How far two published runs of the same cell differ.

Read from a table next to the published rows, one line a rate, queue and RTT: the share of the first sender in a
mixed cell and in the same cell with the order swapped (``diff`` is their difference), and by how much the share
departs from one half in a cell of two equal senders (``cc_share1-.5``, ``pp_share1-.5``: CUBIC's, Prague's).
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from sojourn.evidence.validation.rows import Row
from sojourn.evidence.validation.table import read

_EQUAL: Final[Mapping[str, str]] = {"cubic": "cc_share1-.5", "prague": "pp_share1-.5"}
_MIXED: Final = "diff"


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the published share, by rate, queue and kind of pair."""

    deviations: Mapping[tuple[float, str, str], float] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read the replicate noise from a CSV file.

        Raises:
            UsageError: if the file cannot be read or understood, naming line and column.
        """
        squares: dict[tuple[float, str, str], list[float]] = defaultdict(list)
        for entry in read(file, ("rate", "qdisc", _MIXED)):
            for column in (_MIXED, *_EQUAL.values()):
                if not entry.text(column):
                    continue
                # Two draws differ by sqrt(2) times the deviation of each; a share that should be one half
                # departs from it by the deviation itself.
                value = entry.number(column) / (math.sqrt(2) if column == _MIXED else 1.0)
                squares[entry.number("rate"), entry.text("qdisc"), column].append(value * value)
        return cls({key: math.sqrt(_mean(values)) for key, values in squares.items()})

    @classmethod
    def of_table(cls, published: Path) -> Self:
        """Read the noise from the folder of a table of published rows, or return none.

        ``s1_50mbit.csv`` goes with ``s1_replicate_noise.csv``: both names begin with the same word before the first
        underscore.
        """
        file = published.with_name(f"{published.stem.split('_')[0]}_replicate_noise.csv")
        return cls.read(file) if file.is_file() else cls()

    def share(self, row: Row) -> float | None:
        """Return the standard deviation of a published share of this kind of row; None if it is not known."""
        ccs = {sender.cc for sender in row.senders}
        column = _EQUAL.get(next(iter(ccs)), "") if len(ccs) == 1 else _MIXED
        return self.deviations.get((row.rate_mbit, row.queue, column))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
