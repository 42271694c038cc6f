"""Experiments: UDP of known rates into one queue in front of a link of 12 Mbit/s, a millisecond a full frame.

Rates are shares of the link. A flow of share 1 keeps a queue as long as it is; a share above 1 makes it grow. Nothing
answers to what the queue does, so the answer of the queue is all that changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

LINK: Final = 12_000_000
"""Bit/s, Ethernet headers included."""
FRAME: Final = 1514
PAYLOAD: Final = 1472
PACKET_S: Final = FRAME * 8 / LINK
"""What a full frame takes on the link, s."""
SAMPLE_S: Final = 0.001


def is_kernel(engine: str) -> bool:
    """Return whether a kernel's own queue runs on this engine.

    >>> [is_kernel(engine) for engine in ("sim", "linux", "linux:mine")]
    [False, True, True]
    """
    return engine.partition(":")[0] == "linux"


@dataclass(frozen=True, slots=True)
class Load:
    """A UDP flow."""

    name: str
    share: float
    """Of the link's rate."""
    ecn: str = "ect0"
    start: float = 0.0
    stop: float | None = None


@dataclass(frozen=True, slots=True)
class Stimulus:
    """Loads, for a time."""

    loads: Sequence[Load]
    seconds: float
    link: int = LINK
    is_asked_when_empty: bool = False
    """Whether the device has to ask an empty queue for a packet. A line does, htb does not."""

    def later(self, by: float) -> "Stimulus":
        """Return it after a time without load, s."""
        loads = [replace(one, start=one.start + by, stop=one.stop and one.stop + by) for one in self.loads]
        return replace(self, loads=loads, seconds=self.seconds + by)

    def said(self, qdisc: str, engine: str = "sim") -> dict[str, Any]:
        """Return it in the words of the experiment language, with the kernel's own queue on its engine.

        Engines share htb with a bucket below one frame: it sends one at a time, as a line does. The bucket makes up for
        timers that fire late, by 256 ns on a kernel's clock; one of a byte leaves the link slower by 8 in 100,000.
        """
        flows = []
        for load in self.loads:
            bits = round(self.link * load.share * PAYLOAD / FRAME)
            flow: dict[str, Any] = {
                "name": load.name,
                "start": f"{load.start:.6f}s",
                "udp": {"rate": f"{bits}bit", "ecn": load.ecn},
            }
            if load.stop is not None:
                flow["stop"] = f"{load.stop:.6f}s"
            flows.append(flow)
        hop = {
            "name": "bottleneck",
            "rtt": "0s",
            **({"shaper": "line"} if self.is_asked_when_empty else {"burst": "100b"}),
            **({"by": "kernel"} if is_kernel(engine) else {}),
            "down": {"rate": f"{self.link}bit", "qdisc": qdisc},
            "up": {"queue": False},
        }
        return {
            "duration": f"{self.seconds:.3f}s",
            "sample_interval": "1ms",
            "ping": False,
            "hop": [hop],
            "flow": flows,
        }


def ramp(excess: float, seconds: float, ecn: str = "ect0") -> Stimulus:
    """Return a load that makes the queue grow slowly and evenly: by ``excess`` of the link's rate."""
    return Stimulus([Load("load", 1 + excess, ecn)], seconds)


FILL: Final = 0.05
"""The excess that fills a queue: little, since flows start within 25 ms of their time, and stop on it."""


def fill(length_s: float, start: float = 0.0, ecn: str = "ect0", name: str = "fill") -> Load:
    """Return a load that makes the queue longer by what the link needs ``length_s`` for."""
    return Load(name, FILL, ecn, start, start + 0.0125 + length_s / FILL)


def filled(length_s: float) -> float:
    """Return how long that takes, s."""
    return 0.0125 + length_s / FILL


def hold(length_s: float, seconds: float, ecn: str = "ect0") -> Stimulus:
    """Return a load that fills the queue to ``length_s`` and then keeps it there for ``seconds``."""
    return Stimulus([Load("load", 1.0, ecn), fill(length_s, ecn=ecn)], filled(length_s) + seconds)
