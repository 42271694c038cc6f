"""What a resolved scenario says, in numbers and in few words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sojourn import _core

Scenario = Mapping[str, Any]
"""A resolved scenario as JSON has it."""

_PROBES: Final = frozenset({"ping", "irtt"})

_GREEDY: Final = frozenset({"tcp", "quic"})

QUEUES: Final = frozenset({"queue", "aggregating_link", "wifi"})
"""The kinds of elements that packets wait in."""


def is_load(flow: Mapping[str, Any]) -> bool:
    """Whether a flow carries data for its own sake: everything but the probes."""
    return flow["traffic"]["kind"] not in _PROBES


def loads(scenario: Scenario) -> list[Mapping[str, Any]]:
    """Return the flows that carry data for their own sake, in order."""
    return [flow for flow in scenario["flows"] if is_load(flow)]


def sender(flow: Mapping[str, Any]) -> str:
    """Return what a flow sends by: its congestion control (QUIC's behind its stack), or the kind of its traffic."""
    traffic = flow["traffic"]
    if traffic["kind"] == "quic":
        return f"{traffic['stack']}/{traffic['cc']}"
    return str(traffic.get("cc") or traffic.get("tcp", {}).get("cc") or traffic["kind"])


def kind_of(flow: Mapping[str, Any]) -> str:
    """Return the kind of a flow's traffic; of one that is on and off by turns with what it sends.

    >>> kind_of({"traffic": {"kind": "voip"}}), kind_of({"traffic": {"kind": "on_off", "over": {"over": "udp"}}})
    ('voip', 'on_off udp')
    """
    traffic = flow["traffic"]
    kind = str(traffic["kind"])
    if kind != "on_off":
        return kind
    return f"on_off {traffic['over']['over']}"


def elements(scenario: Scenario, side: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every element of one direction, with its path: ``bottleneck.down.qdisc``."""
    for hop in scenario["hops"]:
        for element in hop[side]:
            yield f"{hop['name']}.{side}.{element['name']}", element


def data_side(scenario: Scenario) -> str:
    """Return the side of the hops that data passes, ``down`` or ``up``: ``up`` if all of it is uploads.

    Where flows send as much as they can, their way counts, and not that of calls beside them. Where these go both ways,
    it is ``down``.
    """
    greedy = [f for f in loads(scenario) if f["traffic"]["kind"] in _GREEDY and f["traffic"].get("bytes") is None]
    ways = {flow["direction"] for flow in greedy or loads(scenario)}
    return "up" if ways == {"up"} else "down"


def bottleneck(scenario: Scenario) -> tuple[str, Mapping[str, Any]] | None:
    """Return the bottleneck with its path: the slowest queue on the way of the data (:func:`data_side`).

    None if there is no queue on that way.
    """
    found = [(path, e) for path, e in elements(scenario, data_side(scenario)) if e["kind"] == "queue"]
    return min(found, key=lambda q: rate_mbit(q[1]) or float("inf")) if found else None


def rate_mbit(queue: Mapping[str, Any]) -> float | None:
    """Return a queue's rate, Mbit/s; None where nothing states it."""
    rate = queue.get("rate")
    return None if rate is None else _core.parse_rate(rate) / 1e6


def base_rtt_ms(scenario: Scenario, flow: Mapping[str, Any], *, jitter: bool = True) -> float:
    """Return a flow's base RTT, ms: what the netems on its way, there and back, delay by at least.

    Args:
        scenario: whose flow it is.
        flow: the flow.
        jitter: whether to count the further netems of a chain, which are there for jitter and bursts.
    """
    names = {scenario["hops"][index]["name"] for index in flow["hops"]}
    total = 0.0
    for side in ("down", "up"):
        for path, element in elements(scenario, side):
            if element["kind"] == "netem" and path.split(".")[0] in names:
                own = [e["delay"] for e in element.get("per_flow", ()) if e["flow"] == flow["name"]]
                first, *others = (_core.netem(words).delay_s for words in element["chain"])
                total += (_core.parse_span(own[0]) if own else first) + sum(others if jitter else ())
    return round(total * 1e3, 6)


def seconds(scenario: Scenario) -> float:
    """Return how long the run is after its origin, s."""
    return _core.parse_span(scenario["duration"])


def length(scenario: Scenario) -> float:
    """Return how long is simulated, the warmup before the origin included, s."""
    return _core.parse_span(scenario["warmup"]) + _core.parse_span(scenario["duration"])


def from_json(text: str) -> Scenario:
    """Return a scenario that the extension module wrote."""
    scenario: Scenario = json.loads(text)
    return scenario


def cell_label(scenario: Scenario) -> str:
    """Return the labels of the run's cell: ``fq_codel, 20 ms``; empty if the experiment has no axes."""
    return ", ".join(label for _, label in scenario["cell"])


def label(scenario: Scenario) -> str:
    """Return what people call the run: ``s1[fq_codel,20ms]#3``."""
    cell = ",".join(label for _, label in scenario["cell"])
    return f"{scenario['experiment']}{f'[{cell}]' if cell else ''}#{scenario['seed']}"
