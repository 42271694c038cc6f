"""The parts of one cell: what its tested flows got, what they made others wait, and what they left to them.

Everything is compared with what the path could carry in the window, taken from the run itself: the payload that all
flows got, over the utilisation of the queue. So a path that varies, loses or shares with UDP needs no second
description. What loads the path without answering (UDP) is nobody's share: its part is taken off before the rest is
divided.

Invariant: each part is between 0 and 1, and no part alone makes a cell good: the cell's score is their geometric
mean.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn import _core
from sojourn.core.scenario import Scenario
from sojourn.errors import UsageError
from sojourn.score.sets import TESTED, group

PARTS: Final = ("throughput", "delay", "fairness", "harm")
"""The parts of a cell; robustness is of a whole set."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A cell's parts, or why it has none."""

    case: str
    seed: int
    parts: Mapping[str, float]
    """Of each part that the cell has; all 0 where it failed."""
    failed: str = ""
    """Why the run did not end: the control's error, in one line."""

    @property
    def score(self) -> float:
        """The geometric mean of the parts, 0 to 1."""
        return math.prod(self.parts.values()) ** (1 / len(self.parts))


def parts_of(scenario: Scenario) -> Sequence[str]:
    """Return which parts a cell has: fairness where several flows are tested, harm where others share the path."""
    tested, others = _flows(scenario)
    return [
        *PARTS[:2],
        *(["fairness"] if len(tested) > 1 else []),
        *(["harm"] if others else []),
    ]


def failed(scenario: Scenario, why: str) -> Verdict:
    """Return the verdict on a run that did not end."""
    return Verdict(scenario.cell_label, scenario.seed, dict.fromkeys(parts_of(scenario), 0.0), why)


def judge(scenario: Scenario, run: _core.Run) -> Verdict:
    """Return the verdict on a run."""
    tested, others = _flows(scenario)
    answering = [*tested, *others]
    loads = [flow["name"] for flow in scenario["flows"] if flow["name"] not in answering and _carries(flow)]
    queue = bottleneck(scenario)
    every = [*answering, *loads]
    metrics = [
        *(f"goodput({name})" for name in every),
        *(f"mean(srtt, {name})" for name in tested),
        f"utilisation({queue})",
    ]
    values = [0.0 if math.isnan(value) else value for value, _ in run.measure(metrics)]
    goodput = dict(zip(every, values, strict=False))
    srtts = values[len(every) : len(every) + len(tested)]
    used = values[-1]
    possible = sum(goodput.values()) / used - sum(goodput[name] for name in loads) if used > 0 else 0.0
    fair = possible / len(answering)
    got = [goodput[name] for name in tested]
    base = {str(flow.name): flow.base_rtt_ms(jitter=False) / 1e3 for flow in scenario.flows}
    waits = [base[name] / srtt for name, srtt in zip(tested, srtts, strict=True) if srtt > 0]
    parts = {
        "throughput": _part(sum(got), fair * len(tested)),
        "delay": min(1.0, sum(waits) / len(tested)),
        "fairness": _jain(got),
        "harm": _part(sum(goodput[name] for name in others), fair * len(others)),
    }
    return Verdict(scenario.cell_label, scenario.seed, {name: parts[name] for name in parts_of(scenario)})


def bottleneck(scenario: Scenario) -> str:
    """Return the path of the queue that the tested flows share.

    Raises:
        UsageError: if they pass no queue.
    """
    found = scenario.bottleneck
    if found is None:
        raise UsageError(
            "a cell without a queue has no score", help='give a hop a rate and a qdisc: qdisc = "fq_codel"'
        )
    return found[0]


def _flows(scenario: Scenario) -> tuple[list[str], list[str]]:
    """Return the names of the tested flows, and of others that answer to congestion."""
    greedy = [flow for flow in scenario["flows"] if flow["traffic"]["kind"] in ("tcp", "quic", "tcp_stack")]
    tested = [str(flow["name"]) for flow in greedy if group(flow) == TESTED]
    return tested, [str(flow["name"]) for flow in greedy if group(flow) != TESTED]


def _carries(flow: Mapping[str, object]) -> bool:
    traffic = flow["traffic"]
    return isinstance(traffic, Mapping) and traffic["kind"] in ("udp", "on_off", "short_flows")


def _part(got: float, fair: float) -> float:
    """Return a share of what is due, at most 1.

    >>> _part(5.0, 10.0), _part(20.0, 10.0), _part(1.0, 0.0)
    (0.5, 1.0, 0.0)
    """
    return min(1.0, got / fair) if fair > 0 else 0.0


def _jain(values: Sequence[float]) -> float:
    """Return Jain's index; 0 where nobody got anything.

    >>> _jain([1.0, 1.0]), _jain([1.0, 0.0]), _jain([0.0, 0.0])
    (1.0, 0.5, 0.0)
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares > 0 else 0.0
