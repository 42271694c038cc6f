"""A quick run in words: sentences that follow from its numbers, and none that do not.

Each rule of :data:`RULES` looks at the results of one queue and returns a sentence, or nothing. Those of
:data:`COMPARISONS` look at several queues. Thresholds are next to the rules that use them.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from sojourn.core.spread import Spread
from sojourn.quick.facts import FRAME_BITS, Facts

Rule = Callable[[Facts], str]
"""A sentence about one queue, or a line for each; empty if there is nothing to say."""

Comparison = Callable[[Sequence[Facts]], str]
"""A sentence about several; empty if there is nothing to say."""


def answer(facts: Facts) -> list[str]:
    """Return the sentences about one queue."""
    return [line for rule in RULES for line in rule(facts).split("\n") if line]


def comparison(several: Sequence[Facts]) -> list[str]:
    """Return the sentences about several queues; none about one alone."""
    return [said for rule in COMPARISONS if (said := rule(several))] if len(several) > 1 else []


# --- one queue -------------------------------------------------------------------------------------------------------

_NAMED: Final = 4
"""Answers name more flows than this by their congestion controls."""


def shares(facts: Facts) -> str:
    """Return a sentence on each flow's rate, or on each congestion control's where flows are many."""
    if not facts.flows:
        return ""
    if len(facts.flows) <= _NAMED:
        parts = [(flow.name, "gets", flow.rate) for flow in facts.flows]
    else:
        parts = [(f"{own.count} {own.sender} together", "get", own.rate) for own in facts.senders]
    lines = []
    for index, (name, verb, rate) in enumerate(parts):
        gets = f"{name} {verb}" if index == 0 else name
        if facts.rate is None:
            lines.append(f"{gets} {_rate(rate)}")
        else:
            part = _percent(rate.scaled(1 / facts.rate))
            whole = " of the bottleneck" if index == 0 else ""
            lines.append(f"{gets} {part}{whole} ({_rate(rate)})")
    return f"{', '.join(lines)}."


def back(facts: Facts) -> str:
    """Return a sentence on the rate of each flow of the other direction."""
    lines = []
    for index, flow in enumerate(facts.back):
        gets = f"{flow.name} gets" if index == 0 else flow.name
        if facts.back_rate is None:
            lines.append(f"{gets} {_rate(flow.rate)}")
        else:
            whole = " of the other direction" if index == 0 else ""
            lines.append(f"{gets} {_percent(flow.rate.scaled(1 / facts.back_rate))}{whole} ({_rate(flow.rate)})")
    return f"{', '.join(lines)}." if lines else ""


_EVEN: Final = 1.1
"""Below this ratio of the largest rate to the least, flows count as even."""
_UNEVEN: Final = 1.5
"""From this ratio on it is worth saying."""


def fairness(facts: Facts) -> str:
    """Say how evenly several flows share."""
    if len(facts.flows) < 2:  # noqa: PLR2004 - of one there is nothing to say
        return ""
    ranked = sorted(facts.flows, key=lambda flow: flow.rate.mean)
    least, most = ranked[0], ranked[-1]
    jain = f"Jain's index {facts.jain.mean:.2f}"
    if least.rate.mean <= 0:
        return f"{least.name} gets nothing at all ({jain})."
    ratio = most.rate.mean / least.rate.mean
    if ratio < _EVEN:
        return f"They share evenly ({jain}, where 1 is even)."
    if ratio < _UNEVEN:
        return f"{most.name} gets a little more than {least.name} ({jain}, where 1 is even)."
    return f"{most.name} gets {_times(ratio)} times as much as {least.name} ({jain}, where 1 is even)."


def hidden(facts: Facts) -> str:
    """Return remarks: a flow that a buffer of its host limits, a window of one turn of an oscillation."""
    lines = []
    for own in facts.remarks:
        some = f" in {own.runs} of {facts.seeds} runs" if own.runs < facts.seeds else ""
        lines.append(f"Note{some}: {own.remark}.")
    return "\n".join(lines)


_UNUSED: Final = 0.03
"""A link with this much unused may need a larger limit."""


def use(facts: Facts) -> str:
    """Say how much of the bottleneck is used."""
    if math.isnan(facts.utilisation.mean):
        return ""
    return f"Link utilisation is {_percent(_at_most(facts.utilisation, 1.0))}."


def queue(facts: Facts) -> str:
    """Return a sentence on the delay that the queue adds to the RTT."""
    if math.isnan(facts.queue.mean):
        return ""
    return (
        f"{_subject(facts)} adds {_time(facts.queue)} on average to the base RTT of {_number_of_time(facts.base_rtt)}; "
        f"99 % of the packets wait less than {_time(facts.queue_tail)}."
    )


def _subject(facts: Facts) -> str:
    """Return the name of the bottleneck's queue: by its direction where others matter, too."""
    return f"The {facts.name} queue" if facts.others else "The queue"


