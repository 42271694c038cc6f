"""The published tables that are understood, one file each. To add one, add a file and a line here.

A data set has ``NAME``, ``NEEDED`` (the columns by which its tables are known) and ``rows``, which makes the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError
from sojourn.evidence.validation.datasets import (
    disproof,
    ect1,
    ect1_pcap,
    ect1_phases,
    iccrg,
    rtt_independence,
    two_senders,
)
from sojourn.evidence.validation.rows import Row
from sojourn.evidence.validation.table import Entry, header, read


@dataclass(frozen=True, slots=True)
class Dataset:
    """A kind of published table."""

    needed: tuple[str, ...]
    """The columns by which it is known."""
    rows: Callable[[Sequence[Entry]], list[Row]]
    """Makes the rows of a whole table."""


DATASETS: Final = (
    Dataset(ect1.NEEDED, ect1.rows),
    Dataset(ect1_pcap.NEEDED, ect1_pcap.rows),
    Dataset(ect1_phases.NEEDED, ect1_phases.rows),
    Dataset(iccrg.NEEDED, iccrg.rows),
    Dataset(disproof.NEEDED, disproof.rows),
    Dataset(rtt_independence.NEEDED, rtt_independence.rows),
    Dataset(two_senders.NEEDED, two_senders.rows),
)
"""A file is read as the first of these with all its columns present, else as the last, with an error about the rest."""


def read_published(file: Path) -> list[Row]:
    """Read a table of published rows.

    Raises:
        UsageError: if the file cannot be read or understood, naming line and column.
    """
    columns = header(file)
    for dataset in DATASETS[:-1]:
        if set(dataset.needed) <= set(columns):
            return dataset.rows(read(file, dataset.needed))
    last = DATASETS[-1]
    return last.rows(read(file, last.needed))


__all__ = ["DATASETS", "Dataset", "UsageError", "read_published"]
