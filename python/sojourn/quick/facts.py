"""Measurements of a quick run: numbers over its seeds, for the sentences and for programs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from sojourn import _core
from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.core.measured import spreads
from sojourn.core.queues import Queue
from sojourn.core.run import Run
from sojourn.core.scenario import Scenario, rate_mbit
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.views.remarks import SharedRemark, shared_remarks
from sojourn.views.summary import TCP

PING: Final = "ping"


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """A flow that sends as much as it can."""

    name: str
    sender: str
    """Its congestion control."""
    rate: Spread
    """Payload that arrived in the window, bit/s."""


@dataclass(frozen=True, slots=True)
class SenderFacts:
    """All flows of one congestion control together."""

    sender: str
    count: int
    rate: Spread
    """The sum of theirs, bit/s."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One direction of a voice or video call."""

    name: str
    kind: str
    """``voice`` or ``video``."""
    loss: Spread
    """Of its packets, 0 to 1."""
    delay: Spread
    """One-way delay that 99 % of the packets stay below in the window, s."""


@dataclass(frozen=True, slots=True)
class WebFacts:
    """Transfers that begin in the window."""

    name: str
    completed: Spread
    unfinished: Spread
    median: Spread
    """Time that half of those completed took no longer than, s."""
    tail: Spread
    """The same of 95 %."""
    slowest: Spread
    """The longest of those completed, s."""


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """A program that is a flow's client."""

    name: str
    took: Spread
    """From its start to its end, s; NaN if it was still running when the run ended."""


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue that matters other than the bottleneck."""

    name: str
    """Its direction: ``upload``."""
    qdisc: str
    """In tc's words."""
    delay: Spread
    """Mean time in it, s."""
    tail: Spread
    """Time in it that 99 % of the packets stay below in the window, s."""
    marks: Spread
    drops: Spread
    acks_alone: bool = False
    """Whether no flow sends data through it, so that what waits there are acknowledgements."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The longest wait outside the measuring window."""

    delay: Spread
    """The longest wait of the whole run, s."""
    at: float
    """When the first seed has it, s."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The results of one queue: each value the mean over the seeds with its range."""

    name: str
    """The bottleneck's direction, to tell it from :attr:`others`: ``download``."""
    qdisc: str
    """In tc's words."""
    rate: float | None
    """Of the bottleneck, bit/s; None where nothing states it, and of a trace."""
    base_rtt: float
    """s."""
    window: tuple[float, float]
    """The measuring window, s from the start."""
    flows: Sequence[FlowFacts]
    """Those that send through the bottleneck's queue."""
    senders: Sequence[SenderFacts]
    total: Spread
    """The sum of the flows' rates, bit/s."""
    calls: Sequence[CallFacts]
    web: Sequence[WebFacts]
    programs: Sequence[ProgramFacts]
    jain: Spread
    """Of the rates of the flows; NaN of one alone."""
    utilisation: Spread
    queue: Spread
    """Mean time in the queue, s."""
    queue_tail: Spread
    """Time in the queue that 99 % of the packets stay below in the window, s."""
    queue_least: Spread
    """The least time in the queue in the window, s."""
    queue_most: Spread
    """The most packets in it in the window."""
    marks: Spread
    drops: Spread
    others: Sequence[QueueFacts]
    """The other queues that matter."""
    idle: Spread
    """Median RTT of a ping before the flows start, s."""
    loaded: Spread
    """The same under load, in the window."""
    worst: Spread
    """The largest RTT of a ping in the window, s."""
    remarks: Sequence[SharedRemark]
    """What its numbers hide."""
    back: Sequence[FlowFacts] = ()
    """Flows in the other direction: uploads next to downloads."""
    back_rate: float | None = None
    """Of the link that way, bit/s."""
    most_s: float = 0.0
    """The time that the fullest queue of the window takes to drain, s."""
    peak: Peak | None = None
    """The longest wait, if it is outside the window and longer than any in it."""
    ecn: Sequence[str] = ()
    """The TCP flows that have agreed on ECN."""
    links: Mapping[str, float | None] = field(default_factory=dict)
    """The rate of each side's slowest queue, bit/s; None where nothing states it."""

    @property
    def added(self) -> Spread:
        """What all loaded queues together add to a round trip on average, s."""
        every = [self.queue, *(own.delay for own in self.others if not math.isnan(own.delay.mean))]
        return Spread(
            math.fsum(own.mean for own in every),
            math.fsum(own.low for own in every),
            math.fsum(own.high for own in every),
            self.queue.seeds,
        )

    @property
    def seeds(self) -> int:
        """How many there are."""
        return self.utilisation.seeds

    @property
    def kind(self) -> str:
        """The name of the discipline."""
        return self.qdisc.split()[0]


