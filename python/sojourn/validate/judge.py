"""The arithmetic of a verdict."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.validate.noise import Noise
from sojourn.validate.ours import Cell
from sojourn.validate.published import Row

ENOUGH_SEEDS: Final = 10
"""Below this many seeds a range is too narrow to judge by."""

_LOW, _HIGH = 0.025, 0.975
_NORMAL_95: Final = 1.96
_SUM_TOLERANCE: Final = 0.01
"""The published metric itself departs from captures by about this much (0.990 +- 0.012 of goodput)."""


@dataclass(frozen=True, slots=True)
class Range:
    """A published value beside ours."""

    published: float
    median: float
    """Of our seeds."""
    low: float
    """Our central 95 %, widened by the published noise."""
    high: float

    @property
    def agrees(self) -> bool:
        """Whether the published value lies in the range."""
        return self.low <= self.published <= self.high


@dataclass(frozen=True, slots=True)
class Judged:
    """A published row beside our runs of it."""

    row: Row
    seeds: int
    share: Range | None
    """Of the first flow in both; None for one flow."""
    total: Range
    """The flows together, Mbit/s."""
    ours_mbps: tuple[float, ...]
    """Median over the seeds of each flow's mean delivery rate."""
    noise_known: bool
    """Whether the published noise of such a row is known; if not, the range is not widened by it."""

    @property
    def agrees(self) -> bool:
        """Whether the row agrees: the share, where there are two flows, and the total."""
        return self.total.agrees and (self.share is None or self.share.agrees)

    @property
    def errors(self) -> tuple[float, ...]:
        """Ours minus published delivery rate of each flow, as a fraction of the row's published total."""
        pairs = zip(self.ours_mbps, self.row.rates_mbps, strict=True)
        return tuple((ours - published) / self.row.total_mbps for ours, published in pairs)


@dataclass(frozen=True, slots=True)
class Summary:
    """A group of judged rows."""

    by: str
    """``all``, ``queue`` or ``sender``."""
    group: str
    rows: int
    coverage: float
    """Share of the rows that agree."""
    share_coverage: float
    """Share of the rows whose division between the flows agrees."""
    total_coverage: float
    """Share of the rows whose total agrees."""
    median_bias: float
    """Median error of the flows' rates, as a fraction of the row's published total."""
    median_abs_error: float
    p90_abs_error: float


def quantile(values: Sequence[float], q: float) -> float:
    """Return a quantile by linear interpolation between order statistics.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.5)
    2.5
    """
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def judge(row: Row, cell: Cell, noise: Noise) -> Judged:
    """Hold a published row against our runs of it.

    Args:
        row: what was published.
        cell: our runs, its flows in the row's order.
        noise: the published replicate noise.
    """
    runs = cell.rates_mbps(row.window_s)
    deviation = noise.share(row)
    share = None
    if len(row.rates_mbps) > 1:
        widening = _NORMAL_95 * (deviation or 0.0)
        share = _range(row.rates_mbps[0] / row.total_mbps, [run[0] / sum(run) for run in runs], widening)
    total = _range(row.total_mbps, [sum(run) for run in runs], _SUM_TOLERANCE * row.total_mbps)
    ours = tuple(quantile(flow, 0.5) for flow in zip(*runs, strict=True))
    return Judged(row, len(runs), share, total, ours, noise_known=deviation is not None)


def summarise(judged: Sequence[Judged]) -> list[Summary]:
    """Summarise all rows, those of each queue, and those in which each sender takes part."""
    queues = sorted({j.row.queue for j in judged})
    senders = sorted({s.cc for j in judged for s in j.row.senders})
    everything = [(j, j.errors) for j in judged]
    summaries = [_summary("all", "all", everything)]
    summaries += [_summary("queue", queue, [m for m in everything if m[0].row.queue == queue]) for queue in queues]
    return summaries + [_summary("sender", cc, _of_sender(judged, cc)) for cc in senders]


def _of_sender(judged: Sequence[Judged], cc: str) -> list[tuple[Judged, tuple[float, ...]]]:
    """Return the rows in which a sender takes part, with the errors of its own flows."""
    own = [(j, tuple(e for e, s in zip(j.errors, j.row.senders, strict=True) if s.cc == cc)) for j in judged]
    return [(j, errors) for j, errors in own if errors]


def _summary(by: str, group: str, members: Sequence[tuple[Judged, tuple[float, ...]]]) -> Summary:
    rows = [j for j, _ in members]
    errors = [e for _, own in members for e in own]
    if not rows:
        nan = math.nan
        return Summary(by, group, 0, nan, nan, nan, nan, nan, nan)
    return Summary(
        by=by,
        group=group,
        rows=len(rows),
        coverage=_fraction(j.agrees for j in rows),
        share_coverage=_fraction(j.share is None or j.share.agrees for j in rows),
        total_coverage=_fraction(j.total.agrees for j in rows),
        median_bias=quantile(errors, 0.5),
        median_abs_error=quantile([abs(e) for e in errors], 0.5),
        p90_abs_error=quantile([abs(e) for e in errors], 0.9),
    )


def _range(published: float, ours: Sequence[float], widening: float) -> Range:
    return Range(published, quantile(ours, 0.5), quantile(ours, _LOW) - widening, quantile(ours, _HIGH) + widening)


def _fraction(verdicts: Iterable[bool]) -> float:
    listed = list(verdicts)
    return sum(listed) / len(listed)
