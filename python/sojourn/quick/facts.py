"""What is measured of a quick run: numbers over its seeds, for the sentences and for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn import _core
from sojourn.core import describe, queues
from sojourn.core.cells import Cell
from sojourn.core.measured import spreads
from sojourn.core.queues import Queue
from sojourn.core.remarks import Told, told
from sojourn.core.spread import Spread
from sojourn.core.summary import TCP, kind_of
from sojourn.errors import UsageError

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


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """A program that is a flow's client."""

    name: str
    took: Spread
    """From its start to its end, s; NaN if it was still running when the run ended."""


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue that matters beside the bottleneck."""

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


@dataclass(frozen=True, slots=True)
class Facts:
    """What one queue made of it: each value the mean over the seeds with its range."""

    name: str
    """The bottleneck's direction, to tell it from :attr:`others`: ``download``."""
    qdisc: str
    """In tc's words."""
    rate: float | None
    """Of the bottleneck, bit/s; None where its own words set it."""
    base_rtt: float
    """s."""
    window: tuple[float, float]
    """What is measured over, s from the start."""
    flows: Sequence[FlowFacts]
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
    """The same beside them, in the window."""
    worst: Spread
    """The largest RTT of a ping in the window, s."""
    remarks: Sequence[Told]
    """What its numbers hide."""

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
        UsageError: if a setting took away what is measured: the windows, the ping, the bottleneck.
    """
    scenario = cell.scenario
    found = describe.bottleneck(scenario)
    if found is None:
        raise UsageError("no queue is left of the bottleneck", help="leave out the --set that takes it away")
    path, queue = found
    flows = [flow for flow in describe.loads(scenario) if flow["direction"] == "down" and kind_of(flow) in TCP]
    calls = [flow for flow in describe.loads(scenario) if kind_of(flow) in {"voip", "video"}]
    web = [flow for flow in describe.loads(scenario) if kind_of(flow) == "short_flows"]
    programs = [flow for flow in describe.loads(scenario) if kind_of(flow) == "program"]
    senders: dict[str, list[str]] = {}
    for flow in flows:
        senders.setdefault(describe.sender(flow), []).append(flow["name"])
    names = ", ".join(flow["name"] for flow in flows)
    ping = any(flow["name"] == PING for flow in scenario["flows"])
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
    by_flow = [f"goodput({flow['name']})" for flow in flows]
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
        )
    ]
    by_program = [f"mean(completion_time, {flow['name']})" for flow in programs]
    main = Queue.of(path, queue)
    others = [own for own in queues.that_matter(cell.runs) if own.path != path]
    by_queue = [
        e.format(own.path)
        for own in others
        for e in ("mean(queue_delay, {})", "p99(sojourn, {}) over steady", "marks({})", "drops({})")
    ]
    common = [text for text in asked.values() if text]
    values = iter(spreads(cell, [*common, *by_flow, *by_sender, *by_call, *by_web, *by_program, *by_queue]))
    own = {name: next(values) if text else Spread.of([]) for name, text in asked.items()}
    window = next((w for w in scenario["windows"] if w["name"] == "steady"), None)
    mbit = describe.rate_mbit(queue)
    return Facts(
        name=main.named([main, *others]),
        qdisc=str(queue["qdisc"]),
        rate=None if mbit is None else mbit * 1e6,
        base_rtt=next((describe.base_rtt_ms(scenario, flow, jitter=False) / 1e3 for flow in (*flows, *programs)), 0.0),
        window=_bounds(window, describe.seconds(scenario)),
        flows=[FlowFacts(flow["name"], describe.sender(flow), rate=next(values)) for flow in flows],
        senders=[SenderFacts(sender, len(members), next(values)) for sender, members in senders.items()],
        calls=[
            CallFacts(
                flow["name"], "voice" if kind_of(flow) == "voip" else "video", loss=next(values), delay=next(values)
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
            )
            for flow in web
        ],
        programs=[ProgramFacts(flow["name"], took=next(values)) for flow in programs],
        remarks=told(cell.runs),
        others=[
            QueueFacts(
                other.named([main, *others]),
                other.words,
                delay=next(values),
                tail=next(values),
                marks=next(values),
                drops=next(values),
            )
            for other in others
        ],
        **own,
    )


def _bounds(window: Mapping[str, Any] | None, seconds: float) -> tuple[float, float]:
    if window is None or "between" not in window["bounds"]:
        return 0.0, seconds
    bounds = window["bounds"]["between"]
    return _core.parse_span(bounds["from"]), _core.parse_span(bounds["to"])
