"""How flows look in every picture of a run: the colour of each, and the name that stands for it in keys.

Few flows have a colour each. Where they are more than there are colours, the flows of one group share theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.core import describe
from sojourn.plotting.draw.palette import FLOWS, flow_colour


@dataclass(frozen=True, slots=True)
class Look:
    """How a flow looks."""

    key: str
    """In keys: its name, or that of its group: ``download (12 × cubic)``."""
    colour: str


def looks(scenario: describe.Scenario) -> dict[str, Look]:
    """Return how each flow that carries data looks, by its name, in order."""
    loads = describe.loads(scenario)
    if len(loads) <= len(FLOWS):
        return {flow["name"]: Look(flow_name(flow), flow_colour(index)) for index, flow in enumerate(loads)}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for flow in loads:
        groups.setdefault(str(flow.get("group") or flow["name"]), []).append(flow)
    found: dict[str, Look] = {}
    for index, (name, own) in enumerate(groups.items()):
        key = flow_name(own[0]) if len(own) == 1 else f"{name} ({len(own)} × {describe.sender(own[0])})"
        found |= {flow["name"]: Look(key, flow_colour(index)) for flow in own}
    return {flow["name"]: found[flow["name"]] for flow in loads}


def flow_name(flow: Mapping[str, Any]) -> str:
    """Return what a flow is called in pictures: its name, and its sender where the name does not say it."""
    sender = describe.sender(flow)
    name = str(flow["name"])
    return name if sender in name else f"{name} ({sender})"