def others(facts: Facts) -> str:
    """Say what waits in the other queues that matter, such as that of the other direction."""
    lines = []
    for own in facts.others:
        if math.isnan(own.delay.mean):
            continue
        lost = "none" if own.drops.high == 0 else _packets(own.drops)
        marked = f" and marks {_packets(own.marks)}" if own.marks.high > 0 else ""
        lines.append(
            f"In the {own.name} queue packets wait {_time(own.delay)} on average, 99 % less than {_time(own.tail)}; it "
            f"drops {lost}{marked}."
        )
        if own.acks_alone and own.delay.mean > _ACKS_S:
            lines.append(f"ACKs of the other direction's data fill the {own.name} queue: try cake ack-filter.")
    return "\n".join(lines)


_ACKS_S: Final = 0.005
"""Acknowledgements that wait so long on average hold up the data that they clock."""


def outside(facts: Facts) -> str:
    """Say that the queue was far longer outside the window than in it."""
    if facts.peak is None:
        return ""
    begin, end = facts.window
    when = "before it" if facts.peak.at <= begin else "behind it" if facts.peak.at > end else "in it"
    return (
        f"Outside the measuring window {_subject(facts)[0].lower()}{_subject(facts)[1:]} was longer: {when}, at "
        f"{facts.peak.at:.3g} s, packets waited up to {_time(facts.peak.delay)}."
    )


_NOTICED_S: Final = 0.001
"""A sentence mentions a ping's extra time from here on."""


def latency(facts: Facts) -> str:
    """Say how long a ping takes under load, and how long without."""
    longer = facts.loaded.mean - facts.idle.mean
    if math.isnan(longer):
        return ""
    if longer < _NOTICED_S:
        return f"Ping under load: {_time(facts.loaded)}, same as idle (maximum {_time(facts.worst)})."
    return f"Ping under load: {_time(facts.loaded)}; idle: {_time(facts.idle)} (medians; maximum {_time(facts.worst)})."


def signals(facts: Facts) -> str:
    """Say how the queue tells senders to slow down."""
    if math.isnan(facts.drops.mean) or math.isnan(facts.marks.mean):
        return ""
    if facts.drops.high == 0 and facts.marks.high == 0:
        return f"{_subject(facts)} neither drops nor marks a packet."
    if facts.marks.high == 0:
        return f"{_subject(facts)} drops {_packets(facts.drops)} and marks none."
    drops = f"drops {_count(facts.drops)}" if facts.drops.high > 0 else "drops none"
    return f"{_subject(facts)} marks {_packets(facts.marks)} and {drops}."


_CALL_DELAY_S: Final = 0.150
"""One-way delay up to which most conversations are not disturbed (ITU-T G.114, 2003, clause 4)."""


def calls(facts: Facts) -> str:
    """Say what became of each direction of a call."""
    lines = []
    for call in facts.calls:
        if math.isnan(call.delay.mean):
            continue
        late = ", above the 150 ms of ITU-T G.114" if call.delay.mean > _CALL_DELAY_S else ""
        loss = "no packet" if call.loss.high == 0 else f"{_percent(call.loss)} of its packets"
        lines.append(f"{call.name} loses {loss}; 99 % of those that arrive take less than {_time(call.delay)}{late}.")
    return "\n".join(lines)


