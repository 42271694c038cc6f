"""Totals over several published tables, by one rule for what is in one.

A published run counts once: where two tables are of the same runs, one of them is in the totals. Rows are grouped by
their evidence. Where several flows share a link a row tests their shares, and its error is that of the first flow's
share. One flow alone tests how much of the link it uses. The phases of one run are several rows that are not
independent.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.evidence.validation.judge import CLOSE, Judged

FAMILIES: Final = {
    "fq_codel": r"fq_codel",
    "cnq_codel_af": r"cnq_codel_af",
    "dualpi2": r"dualpi2",
    "CoDel in one queue": r"(codel1q|fq_codel\(1q).*",
    "PIE": r"pie.*",
    "RED": r"red.*",
    "pfifo": r"pfifo.*",
}
"""Queues that are one discipline, by the names that the tables have for them."""

SHARED: Final = "several flows"
ALONE: Final = "one flow"
PHASES: Final = "phases of one run"


@dataclass(frozen=True, slots=True)
class Total:
    """A group of rows, judged by their rates."""

    kind: str
    """:data:`SHARED`, :data:`ALONE` or :data:`PHASES`; empty of all kinds together."""
    family: str
    """Of queues; empty of all."""
    rows: int
    agree: int
    share_errors: Sequence[float]
    """Absolute, of the first flow's share, ascending; none where one flow has the link to itself."""
    sums: Sequence[float]
    """Errors of the sums, relative to the published ones."""

    @property
    def close(self) -> int:
        """How many sums are within 1 %."""
        return sum(abs(error) <= CLOSE for error in self.sums)


def kind_of(judged: Judged) -> str:
    """Return what a row can show."""
    if judged.row.part:
        return PHASES
    return SHARED if len(judged.row.senders) > 1 else ALONE


def totals(judged: Sequence[Judged], counts: Callable[[Judged], bool] = lambda _: True) -> list[Total]:
    """Return the totals: rows of several flows by family and together, of one flow, of phases, and all.

    Args:
        judged: the rows of all tables, each published run once.
        counts: which of them are in this total.

    Raises:
        ValueError: if the queue of a row is of no family.
    """
    rows = [j for j in judged if counts(j)]
    families = [(j, _family(j)) for j in rows]
    shared = [(j, family) for j, family in families if kind_of(j) == SHARED]
    found = [_total(SHARED, name, [j for j, family in shared if family == name]) for name in FAMILIES]
    found += [_total(kind, "", [j for j in rows if kind_of(j) == kind]) for kind in (SHARED, ALONE, PHASES)]
    found.append(_total("", "", rows))
    return [total for total in found if total.rows]


def _total(kind: str, family: str, rows: Sequence[Judged]) -> Total:
    return Total(
        kind,
        family,
        len(rows),
        sum(j.rates_agree for j in rows),
        sorted(abs(error) for j in rows if (error := j.share_error) is not None),
        [j.sum_error for j in rows if not math.isnan(j.sum_error)],
    )


def _family(judged: Judged) -> str:
    for name, pattern in FAMILIES.items():
        if re.fullmatch(pattern, judged.row.queue):
            return name
    raise ValueError(f"of no family of queues: {judged.row.queue}")
