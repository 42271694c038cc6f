"""The set-up by a run's hooks, on its way to an experiment."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sojourn.interop.batch.placed import Placed

Side = Literal["down", "up"]
Way = Literal["to-server", "to-client"]

HOP = "bottleneck"
EARLY_S = 5.19
"""How long before netperf's start the harness's ``after`` counts from. By the captures a change lands 0.18 s short of S
behind the first ping's request, and netperf starts 5.01 s behind that (ect1_pcap.csv, ``first_rel_T0``)."""


@dataclass(slots=True)
class Queue:
    """One direction's queue."""

    kind: str
    shaper: Literal["htb", "own"]


@dataclass(slots=True)
class SetUp:
    """One run's middle box, hosts and events; :mod:`sojourn.interop.batch.hooks` fills it in."""

    sides: dict[Way, Side]
    """Which direction of the hop is which way."""
    hop: dict[str, Any] = field(default_factory=lambda: {"name": HOP, "down": {}, "up": {}})
    events: list[dict[str, Any]] = field(default_factory=list)
    queues: dict[Side, Queue] = field(default_factory=dict)
    base_rtt: dict[int, str] = field(default_factory=dict)
    """Base RTT by DSCP, where ``rttfair`` gives flows their own."""
    host_qdisc: dict[Way, str] = field(default_factory=dict)
    """The senders' own queues, by the way their data goes."""
    tell: Callable[[str, Placed], None] = lambda _text, _at: None
    """Takes note of words without an effect here."""

    def side(self, way: Way) -> dict[str, Any]:
        """Return the settings of one direction."""
        direction: dict[str, Any] = self.hop[self.sides[way]]
        return direction