def facts_of(cell: Cell) -> Facts:
    """Measure a quick run with one queue.

    Raises:
        UsageError: if a setting removed something that is measured: the windows, the ping, the bottleneck.
    """
    scenario = cell.scenario
    found = scenario.bottleneck
    if found is None:
        raise UsageError("the bottleneck has no queue", help="remove the --set that deletes it")
    path, queue = found
    tcp = [flow for flow in scenario.loads if flow.kind in TCP]
    side = scenario.data_side
    flows = [flow for flow in tcp if flow["direction"] == side]
    back = [flow for flow in tcp if flow["direction"] != side]
    calls = [flow for flow in scenario.loads if flow.kind in {"voip", "video"}]
    web = [flow for flow in scenario.loads if flow.kind == "short_flows"]
    programs = [flow for flow in scenario.loads if flow.kind == "program"]
    senders: dict[str, list[str]] = {}
    for flow in flows:
        senders.setdefault(flow.sender, []).append(flow["name"])
    names = ", ".join(flow["name"] for flow in flows)
    ping = any(flow["name"] == PING for flow in scenario.flows)
    asked = {
        "total": f"sum(goodput, {names})" if flows else "",
        "jain": f"jain(goodput, {names})" if len(flows) > 1 else "",
        "utilisation": f"utilisation({path})",
        "queue": f"mean(queue_delay, {path})",
        "queue_tail": f"p99(sojourn, {path})",
        "queue_least": f"min(queue_delay_min, {path})",
        "queue_most": f"max(queue_length, {path})",
        "marks": f"marks({path})",
        "drops": f"drops({path})",
        "idle": f"median(rtt, {PING}) over idle" if ping else "",
        "loaded": f"median(rtt, {PING})" if ping else "",
        "worst": f"max(rtt, {PING})" if ping else "",
    }
    by_flow = [f"goodput({flow['name']})" for flow in (*flows, *back)]
    by_sender = [f"sum(goodput, {', '.join(own)})" for own in senders.values()]
    by_call = [e for flow in calls for e in (f"loss_rate({flow['name']})", f"p99(packet_owd, {flow['name']})")]
    by_web = [
        e.format(flow["name"])
        for flow in web
        for e in (
            "completed({})",
            "unfinished({})",
            "median(completion_time, {})",
            "percentile(completion_time, {}, 95)",
            "max(completion_time, {})",
        )
    ]
    by_program = [f"mean(completion_time, {flow['name']})" for flow in programs]
    main = Queue.of(path, queue)
    others = [own for own in queues.that_matter(cell.runs) if own.path != path]
    by_queue = [
        e.format(own.path)
        for own in others
        for e in ("mean(queue_delay, {})", "p99(sojourn, {})", "marks({})", "drops({})")
    ]
    peaks = [f"max(queue_delay_max, {path}) over all", f"max(queue_delay_max, {path})"]
    common = [text for text in asked.values() if text]
    values = iter(spreads(cell, [*common, *by_flow, *by_sender, *by_call, *by_web, *by_program, *by_queue, *peaks]))
    rate = _rate(queue)
    own = {name: next(values) if text else Spread.of([]) for name, text in asked.items()}
    mbit = rate_mbit(queue)
    if rate is not None and mbit is not None:
        # Of what the discipline's own shaper leaves of the link's rate.
        own["utilisation"] = own["utilisation"].scaled(1e6 * mbit / rate)
    links = {way: _rate(slowest) for way in queues.WAYS if (slowest := _queue(scenario, way)) is not None}
    loaded = {str(flow["direction"]) for flow in scenario.loads}
    return Facts(
        name=main.named([main, *others]),
        qdisc=str(queue["qdisc"]),
        rate=rate,
        base_rtt=next((flow.base_rtt_ms(jitter=False) / 1e3 for flow in scenario.flows), 0.0),
        window=cell.runs[0].window() or (0.0, scenario.seconds),
        flows=[FlowFacts(flow["name"], flow.sender, rate=next(values)) for flow in flows],
        back=[FlowFacts(flow["name"], flow.sender, rate=next(values)) for flow in back],
        back_rate=links.get("up" if side == "down" else "down"),
        links=links,
        ecn=_agreed(cell.runs[0], [flow["name"] for flow in tcp]),
        most_s=0.0 if rate is None else own["queue_most"].mean * FRAME_BITS / rate,
        senders=[SenderFacts(sender, len(members), next(values)) for sender, members in senders.items()],
        calls=[
            CallFacts(
                flow["name"],
                "voice" if flow.kind == "voip" else "video",
                loss=next(values),
                delay=next(values),
            )
            for flow in calls
        ],
        web=[
            WebFacts(
                flow["name"],
                completed=next(values),
                unfinished=next(values),
                median=next(values),
                tail=next(values),
                slowest=next(values),
            )
            for flow in web
        ],
        programs=[ProgramFacts(flow["name"], took=next(values)) for flow in programs],
        remarks=shared_remarks(cell.runs),
        others=[
            QueueFacts(
                other.named([main, *others]),
                other.words,
                delay=next(values),
                tail=next(values),
                marks=next(values),
                drops=next(values),
                acks_alone=queues.SIDES[other.way] not in loaded,
            )
            for other in others
        ],
        peak=_peak(cell.runs[0], path, next(values), next(values)),
        **own,
    )