def web(facts: Facts) -> str:
    """Say how long transfers take."""
    lines = []
    for own in facts.web:
        left = f", {_count(own.unfinished)} still running at the end" if own.unfinished.high > 0 else ""
        if math.isnan(own.median.mean):
            lines.append("No web transfer was completed.")
            continue
        if own.completed.low < _FEWEST:
            last = f"the slowest of those completed {_time(own.slowest)}"
        else:
            last = f"95 % less than {_time(own.tail)}"
        lines.append(
            f"Half of the web transfers take less than {_time(own.median)}, {last} "
            f"({_count(own.completed)} completed{left})."
        )
    return "\n".join(lines)


_FEWEST: Final = 20
"""Of fewer values the 95th percentile is the largest, and is called so."""


def programs(facts: Facts) -> str:
    """Say how long each program took."""
    return "\n".join(
        f"{own.name} was still running at the end."
        if math.isnan(own.took.mean)
        else f"{own.name} took {_time(own.took)}."
        for own in facts.programs
    )


_FIFO: Final = frozenset({"pfifo", "bfifo"})
_STANDING_S: Final = 0.001
"""A queue that never waits less than this does not run empty."""
_FULL: Final = 0.8
"""A queue that is never below this part of its fullest does not drain when it drops: nothing slows down."""


def limit(facts: Facts) -> str:
    """Say whether a FIFO's limit is worth changing: one that never runs empty, or one that does and drops.

    A smaller limit helps where flows slow down at a drop. Where the queue stays as full as it can be, they do not.
    """
    if facts.kind not in _FIFO or facts.rate is None or facts.drops.low == 0:
        return ""
    if facts.queue_least.low > _STANDING_S:
        never = f"The queue never ran empty: its minimum delay was {_time(facts.queue_least)}"
        if facts.queue_least.low > _FULL * facts.most_s:
            return (
                f"{never}, of {_number_of_time(facts.most_s)} when full. The flows did not slow down after "
                f"{_count(facts.drops)} drops: a smaller limit would only drop more and wait less."
            )
        standing = facts.queue_least.low * facts.rate / FRAME_BITS
        least = math.ceil(facts.queue_most.mean - standing)
        return f"{never}. Try a smaller limit or an AQM: --qdisc 'pfifo limit {least}' --qdisc fq_codel."
    if 1 - facts.utilisation.high >= _UNUSED:
        return f"{_subject(facts)} dropped packets and ran empty: try a larger limit."
    return ""


RULES: Final[Sequence[Rule]] = (
    programs,
    shares,
    back,
    fairness,
    hidden,
    use,
    queue,
    outside,
    others,
    latency,
    signals,
    calls,
    web,
    limit,
)
"""In the order of the answer."""


# --- several queues --------------------------------------------------------------------------------------------------


def least_delay(several: Sequence[Facts]) -> str:
    """Say which queue adds least, if it is apart from the others: in all the queues of a round trip that matter."""
    ranked = by_delay(several)
    if len(ranked) < 2 or not _apart(ranked[0].added, ranked[1].added):  # noqa: PLR2004 - of two or more
        return ""
    least = ranked[0]
    others = ", ".join(f"{_added(own)} with {own.qdisc}" for own in ranked[1:])
    both = " to a round trip" if any(own.others for own in several) else ""
    return f"{least.qdisc} adds the least delay{both}: {_added(least)}, against {others}."


def by_delay(several: Sequence[Facts]) -> list[Facts]:
    """Return those whose delay is known, the one that adds least to a round trip first."""
    return sorted((own for own in several if not math.isnan(own.added.mean)), key=lambda own: own.added.mean)


def _added(facts: Facts) -> str:
    """Return what all queues add, and which part of it is not the bottleneck's."""
    parts = [
        f"{_number_of_time(own.delay.mean)} of it in the {own.name} queue"
        for own in facts.others
        if own.delay.mean > _PART * facts.added.mean
    ]
    return f"{_number_of_time(facts.added.mean)}{' (' + ', '.join(parts) + ')' if parts else ''}"


