"""Verdicts: each published value beside ours. The arithmetic is the metrics' own, in the extension module."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sojourn import _core
from sojourn.validate.noise import Noise
from sojourn.validate.ours import Cell
from sojourn.validate.published import Row, Sender

ENOUGH_SEEDS: Final = 10
"""Below this many seeds a range is too narrow to judge by."""

_NORMAL_95: Final = 1.96
_METRIC_NOISE: Final = 0.01
"""The published metric departs from what captures of the same runs show by about this much of its value."""


@dataclass(frozen=True, slots=True)
class Value:
    """The published delivery rate of one flow beside ours, Mbit/s."""

    sender: Sender
    published: float
    ours: float
    """The median over our seeds."""
    low: float
    """Our central 95 %."""
    high: float
    noise: float
    """By which the range is widened on both sides."""
    agrees: bool
    bias: float
    """Ours less published, as a fraction of the row's published total."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A published row beside our runs of it."""

    row: Row
    values: Sequence[Value]
    """One a flow."""
    seeds: int
    noise_known: bool
    """Whether the replicate noise of such a row is known; if not, only the metric's own is taken."""
    total_error: float
    """Our median total less the published one, as a fraction of it."""

    @property
    def agrees(self) -> bool:
        """Whether the row agrees: every value of it."""
        return all(value.agrees for value in self.values)


@dataclass(frozen=True, slots=True)
class Summary:
    """A group of published rows. Errors are fractions of the published total of each row."""

    by: str
    """``all``, ``queue`` or ``sender``."""
    group: str
    rows: int
    coverage: float
    """The share of the rows that agree."""
    median_bias: float
    """Of each row's first flow; in a sender's group, of its first flow."""
    median_abs_error: float
    p90_abs_error: float
    totals_within_1_percent: float
    """The share of the rows whose total is within 1 % of the published one."""


def judge(row: Row, cell: Cell, noise: Noise) -> Judged:
    """Hold a published row against our runs of it.

    Values are compared as fractions of the row's published total, the unit in which the replicate noise is known.

    Args:
        row: what was published.
        cell: our runs.
        noise: the published replicate noise.
    """
    runs = cell.rates_mbps(row.window_s)
    deviation = noise.share(row) if len(row.senders) > 1 else None
    total = row.total_mbps
    values = []
    for flow, published in enumerate(row.rates_mbps):
        fraction = published / total
        widening = _NORMAL_95 * (deviation or 0.0) + _METRIC_NOISE * fraction
        found = json.loads(_core.agreement(fraction, widening, [run[flow] / total for run in runs]))
        values.append(
            Value(
                sender=row.senders[flow],
                published=published,
                ours=found["ours"] * total,
                low=found["low"] * total,
                high=found["high"] * total,
                noise=widening * total,
                agrees=found["agrees"],
                bias=found["bias"],
            )
        )
    total_error = statistics.median(sum(run) for run in runs) / total - 1
    return Judged(row, values, len(runs), noise_known=deviation is not None, total_error=total_error)


def summarise(judged: Sequence[Judged]) -> list[Summary]:
    """Summarise all rows, those of each queue, and those in which each sender takes part."""
    groups: dict[tuple[str, str], list[Judged]] = {("all", "all"): list(judged)} if judged else {}
    for queue in sorted({j.row.queue for j in judged}):
        groups["queue", queue] = [j for j in judged if j.row.queue == queue]
    for cc in sorted({value.sender.cc for j in judged for value in j.values}):
        groups["sender", cc] = [_of_sender(j, cc) for j in judged if any(v.sender.cc == cc for v in j.values)]
    return [_summary(by, group, members) for (by, group), members in groups.items()]


def _of_sender(judged: Judged, cc: str) -> Judged:
    return replace(judged, values=[value for value in judged.values if value.sender.cc == cc])


def _summary(by: str, group: str, judged: Sequence[Judged]) -> Summary:
    [found] = json.loads(_core.summarise([(group, j.agrees, j.values[0].bias) for j in judged]))
    close = sum(abs(j.total_error) <= 0.01 for j in judged) / len(judged)  # noqa: PLR2004 - 1 %, as it is called
    return Summary(by=by, totals_within_1_percent=close, **found)
