"""PIE: the step response of its controller, the burst allowance, the target, and where it stops to mark."""

from collections.abc import Sequence

import numpy as np

from sojourn.evidence.marking import laws
from sojourn.evidence.marking.case import Case, Finding
from sojourn.evidence.marking.checks import counts, kept, near, none
from sojourn.evidence.marking.observed import Observed
from sojourn.evidence.marking.stimuli import FRAME, PACKET_S, Load, Stimulus, fill, filled, hold, ramp
from sojourn.evidence.marking.words import Parameters

_MODEL = 0.15
"""Derandomisation starts again at each signal, and the delay is known by the millisecond."""

_BEGIN = 1.0
"""When loads begin, s. The first update comes half a second after the queue is set up (``pie_init`` in
net/sched/sch_pie.c), which a kernel does before the run's clock begins: by now each has had its first."""


def _step(own: Parameters) -> Stimulus:
    return hold(2.0 * own["target"], 4.5).later(_BEGIN)


def _judge_step(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    replays = [laws.pie_probability(own, one) for one in runs]
    due = [laws.pie_rate(own, one, p) * one.entered for one, p in zip(runs, replays, strict=True)]
    return kept(
        *(
            counts(
                f"signals from {a} to {b} s after the beginning",
                [(one.signals, rate, one.within(_BEGIN + a, _BEGIN + b)) for one, rate in zip(runs, due, strict=True)],
                model=_MODEL,
            )
            for a, b in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
        )
    )


def _burst(own: Parameters) -> Stimulus:
    del own
    return Stimulus([Load("load", 3.0, "ect0")], 1.0).later(_BEGIN)


def _judge_burst(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    early, late = [], []
    for one in runs:
        begin = one.first(one.entered)
        early.append(float(one.signals[one.t < begin + laws.MAX_BURST_S - 2 * PACKET_S].sum()))
        rate = laws.pie_rate(own, one, laws.pie_probability(own, one)) * one.entered
        late.append((one.signals, rate, one.t > begin))
    return kept(none("signals in the first 150 ms", early), counts("signals behind them", late, model=0.25))


def _overload(own: Parameters) -> Stimulus:
    del own
    return ramp(0.05, 30.0, "not-ect").later(_BEGIN)


def _judge_overload(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    seen = [float(one.delay[one.within(_BEGIN + 10, _BEGIN + 30)].mean()) for one in runs]
    return [
        near(
            "mean delay under 5 % too much load", [float(np.mean(seen))], [own["target"]], 0.12 * own["target"] + 0.001
        ),
        none("marks of packets that are not ECN-capable", [float(one.marks.sum()) for one in runs]),
    ]


def _heavy(own: Parameters) -> Stimulus:
    """Slow enough that an update of the probability is a small one: the phase of a kernel's timer is unknown."""
    del own
    return ramp(0.05, 8.0).later(_BEGIN)


def _judge_heavy(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    at_loss, last = [], []
    for one in runs:
        p = laws.pie_probability(own, one)
        at_loss.append(float(p[one.t >= one.first(one.drops)][:1].sum()))
        marks = one.times(one.marks)
        last += [float(p[one.t <= marks[-1]][-1])] if len(marks) else []
    return [
        Finding("marks below 10 %", "in every run", f"in {len(last)} of {len(runs)}", len(last) == len(runs)),
        near("probability at the first drop of an ECN-capable packet", at_loss, [0.125] * len(runs), 0.03, ""),
        Finding(
            "probability at the last mark",
            "at most 0.125",
            f"{max(last, default=0):.3f}",
            max(last, default=0) <= 0.125,  # noqa: PLR2004
        ),
    ]


def _low(own: Parameters) -> Stimulus:
    return hold(max(0.0, 0.4 * own["target"] - PACKET_S), 5.0)


def _judge_low(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    del own
    return [none("signals with a delay below half the target", [float(one.signals.sum()) for one in runs])]


def _again(own: Parameters) -> Stimulus:
    """Overload, a second of rest, and a delay above the target again: the rest of the probability shows."""
    return Stimulus(
        [
            Load("load", 1.12, "not-ect", 0.0, 4.0),
            Load("later", 1.0, "not-ect", 5.0),
            fill(1.6 * own["target"], 5.0, "not-ect", "refill"),
        ],
        5.0 + filled(1.6 * own["target"]) + 2.0,
    ).later(_BEGIN)


def _judge_again(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    pairs = []
    for one in runs:
        rate = laws.pie_rate(own, one, laws.pie_probability(own, one))
        pairs.append((one.signals, rate * one.entered, one.t > _BEGIN + 5.0))
    return kept(counts("signals after a second of rest", pairs, model=0.25))


def _tail(own: Parameters) -> Stimulus:
    return Stimulus([Load("load", 25.0, "ect0", 0.2, 0.23 + 1.2 * own["limit"] * PACKET_S / 25.0)], 0.5)


def _judge_tail(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    longest = [float(one.bytes.max()) for one in runs]
    return [near("longest queue", longest, [own["limit"] * FRAME] * len(runs), 3 * FRAME, "B")]


def _marking(own: Parameters) -> bool:
    return "ecn" in own.flags


CASES = (
    Case("step", "signals over time after a step, by the PI law", "RFC 8033 §4.2, §5.2", _step, _judge_step),
    Case("burst", "nothing in the first 150 ms", "RFC 8033 §4.1", _burst, _judge_burst),
    Case("target", "the delay that an overload settles at", "RFC 8033 §4.2", _overload, _judge_overload),
    Case("ecn", "marks up to 10 %, drops above", "RFC 8033 §5.1", _heavy, _judge_heavy, _marking),
    Case("low", "nothing below half the target", "RFC 8033 §4.1", _low, _judge_low),
    Case("rest", "the probability decays while the queue is empty", "RFC 8033 §4.2", _again, _judge_again),
    Case("limit", "the hard limit in packets", "tc-pie(8)", _tail, _judge_tail),
)
