"""CoDel: target, interval, the square-root law, what is remembered, and what is exempt."""

from collections.abc import Sequence

import numpy as np

from sojourn.evidence.marking import laws
from sojourn.evidence.marking.case import Case, Finding
from sojourn.evidence.marking.checks import near, none
from sojourn.evidence.marking.observed import Observed
from sojourn.evidence.marking.stimuli import FRAME, PACKET_S, Load, Stimulus, fill, filled, hold, ramp
from sojourn.evidence.marking.words import Parameters

_GROWTH = 0.02
"""Of the link: the delay grows by 20 ms a second."""
_SLACK = 0.004
"""What steps of a millisecond and frames of a millisecond leave open, s."""


def _rise(own: Parameters) -> Stimulus:
    return ramp(_GROWTH, own["target"] / _GROWTH + 30 * own["interval"])


def _rise_of_drops(own: Parameters) -> Stimulus:
    return ramp(0.2, own["target"] / 0.2 + 12 * own["interval"], "not-ect")


def _crossed(own: Parameters, one: Observed) -> float:
    return one.first((one.delay >= own["target"]).astype(float))


def _first(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    seen = [one.first(one.signals) - _crossed(own, one) for one in runs]
    interval = [own["interval"]] * len(runs)
    what = "from the delay's passing of the target to the first signal"
    return [near(what, seen, interval, _SLACK + 0.02 * own["interval"])]


def _law(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    """Compare the first gap and those from the fourth on: Linux's square root needs two steps to be exact."""
    found = []
    times = [one.times(one.signals) for one in runs]
    enough = min(map(len, times))
    if enough < 4:  # noqa: PLR2004
        return [Finding("signals in the time", "a dozen or more", f"{enough}", holds=False)]
    gaps = [own_times[1] - own_times[0] for own_times in times]
    found.append(near("the first gap", gaps, [laws.codel_gap(own, 1)] * len(runs), _SLACK + 0.02 * own["interval"]))
    for until in (8, 16, 40, 100):
        if enough > until:
            seen = [own_times[until] - own_times[3] for own_times in times]
            due = sum(laws.codel_gap(own, count) for count in range(4, until + 1))
            found.append(near(f"from signal 4 to {until + 1}", seen, [due] * len(runs), _SLACK + 0.05 * due))
    return found


def _drops(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    return [
        *_first(own, runs),
        none("marks of packets that are not ECN-capable", [float(one.marks.sum()) for one in runs]),
        near(
            "the first gap",
            [float(np.diff(one.times(one.drops)[:2]).sum()) or float("nan") for one in runs],
            [own["interval"]] * len(runs),
            _SLACK + 0.03 * own["interval"],
        ),
    ]


def _marks(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    del own
    return [
        none("losses of ECN-capable packets", [float(one.drops.sum()) for one in runs]),
        Finding("marks", "some", "", all(one.marks.sum() > 0 for one in runs)),
    ]


def _below(own: Parameters) -> Stimulus:
    return hold(max(0.6 * own["target"] - PACKET_S, 0), 12 * own["interval"] + 1)


def _judge_below(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    del own
    return [none("signals with a delay below the target", [float(one.signals.sum()) for one in runs])]


def _above(own: Parameters) -> float:
    """How long the delay is above the target at first."""
    return filled(4 * own["target"]) + 10 * own["interval"]


def _dip(own: Parameters, length: float) -> Stimulus:
    """Above the target for ten intervals, below for ``length``, above again."""
    back = _above(own) + length
    loads = [
        Load("load", 0.5, "ect0"),
        Load("first", 0.5, "ect0", 0.0, _above(own)),
        fill(4 * own["target"]),
        Load("again", 0.5, "ect0", back),
        fill(4 * own["target"], back, name="refill"),
    ]
    return Stimulus(loads, back + filled(4 * own["target"]) + 6 * own["interval"])


def _again(own: Parameters, one: Observed, length: float) -> tuple[float, float]:
    """Return the time from the second crossing to the first signal, and the gap behind that."""
    back = _above(own) + length
    crossed = one.first(((one.delay >= own["target"]) & (one.t > back)).astype(float), back)
    times = one.times(one.signals)
    times = times[times > back]
    if len(times) < 2:  # noqa: PLR2004
        return float("nan"), float("nan")
    return float(times[0] - crossed), float(times[1] - times[0])


def _short(own: Parameters) -> float:
    return 8 * own["target"] + 2 * own["interval"]


def _long(own: Parameters) -> float:
    return 20 * own["interval"]


def _short_dip(own: Parameters) -> Stimulus:
    return _dip(own, _short(own))


def _long_dip(own: Parameters) -> Stimulus:
    return _dip(own, _long(own))


def _judge_short(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    found = [_again(own, one, _short(own)) for one in runs]
    before = [int((one.times(one.signals) < _above(own)).sum()) for one in runs]
    due = [laws.codel_gap(own, count) for count in before]
    interval = [own["interval"]] * len(runs)
    return [
        near("to the first signal again", [first for first, _ in found], interval, 0.1 * own["interval"] + 0.02),
        near("the gap behind it: the count goes on", [gap for _, gap in found], due, _SLACK + 0.25 * max(due)),
    ]


def _judge_long(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    gaps = [_again(own, one, _long(own))[1] for one in runs]
    interval = [own["interval"]] * len(runs)
    what = "the gap behind the first signal: the count begins again"
    return [near(what, gaps, interval, _SLACK + 0.03 * own["interval"])]


def _judge_stops(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    late = []
    for one in runs:
        above = _above(own)
        under = one.first(((one.delay < own["target"]) & (one.t > above)).astype(float), above)
        late.append(float(one.signals[one.within(under + 2 * PACKET_S, above + _short(own))].sum()))
    return [none("signals once the delay is below the target", late)]


def _lone(own: Parameters) -> Stimulus:
    """A frame takes three targets on the link, and one waits at a time."""
    link = round(FRAME * 8 / (3 * own["target"]))
    frame = FRAME * 8 / link
    loads = [Load("load", 1.0, "ect0"), Load("one", 0.05, "ect0", 5 * frame, 10 * frame)]
    return Stimulus(loads, 60 * frame + 10 * own["interval"], link)


def _judge_lone(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    waited = all(np.mean(one.delay[one.t > one.t[-1] / 2] > own["target"]) > 0.5 for one in runs)  # noqa: PLR2004
    return [
        Finding("the delay is above the target", "yes", "yes" if waited else "no", waited),
        none("signals with one packet held", [float(one.signals.sum()) for one in runs]),
    ]


def _limit(own: Parameters) -> Stimulus:
    return ramp(1.0, 1.3 * own["limit"] * PACKET_S)


def _judge_limit(own: Parameters, runs: Sequence[Observed]) -> list[Finding]:
    longest = [float(one.bytes.max()) for one in runs]
    return [near("longest queue", longest, [own["limit"] * FRAME] * len(runs), 3 * FRAME, "B")]


def _marking(own: Parameters) -> bool:
    return "ecn" in own.flags


def _short_limit(own: Parameters) -> bool:
    return _marking(own) and own["limit"] <= 5000 and own.discipline == "codel"  # noqa: PLR2004 - seconds of stimulus


CASES = (
    Case("first", "the first signal comes an interval after the target is passed", "RFC 8289 §4.3", _rise, _first),
    Case("law", "gaps of interval/√count", "RFC 8289 §5.3", _rise, _law, _marking),
    Case("marks", "ECN-capable packets are marked, not dropped", "RFC 8289 §5.4", _rise, _marks, _marking),
    Case("drops", "the same law for packets that are dropped", "RFC 8289 §5.3", _rise_of_drops, _drops),
    Case("below", "nothing below the target", "RFC 8289 §4.3", _below, _judge_below),
    Case("stops", "signals end with the delay", "RFC 8289 §5.4", _short_dip, _judge_stops),
    Case("resumes", "the count goes on after a short time below", "RFC 8289 §5.4", _short_dip, _judge_short, _marking),
    Case("forgets", "and begins again after sixteen intervals", "RFC 8289 §5.4", _long_dip, _judge_long, _marking),
    Case("lone", "nothing while no more than a packet waits", "RFC 8289 §5.4", _lone, _judge_lone),
    Case("limit", "the hard limit in packets", "tc-codel(8)", _limit, _judge_limit, _short_limit),
)

ONE_FLOW = tuple(case for case in CASES if case.name in {"first", "law", "marks", "drops"})
"""The cases with one flow: a discipline with a queue a flow gives each flow a law of its own."""
