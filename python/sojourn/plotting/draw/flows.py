"""How flows look in every picture of a run: the colour of each, and the name that stands for it in keys.

Few flows have a colour each. Where they are more than there are colours, the flows of one group share theirs.
"""

from dataclasses import dataclass

from sojourn.core.scenario import Flow, Scenario
from sojourn.plotting.draw.palette import FLOWS, flow_colour


@dataclass(frozen=True, slots=True)
class Look:
    """How a flow looks."""

    key: str
    """In keys: its name, or that of its group: ``download (12 × cubic)``."""
    colour: str


def looks(scenario: Scenario) -> dict[str, Look]:
    """Return how each flow that carries data looks, by its name, in order."""
    loads = scenario.loads
    if len(loads) <= len(FLOWS):
        return {flow.name: Look(flow_name(flow), flow_colour(index)) for index, flow in enumerate(loads)}
    groups: dict[str, list[Flow]] = {}
    for flow in loads:
        groups.setdefault(flow.group, []).append(flow)
    found: dict[str, Look] = {}
    for index, (name, own) in enumerate(groups.items()):
        key = flow_name(own[0]) if len(own) == 1 else f"{name} ({len(own)} × {own[0].sender})"
        found |= {flow.name: Look(key, flow_colour(index)) for flow in own}
    return {flow.name: found[flow.name] for flow in loads}


def flow_name(flow: Flow) -> str:
    """Return a flow's name in pictures: its name, and its sender where the name lacks it."""
    return flow.name if flow.sender in flow.name else f"{flow.name} ({flow.sender})"
