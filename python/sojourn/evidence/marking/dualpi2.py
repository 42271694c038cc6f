"""DualPI2: the squared law of C, the coupling of L, its step, overload, and the share that C keeps."""

from collections.abc import Sequence

import numpy as np

from sojourn.evidence.marking import laws
from sojourn.evidence.marking.case import Case, Finding
from sojourn.evidence.marking.checks import counts, kept, near, none
from sojourn.evidence.marking.observed import Observed
from sojourn.evidence.marking.stimuli import FRAME, LINK, PACKET_S, Load, Stimulus, fill, filled, hold, ramp
from sojourn.evidence.marking.words import Parameters

_FEW = 8
_SPANS = ((0, 1), (1, 2), (2, 3), (3, 5), (5, 7))


def _classic(own: Parameters) -> Stimulus:
    """Slow enough that overload comes after the end."""
    return hold(1.5 * own["target"], 7.0)


def _judge_classic(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    replays = [laws.pi2_probability(own, one) for one in runs]
    return kept(
        *(
            counts(
                f"signals in C from {a} to {b} s",
                [(one.signals, p**2 * one.left, one.within(a, b)) for one, p in zip(runs, replays, strict=True)],
            )
            for a, b in _SPANS
        ),
    )


def _coupled(own: Parameters) -> Stimulus:
    """A queue in C, and a little load in L."""
    return Stimulus([Load("load", 0.98, "ect0"), fill(1.3 * own["target"]), Load("l", 0.06, "ect1")], 20.0)


def _judge_coupled(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    k = own["coupling_factor"]
    found: list[Finding | None] = []
    for a, b in ((1, 4), (4, 8), (8, 12), (12, 20)):
        pairs = []
        for one in runs:
            p = laws.pi2_probability(own, one)
            pairs.append((one.flow("l").marked, np.minimum(1.0, k * p) * one.flow("l").offered, one.within(a, b)))
        found.append(counts(f"marks in L from {a} to {b} s: k p' of its packets", pairs))
    return kept(*found)


def _held(own: Parameters) -> Stimulus:
    """C held at 0.6 of the p' of overload by the losses of what is not ECN-capable, and a little load in L.

    Without losses p' grows into overload within seconds, and C has too few marks until then.
    """
    p = 0.6 / own["coupling_factor"]
    lost, little = 0.6, 0.06
    marked = 1 + lost * p * p - lost - little
    return Stimulus([Load("load", marked, "ect0"), Load("held", lost, "not-ect"), Load("l", little, "ect1")], 20.0)


def _judge_held(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    def share(one: Observed, flow: str) -> float:
        where = one.t > 2.0  # noqa: PLR2004 - p' stands
        return float(one.flow(flow).marked[where].sum() / max(1.0, one.flow(flow).offered[where].sum()))

    k = own["coupling_factor"]
    in_c = float(np.mean([share(one, "load") for one in runs]))
    ratio = float(np.mean([share(one, "l") for one in runs])) / np.sqrt(in_c) if in_c > 0 else float("nan")
    return [near("share of marks in L over the root of C's: k", [ratio], [k], 0.12 * k, "")]


def _ramp(own: Parameters) -> Stimulus:
    del own
    return ramp(0.004, 1.5, "ect1")


def _judge_ramp(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    step = own["step_thresh"]
    below, above = [], []
    for one in runs:
        marked, offered = one.marks, one.left
        below.append(float(marked[(one.delay < step - PACKET_S) & (one.t > 0.05)].sum()))  # noqa: PLR2004
        above.append((marked, offered, one.delay > step + 1.5 * PACKET_S))
    return kept(
        none("marks in L with a delay below the step", below),
        counts("marks in L with a delay above the step: every packet", above, model=0.02),
        none("losses in L", [float(one.drops.sum()) for one in runs]),
    )


def _overload(own: Parameters) -> Stimulus:
    del own
    return ramp(0.1, 20.0, "not-ect")


def _judge_overload(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    seen = [float(one.delay[one.within(6, 20)].mean()) for one in runs]
    return [
        near(
            "mean delay in C under 10 % too much load",
            [float(np.mean(seen))],
            [own["target"]],
            0.08 * own["target"] + 0.001,
        ),
        none("marks of packets that are not ECN-capable", [float(one.marks.sum()) for one in runs]),
    ]


def _heavy(own: Parameters) -> Stimulus:
    del own
    return ramp(0.8, 8.0)


def _judge_heavy(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    limit = 1 / own["coupling_factor"]
    replays = [laws.pi2_probability(own, one) for one in runs]
    at_loss = [float(p[one.t >= one.first(one.drops)][:1].sum()) for one, p in zip(runs, replays, strict=True)]
    marked = [float(one.marks.sum()) for one in runs]
    return [
        Finding("marks before overload", "some", f"{min(marked):.0f}", min(marked) > 0),
        near("p' at the first drop of an ECN-capable packet: 1/k", at_loss, [limit] * len(runs), 0.08, ""),
    ]


def _heavy_l(own: Parameters) -> Stimulus:
    del own
    return ramp(0.3, 8.0, "ect1")


def _judge_heavy_l(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    seen = [float(one.delay[one.within(4, 8)].mean()) for one in runs]
    lost = [float(one.drops.sum()) for one in runs]
    return [
        Finding("losses in L in overload", "some", f"{min(lost):.0f}", min(lost) > 0),
        near(
            "mean delay in L under 30 % too much load",
            [float(np.mean(seen))],
            [own["target"]],
            0.15 * own["target"] + 0.001,
        ),
    ]


def _shared(own: Parameters) -> Stimulus:
    del own
    return Stimulus([Load("c", 0.8, "not-ect"), Load("l", 2.0, "ect1")], 0.3)


def _judge_shared(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    due = own["classic_protection"]
    seen = []
    for one in runs:
        where = one.within(0.06, 0.16)
        c, of_l = one.flow("c").arrived[where].sum(), one.flow("l").arrived[where].sum()
        seen.append(float(c / (c + of_l)))
    span = f"{due:.0%} ± {0.25 * due:.1%}"
    mean = float(np.mean(seen))
    return [Finding("C's share of the link next to a saturating L", span, f"{mean:.1%}", abs(mean - due) <= 0.25 * due)]


def _priority(own: Parameters) -> Stimulus:
    """A standing C queue, far below the target, and a burst of L in each second."""
    length = 0.8 * own["target"]
    loads = [Load("load", 0.96, "not-ect"), fill(length, ecn="not-ect"), Load("l", 0.04, "ect1")]
    # On a faster link, so that a frame on the line does not take as long as the step.
    return Stimulus(loads, filled(length) + 2.0, 5 * LINK)


def _judge_priority(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    """C's delay stays below the target, so p' is about 0: a mark in L can only come from a wait above the step."""
    waited = all(float(one.delay[one.t > one.t[-1] - 2].mean()) > 2 * own["step_thresh"] for one in runs)
    pairs = []
    for one in runs:
        p = laws.pi2_probability(own, one)
        due = own["coupling_factor"] * p * one.flow("l").offered
        pairs.append((one.flow("l").marked, due, one.t > one.t[-1] - 2))
    seen = sum(float(own_marks[where].sum()) for own_marks, _, where in pairs)
    expected = sum(float(due[where].sum()) for _, due, where in pairs)
    return [
        Finding("C's packets wait longer than the step", "yes", "yes" if waited else "no", waited),
        Finding(
            "marks in L beyond the coupling",
            f"at most {_FEW}",
            f"{max(0.0, seen - expected):.0f}",
            seen - expected <= _FEW,
        ),
    ]


def _ce(own: Parameters) -> Stimulus:
    """C under a load that needs half the p' of overload, and a little of packets that carry CE already.

    At 0.7 of it p' swings into overload at times, when L may lose packets.
    """
    p = 0.5 / own["coupling_factor"]
    return Stimulus([Load("load", 1 / (1 - p * p) - 0.05, "not-ect"), Load("ce", 0.05, "ce", 2.0)], 14.0)


def _judge_ce(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    """In L nothing is lost before overload; in C packets are dropped at p'^2."""
    del own
    in_c = sum(float(one.flow().lost[one.t > 2].sum()) for one in runs)  # noqa: PLR2004
    return [
        Finding("losses in C meanwhile", "a hundred or more", f"{in_c:.0f}", in_c >= 100),  # noqa: PLR2004
        none("losses of packets with CE: they are L's", [float(one.flow("ce").lost.sum()) for one in runs]),
    ]


def _limit(own: Parameters) -> Stimulus:
    return Stimulus([Load("load", 40.0, "ect0", 0.1, 0.13 + 1.2 * own["limit"] * PACKET_S / 40.0)], 0.4)


def _judge_limit(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    longest = [float(one.bytes.max()) for one in runs]
    return [near("longest queue", longest, [own["limit"] * FRAME] * len(runs), 4 * FRAME, "B")]


def _short(own: Parameters) -> bool:
    return own["limit"] <= 2000  # noqa: PLR2004 - seconds of stimulus


def _drops(own: Parameters) -> bool:
    return "drop_on_overload" in own.flags


def _timed(own: Parameters) -> bool:
    return "step_thresh" in own.numbers


CASES = (
    Case("classic", "C is signalled at p'^2, p' by the PI law", "RFC 9332 §2.4", _classic, _judge_classic),
    Case("coupling", "L is marked at k p'", "RFC 9332 §2.4", _coupled, _judge_coupled),
    Case("root", "L's share of marks is k times the root of C's", "RFC 9332 §2.4", _held, _judge_held),
    Case("step", "L's own threshold", "RFC 9332 §2.5.1, Linux", _ramp, _judge_ramp, _timed),
    Case("target", "the delay that an overload of C settles at", "RFC 9332 §2.4", _overload, _judge_overload),
    Case("overload", "C drops ECN-capable packets from k p' = 1 on", "RFC 9332 §2.5.1", _heavy, _judge_heavy, _drops),
    Case("overload-l", "so are L's, at p'^2", "RFC 9332 §4.2.3", _heavy_l, _judge_heavy_l, _drops),
    Case("share", "what C keeps next to a saturating L", "RFC 9332 §4.2.2", _shared, _judge_shared),
    Case("priority", "L does not wait behind C", "RFC 9332 §2.4", _priority, _judge_priority, _timed),
    Case("ce", "packets with CE go to L", "RFC 9331 §5.3", _ce, _judge_ce),
    Case("limit", "the hard limit in packets", "tc-dualpi2(8)", _limit, _judge_limit, _short),
)
