"""What a resolved scenario says, in numbers and in few words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn import _core

_PROBES: Final = frozenset({"ping", "irtt"})

_GREEDY: Final = frozenset({"tcp", "quic", "tcp_stack"})

QUEUES: Final = frozenset({"queue", "aggregating_link", "wifi"})
"""The kinds of elements that packets wait in."""

Labels = tuple[tuple[str, str], ...]
"""(axis, label), in order."""

Element = Mapping[str, Any]
"""An element of a hop, as it is stored."""


class Scenario(dict[str, Any]):
    """A resolved scenario: the mapping that is stored as JSON, and what it says.

    >>> scenario = Scenario(experiment="s1", seed=3, cell=[["queue", "pie"], ["rtt", "20ms"]], duration="10s")
    >>> scenario.label, scenario.labels, scenario.seconds
    ('s1[pie,20ms]#3', (('queue', 'pie'), ('rtt', '20ms')), 10.0)
    """

    __slots__ = ()

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return str(self["experiment"])

    @property
    def seed(self) -> int:
        """The seed of the random streams."""
        return int(self["seed"])

    @property
    def labels(self) -> Labels:
        """The axes of the experiment, each with the label of this cell; empty if there are none."""
        return tuple((axis, label) for axis, label in self["cell"])

    @property
    def cell_label(self) -> str:
        """The labels of the cell: ``fq_codel, 20 ms``; empty if the experiment has no axes."""
        return ", ".join(label for _, label in self["cell"])

    @property
    def label(self) -> str:
        """What people call the run: ``s1[fq_codel,20ms]#3``."""
        cell = ",".join(label for _, label in self["cell"])
        return f"{self['experiment']}{f'[{cell}]' if cell else ''}#{self['seed']}"

    @property
    def seconds(self) -> float:
        """How long the run is after its origin, s."""
        return _core.parse_span(self["duration"])

    @property
    def length(self) -> float:
        """How long is simulated, the warmup before the origin included, s."""
        return _core.parse_span(self["warmup"]) + self.seconds

    @property
    def plugins(self) -> Sequence[Mapping[str, str]]:
        """Shared libraries and Python files that it names; usually none."""
        found: Sequence[Mapping[str, str]] = self.get("plugins", ())
        return found

    @property
    def flows(self) -> list["Flow"]:
        """All flows, in order."""
        return [Flow(self, flow) for flow in self["flows"]]

    @property
    def loads(self) -> list["Flow"]:
        """The flows that carry data for their own sake, in order."""
        return [flow for flow in self.flows if flow.is_load]

    def elements(self, side: str) -> Iterator[tuple[str, Element]]:
        """Yield every element of one direction, ``down`` or ``up``, with its path: ``bottleneck.down.qdisc``."""
        for hop in self["hops"]:
            for element in hop[side]:
                yield f"{hop['name']}.{side}.{element['name']}", element

    @property
    def data_side(self) -> str:
        """The side of the hops that data passes, ``down`` or ``up``: ``up`` if all of it is uploads.

        If flows send as much as they can, their direction counts, and not that of calls. If these go both ways, it is
        ``down``.
        """
        greedy = [flow for flow in self.loads if flow.kind in _GREEDY and flow["traffic"].get("bytes") is None]
        ways = {flow["direction"] for flow in greedy or self.loads}
        return "up" if ways == {"up"} else "down"

    @property
    def bottleneck(self) -> tuple[str, Element] | None:
        """The bottleneck with its path: the slowest queue on the way of the data (:attr:`data_side`).

        None if that way has no queue.
        """
        found = [(path, e) for path, e in self.elements(self.data_side) if e["kind"] == "queue"]
        return min(found, key=lambda q: rate_mbit(q[1]) or float("inf")) if found else None


@dataclass(frozen=True, slots=True, eq=False)
class Flow(Mapping[str, Any]):
    """A flow of a scenario: the mapping that is stored, and what it says.

    >>> flow = Flow(Scenario(), {"name": "talk", "traffic": {"kind": "on_off", "over": {"over": "udp"}}})
    >>> flow.kind, flow.sender, flow.is_load, flow.group
    ('on_off udp', 'on_off', True, 'talk')
    """

    scenario: Scenario
    stored: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - as JSON is
        return self.stored[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.stored["name"])

    @property
    def group(self) -> str:
        """The name of the flows that one entry of a file makes with a count; its own if it is alone."""
        return str(self.stored.get("group") or self.stored["name"])

    @property
    def kind(self) -> str:
        """The kind of its traffic; of a source that switches on and off with what it sends: ``on_off udp``."""
        traffic = self.stored["traffic"]
        kind = str(traffic["kind"])
        return f"on_off {traffic['over']['over']}" if kind == "on_off" else kind

    @property
    def is_load(self) -> bool:
        """Whether it carries data for its own sake: everything but the probes."""
        return self.stored["traffic"]["kind"] not in _PROBES

    @property
    def sender(self) -> str:
        """What it sends by: its congestion control (behind its implementation, if any), or the kind of its traffic."""
        traffic = self.stored["traffic"]
        if traffic["kind"] in {"quic", "tcp_stack"}:
            return f"{traffic['stack']}/{traffic['cc']}"
        return str(traffic.get("cc") or traffic.get("tcp", {}).get("cc") or traffic["kind"])

    def base_rtt_ms(self, *, jitter: bool = True) -> float:
        """Return its base RTT, ms: the least delay of the netems on its way, there and back.

        Args:
            jitter: whether to count the further netems of a chain, which are there for jitter and bursts.
        """
        names = {self.scenario["hops"][index]["name"] for index in self.stored["hops"]}
        total = 0.0
        for side in ("down", "up"):
            for path, element in self.scenario.elements(side):
                if element["kind"] == "netem" and path.split(".")[0] in names:
                    own = [e["delay"] for e in element.get("per_flow", ()) if e["flow"] == self.stored["name"]]
                    first, *others = (_core.netem(words).delay_s for words in element["chain"])
                    total += (_core.parse_span(own[0]) if own else first) + sum(others if jitter else ())
        return round(total * 1e3, 6)


def rate_mbit(queue: Element) -> float | None:
    """Return a queue's rate, Mbit/s; None where nothing states it."""
    rate = queue.get("rate")
    return None if rate is None else _core.parse_rate(rate) / 1e6
