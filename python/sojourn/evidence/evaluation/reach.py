"""The greatest value that a metric can have in its place: no subject could fail a rule beyond it.

It is known of waits in a tail-drop FIFO, of RTTs through them, and of shares. Of all other metrics it is infinity.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sojourn import _core

FRAME: Final = 1514
"""Bytes of a full frame, as the queues of the suites count them."""

_WAIT: Final = re.compile(
    r"(?:percentile|mean|median|max)\((?:sojourn|queue_delay|queue_delay_max), (\w+)\.(down|up)\.qdisc"
)
_RTT: Final = re.compile(r"(?:percentile|mean|median|max)\(srtt, ")
_SHARE: Final = re.compile(r"(?:share|loss_rate|utilisation|ce_fraction|mark_fraction|jain)\([^()]*\)(?: from .*)?")
_FIFO: Final = re.compile(r"(?:pfifo limit (?P<packets>\d+)|bfifo limit (?P<bytes>\d+)b?)")


def most(metric: str, scenario: Mapping[str, Any], *, of_full: float = 1.0) -> float:
    """Return the greatest value that a metric can have in a run of this scenario; infinity if nothing says.

    Args:
        metric: an expression.
        scenario: of the run.
        of_full: how much of the buffers is full.
    """
    if found := _WAIT.match(metric):
        hop = next(own for own in scenario["hops"] if own["name"] == found[1])
        return of_full * _full_s(scenario, hop, found[2])
    if _RTT.match(metric):
        waits = [_full_s(scenario, hop, "down") for hop in scenario["hops"]]
        return _base_s(scenario) + of_full * sum(waits)
    return 1.0 if _SHARE.fullmatch(metric) else math.inf


def _full_s(scenario: Mapping[str, Any], hop: Mapping[str, Any], way: str) -> float:
    """Return how long a packet waits that finds a FIFO full, with the lowest rate that it ever has."""
    queue = next(own for own in hop[way] if own["kind"] == "queue")
    found = _FIFO.fullmatch(queue["qdisc"])
    if found is None or "rate" not in queue:
        return math.inf
    path = f"{hop['name']}.{way}.{queue['name']}"
    rates = [queue["rate"], *(one["rate"] for one in _actions(scenario) if _is_rate_of(one, path))]
    size = int(found["packets"]) * FRAME if found["packets"] else int(found["bytes"])
    return size * 8 / min(_core.parse_rate(rate) for rate in rates)


def _actions(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for event in scenario["events"]:
        yield from event["actions"]


def _is_rate_of(action: Mapping[str, Any], path: str) -> bool:
    return bool(action.get("do") == "rate" and action.get("element") == path)


def _base_s(scenario: Mapping[str, Any]) -> float:
    """Return the delays of the path there and back, and a frame's own time at each queue."""
    total = 0.0
    for hop in scenario["hops"]:
        for element in (*hop["down"], *hop["up"]):
            for words in element.get("chain", ()):
                found = re.match(r"delay (\S+)", words)
                total += _core.parse_span(found[1]) if found else 0.0
            if "rate" in element:
                total += FRAME * 8 / _core.parse_rate(element["rate"])
    return total