_PART: Final = 0.1
"""From this part of the whole on it is worth saying."""


_SAME: Final = 0.02
"""Sums count as equal if their extremes differ by less."""


def throughput(several: Sequence[Facts]) -> str:
    """Say which queue carries more, or that all carry the same."""
    sums = sorted(((own.total, own.qdisc) for own in several if own.flows), key=lambda item: item[0].mean)
    if len(sums) < 2 or sums[-1][0].mean <= 0:  # noqa: PLR2004 - of two or more
        return ""
    (least, worst), (most, best) = sums[0], sums[-1]
    if most.mean - least.mean < _SAME * most.mean:
        return f"The flows' rates together are the same within {math.ceil(100 * (1 - least.mean / most.mean)) or 1} %."
    if not _apart(least, most):
        return ""
    return f"The flows together get most with {best} ({_rate(most)}) and least with {worst} ({_rate(least)})."


def evenness(several: Sequence[Facts]) -> str:
    """Say which queue shares most evenly, if it is apart from the one that does least."""
    ranked = sorted((own for own in several if not math.isnan(own.jain.mean)), key=lambda own: own.jain.mean)
    if len(ranked) < 2 or ranked[-1].jain.mean - ranked[0].jain.mean < _JAIN_APART:  # noqa: PLR2004 - of two or more
        return ""
    least, most = ranked[0], ranked[-1]
    if not _apart(least.jain, most.jain):
        return ""
    return (
        f"{most.qdisc} shares most evenly (Jain's index {most.jain.mean:.2f}), {least.qdisc} least "
        f"({least.jain.mean:.2f})."
    )


_JAIN_APART: Final = 0.05

COMPARISONS: Final[Sequence[Comparison]] = (least_delay, throughput, evenness)


def _apart(one: Spread, other: Spread) -> bool:
    """Whether two values differ beyond the ranges of their seeds; with one seed, by more than five percent."""
    if min(one.seeds, other.seeds) > 1:
        return not one.overlaps(other)
    return abs(one.mean - other.mean) > 0.05 * max(abs(one.mean), abs(other.mean))


# --- numbers in words ------------------------------------------------------------------------------------------------


def _ranged(own: Spread, number: Callable[[float], str]) -> str:
    mean, low, high = number(own.mean), number(own.low), number(own.high)
    if low == high:
        return mean
    if len({text.partition(" ")[2] for text in (mean, low, high)}) == 1:
        # One unit is enough.
        low, high = low.partition(" ")[0], high.partition(" ")[0]
    return f"{mean} [{low} to {high}]"


def _time(own: Spread) -> str:
    return _ranged(own, _number_of_time)


def _number_of_time(seconds: float) -> str:
    ms = 1e3 * seconds
    if ms >= 1000:  # noqa: PLR2004
        return f"{seconds:.3g} s"
    return f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.1f} ms" if ms >= 0.1 else f"{ms:.2f} ms"  # noqa: PLR2004


def _rate(own: Spread) -> str:
    return _ranged(own, _number_of_rate)


def _number_of_rate(bits: float) -> str:
    if bits >= 1e9:  # noqa: PLR2004
        return f"{bits / 1e9:.3g} Gbit/s"
    return f"{bits / 1e6:.3g} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:.3g} kbit/s"  # noqa: PLR2004


def _percent(own: Spread) -> str:
    return _ranged(own, lambda part: f"{100 * part:.0f} %" if part >= 0.0995 else f"{100 * part:.2g} %")  # noqa: PLR2004


def _count(own: Spread) -> str:
    return _ranged(own, lambda count: f"{count:.0f}")


def _packets(own: Spread) -> str:
    return f"{_count(own)} packet{'' if own.low == own.high == 1 else 's'}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"  # noqa: PLR2004


def _at_most(own: Spread, most: float) -> Spread:
    """Return it cut: a packet may straddle the window."""
    return Spread(min(own.mean, most), min(own.low, most), min(own.high, most), own.seeds)