FRAME_BITS: Final = 8 * 1514

_OUTSIDE: Final = 2.0
"""Report a wait outside the window if it is this many times the longest in it, from :data:`_WORTH_S` on."""
_WORTH_S: Final = 0.05


def _peak(run: Run, path: str, longest: Spread, within: Spread) -> Peak | None:
    """Return the longest wait of runs, if it is far longer than any in the window; ``run`` is the first."""
    if longest.mean > _OUTSIDE * within.mean and longest.mean > _WORTH_S:
        return Peak(longest, _when(run, path))
    return None


def _queue(scenario: Scenario, side: str) -> Mapping[str, Any] | None:
    """Return the slowest queue of a side."""
    found = [e for _, e in scenario.elements(side) if e["kind"] == "queue"]
    return min(found, key=lambda queue: _rate(queue) or math.inf) if found else None


def _rate(queue: Mapping[str, Any]) -> float | None:
    """Return the rate that a queue is held to, bit/s: its link's, or that of the discipline's own shaper if less."""
    # A trace's rate is its mean, and another in each window.
    mbit = None if queue.get("shaper") == "trace" else rate_mbit(queue)
    words = str(queue["qdisc"]).split()
    own = next((after for word, after in pairwise(words) if word == "bandwidth" and words[0] != "red"), None)
    rates = [*([] if mbit is None else [mbit * 1e6]), *([] if own is None else [_core.parse_rate(own)])]
    return min(rates, default=None)


def _agreed(run: Run, names: Sequence[str]) -> list[str]:
    """Return which of these flows have agreed on ECN."""
    if "totals" not in run.tables:
        return []
    totals = run.rows("totals", "subject", "value", only={"name": "ecn_agreed"})
    agreed = {subject for subject, value in zip(*totals, strict=True) if value > 0}
    return [name for name in names if name in agreed]


def _when(run: Run, path: str) -> float:
    """Return when packets waited longest in a queue, s."""
    rows = zip(*run.rows("queues", "t_s", "sojourn_max_s", only={"queue": path}), strict=True)
    return float(max((row for row in rows if row[0] >= 0 and not math.isnan(row[1])), key=lambda row: row[1])[0])
