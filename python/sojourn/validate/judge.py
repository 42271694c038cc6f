"""Verdicts: each published value beside ours. The arithmetic is the metrics' own, in the extension module."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
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
class Judged:
    """The published delivery rate of one flow of a row, beside ours. Rates are Mbit/s."""

    row: Row
    flow: int
    """Which of the row's flows, from 0."""
    seeds: int
    ours: float
    """The median over our seeds."""
    low: float
    """Our central 95 %."""
    high: float
    noise: float
    """By which the range is widened on both sides."""
    noise_known: bool
    """Whether the replicate noise of such a row is known; if not, only the metric's own is taken."""
    agrees: bool
    bias: float
    """Ours less published, as a fraction of the row's published total."""
    total_error: float
    """Our median total less the published one, as a fraction of it."""

    @property
    def sender(self) -> Sender:
        """What the flow sends by."""
        return self.row.senders[self.flow]

    @property
    def published(self) -> float:
        """The published value."""
        return self.row.rates_mbps[self.flow]


@dataclass(frozen=True, slots=True)
class Summary:
    """A group of judged values. Errors are fractions of the published total of their rows."""

    by: str
    """``all``, ``queue`` or ``sender``."""
    group: str
    rows: int
    """How many values: one a row and flow."""
    coverage: float
    """The share of them that agree."""
    median_bias: float
    median_abs_error: float
    p90_abs_error: float
    totals_within_1_percent: float
    """The share of them in whose row our total is within 1 % of the published one."""


def judge(row: Row, cell: Cell, noise: Noise) -> list[Judged]:
    """Hold each flow of a published row against our runs of it.

    Values are compared as fractions of the row's published total, the unit in which the replicate noise is known.

    Args:
        row: what was published.
        cell: our runs.
        noise: the published replicate noise.
    """
    runs = cell.rates_mbps(row.window_s)
    deviation = noise.share(row) if len(row.senders) > 1 else None
    total = row.total_mbps
    total_error = statistics.median(sum(run) for run in runs) / total - 1
    judged = []
    for flow, published in enumerate(row.rates_mbps):
        value = published / total
        widening = _NORMAL_95 * (deviation or 0.0) + _METRIC_NOISE * value
        found = json.loads(_core.agreement(value, widening, [run[flow] / total for run in runs]))
        judged.append(
            Judged(
                row=row,
                flow=flow,
                seeds=len(runs),
                ours=found["ours"] * total,
                low=found["low"] * total,
                high=found["high"] * total,
                noise=widening * total,
                noise_known=deviation is not None,
                agrees=found["agrees"],
                bias=found["bias"],
                total_error=total_error,
            )
        )
    return judged


def summarise(judged: Sequence[Judged]) -> list[Summary]:
    """Summarise all values, those of each queue, and those of each sender."""
    queues = sorted({j.row.queue for j in judged})
    senders = sorted({str(j.sender.cc) for j in judged})
    return [
        *_summaries("all", {"all": judged}),
        *_summaries("queue", {queue: [j for j in judged if j.row.queue == queue] for queue in queues}),
        *_summaries("sender", {cc: [j for j in judged if j.sender.cc == cc] for cc in senders}),
    ]


def _summaries(by: str, groups: dict[str, Sequence[Judged]]) -> list[Summary]:
    rows = [(group, j.agrees, j.bias) for group, members in groups.items() for j in members]
    return [
        Summary(by=by, totals_within_1_percent=_close_totals(groups[found["group"]]), **found)
        for found in json.loads(_core.summarise(rows))
    ]


def _close_totals(judged: Sequence[Judged]) -> float:
    return sum(abs(j.total_error) <= 0.01 for j in judged) / len(judged)  # noqa: PLR2004 - 1 %, as it is called
