"""RED: the marking curve over the average queue, its limits, and how fast the average follows."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sojourn.evidence.marking import laws
from sojourn.evidence.marking.case import Case, Finding
from sojourn.evidence.marking.checks import counts, kept, near, none
from sojourn.evidence.marking.observed import Observed
from sojourn.evidence.marking.stimuli import FRAME, LINK, Load, Stimulus, ramp
from sojourn.evidence.marking.words import Parameters

_BYTES = LINK / 8
"""Bytes per second of the link."""
_BINS = 5
_HALF = 0.5
_IDLE = 200
"""Linux counts idle time in ticks of 64 ns where its table has microseconds: the average decays too slowly."""
_SOURCE = "Floyd and Jacobson 1993"


def _curve(own: Parameters) -> Stimulus:
    seconds = 14.0
    return ramp(1.2 * own["max"] / (_BYTES * seconds), seconds)


def _judge_curve(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    low, high = own["min"], own["max"]
    averages = [laws.red_average(own, seen) for seen in runs]
    rates = [laws.red_rate(own, average) for average in averages]
    edges = np.linspace(low, 0.97 * high, _BINS + 1)
    found: list[Finding | None] = [
        none(
            f"signals below Kmin = {low / 1e3:.1f} kB",
            [float(seen.signals[average < low - FRAME].sum()) for seen, average in zip(runs, averages, strict=True)],
        )
    ]
    for a, b in pairwise(edges):
        pairs = [
            (seen.signals, rate * seen.entered, (average >= a) & (average < b))
            for seen, average, rate in zip(runs, averages, rates, strict=True)
        ]
        found.append(counts(f"signals at an average of {a / 1e3:.1f} to {b / 1e3:.1f} kB", pairs))
    above = [
        (seen.signals, seen.entered, average > high + 2 * FRAME) for seen, average in zip(runs, averages, strict=True)
    ]
    found.append(counts(f"signals above Kmax = {high / 1e3:.1f} kB: every packet", above, model=0.02))
    return kept(*found)


def _marks(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    averages = [laws.red_average(own, seen) for seen in runs]
    hard = "harddrop" in own.flags
    found = [
        none(
            "losses of ECN-capable packets below Kmax",
            [float(seen.drops[avg < own["max"] - 2 * FRAME].sum()) for seen, avg in zip(runs, averages, strict=True)],
        )
    ]
    above = [(seen, avg > own["max"] + 2 * FRAME) for seen, avg in zip(runs, averages, strict=True)]
    if hard:
        found.append(none("marks above Kmax", [float(seen.marks[where].sum()) for seen, where in above]))
    else:
        found.append(none("losses above Kmax", [float(seen.drops[where].sum()) for seen, where in above]))
    return found


def _overload(own: Parameters) -> Stimulus:
    share = own["probability"]
    return ramp(share / (1 - share), 14.0, "not-ect")


def _judge_overload(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    share = own["probability"]
    p = share / (2 - share)
    expected = own["min"] + p / own["probability"] * (own["max"] - own["min"])
    seen = [float(one.bytes[one.within(6, 14)].mean()) for one in runs]
    width = 0.12 * (own["max"] - own["min"]) + FRAME
    return [
        near(f"mean length where {share:.1%} must be dropped", [float(np.mean(seen))], [expected], width, "B"),
        none("marks of packets that are not ECN-capable", [float(one.marks.sum()) for one in runs]),
    ]


def _step(own: Parameters) -> Stimulus:
    seconds = 0.2 + 2.5 * own["max"] / _BYTES + 40 * 2.0 ** own["ewma"] * FRAME / _BYTES
    return Stimulus([Load("load", 2.0, "ect0", 0.2)], seconds)


def _judge_step(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    seen, expected = [], []
    for one in runs:
        rate = laws.red_rate(own, laws.red_average(own, one))
        expected.append(one.first((rate >= 1).astype(float)))
        every = (one.signals >= one.entered - _HALF) & (one.entered > _HALF)
        run = np.convolve(every, np.ones(8), "valid") >= 8  # noqa: PLR2004 - eight in a row are no chance
        at = np.flatnonzero(run)
        seen.append(float(one.t[at[0]]) if len(at) else float("nan"))
    within = 0.006 + 0.06 * (np.nanmean(expected) - 0.2)
    return [near("from the step until every packet is signalled", seen, expected, float(within))]


def _idle(own: Parameters) -> Stimulus:
    fill = 2 * own["max"] / _BYTES + 3 * 2.0 ** own["ewma"] * FRAME / _BYTES
    rest = fill * 2 + _IDLE * 2.0 ** own["ewma"] * FRAME / _BYTES
    loads = [Load("load", 2.0, "ect0", 0.0, fill), Load("later", 0.5, "ect0", rest)]
    return Stimulus(loads, rest + 1.0, is_asked_when_empty=True)


def _judge_idle(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    del own
    return [
        Finding("signals while the queue is filled", "some", "", all(one.signals.sum() > 0 for one in runs)),
        none(
            f"signals after an idle time of {_IDLE} averages",
            [float(one.signals[one.t > one.t[-1] - 1.0].sum()) for one in runs],
        ),
    ]


def _limit(own: Parameters) -> Stimulus:
    return ramp(0.5, 1.4 * own["limit"] / (0.5 * _BYTES))


def _judge_limit(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    longest = [float(one.bytes.max()) for one in runs]
    at_first = [float(one.bytes[one.t >= one.first(one.drops)][:1].sum()) for one in runs]
    limit = [own["limit"]] * len(runs)
    return [
        near("longest queue", longest, limit, 3 * FRAME, "B"),
        near("length at the first loss", at_first, limit, 4 * FRAME, "B"),
    ]


def _marking(own: Parameters) -> bool:
    return "ecn" in own.flags


def _unlimited(own: Parameters) -> bool:
    return _marking(own) and "harddrop" not in own.flags


CASES = (
    Case("curve", "signals over the average queue: Kmin, Kmax, Pmax", _SOURCE, _curve, _judge_curve),
    Case("marks", "ECN-capable packets are marked, not dropped", "RFC 3168 §7", _curve, _marks, _marking),
    Case("overload", "the length at which a share must be dropped", _SOURCE, _overload, _judge_overload),
    Case("reaction", "how fast the average follows a step", _SOURCE, _step, _judge_step),
    Case("idle", "the average shrinks while the queue is empty", _SOURCE, _idle, _judge_idle),
    Case("limit", "the hard limit in bytes", "tc-red(8)", _limit, _judge_limit, _unlimited),
)
