"""The path of a router, and the interop runner's ``SCENARIO`` as one.

The QUIC interop runner's network is a container that reads a scenario of ns-3 from its environment:
``simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25`` (quic-interop/quic-network-simulator, ``sim/scenarios``).
``simple-p2p`` is a point-to-point link with that delay each way, that rate in both directions, and a FIFO of that many
packets at each end. Its frames carry 2 bytes of PPP; those here carry 14 of Ethernet.

Invariant: a scenario or a word that means something else here, or nothing, is refused by name.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Final

from sojourn.errors import UsageError
from sojourn.quick.line import Line


@dataclass(frozen=True, slots=True)
class Routed(Line):
    """A bottleneck between two interfaces of this machine."""

    name: ClassVar[str] = "router"
    left: str = "eth0"
    """The interface towards the client."""
    right: str = "eth1"
    """The interface towards the server."""
    is_wire: bool = False
    """Whether the link sends each packet at its rate, without a shaper's bursts."""

    def hops(self) -> list[dict[str, object]]:
        """Return the bottleneck."""
        [hop] = Line.hops(self)
        return [{**hop, "shaper": "line"} if self.is_wire else hop]

    def command(self, program: Sequence[str]) -> str:
        """Return the command that starts it; a router has no program."""
        return shlex.join(["sojourn", "router", self.left, self.right, *self.words, *program])


@dataclass(frozen=True, slots=True)
class Link:
    """What a scenario says of the path, in the words of ``sojourn router``; None where it says nothing."""

    rate: str | None = None
    up: str | None = None
    rtt: str | None = None
    qdisc: str | None = None
    up_qdisc: str | None = None
    is_wire: bool = False


def scenario(text: str) -> Link:
    """Read a scenario: options of ``sojourn router``, or ``simple-p2p`` in ns-3's words.

    >>> scenario("--rate 10mbit --rtt 30ms --qdisc 'pie ecn'")
    Link(rate='10mbit', up=None, rtt='30ms', qdisc='pie ecn', up_qdisc=None, is_wire=False)
    >>> scenario("simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25")
    Link(rate='10mbit', up=None, rtt='30ms', qdisc='pfifo limit 25', up_qdisc=None, is_wire=True)

    Raises:
        UsageError: if it is another scenario of ns-3, or a word is wrong.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the scenario {text}: {error}", help="quote it as in a shell") from error
    if not words or words[0].startswith("-"):
        found = _options("a scenario", words, _OWN)
        rate, up, rtt, qdisc, up_qdisc = (found.get(name) for name in _OWN)
        return Link(rate, up, rtt, qdisc, up_qdisc)
    kind, *rest = words
    if kind in _REFUSED:
        raise UsageError(f"the scenario {kind} has no counterpart here", help=_REFUSED[kind])
    if kind != _P2P:
        raise UsageError.unknown("scenario", kind, [_P2P, *_REFUSED])
    found = _options(_P2P, rest, _NS3)
    for name in _NS3:
        if name not in found:
            raise UsageError(f"{_P2P} needs --{name}", help=_EXAMPLE)
    queue = found["queue"]
    if not re.fullmatch(r"[1-9][0-9]{0,8}", queue):
        raise UsageError(f"{_P2P}: --queue={queue} is no number of packets", help=_EXAMPLE)
    return Link(rate=_rate(found["bandwidth"]), rtt=_twice(found["delay"]), qdisc=f"pfifo limit {queue}", is_wire=True)


_P2P: Final = "simple-p2p"
_EXAMPLE: Final = "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25"
_NS3: Final = ("delay", "bandwidth", "queue")
_OWN: Final = ("rate", "up", "rtt", "qdisc", "up-qdisc")

_NS3_IMAGE: Final = "this test needs the runner's own image, martenseemann/quic-network-simulator"
_CROSS: Final = (
    f"{_EXAMPLE} here, and the cross traffic by programs on the hosts (iperf3): it passes the same queue and has rows "
    "of its own"
)

_REFUSED: Final[Mapping[str, str]] = {
    "asymmetric-p2p": "write our options: --rate 10mbit --up 2mbit --rtt 30ms --qdisc 'pfifo limit 25'",
    "blackhole": f"a link that is off for a while: {_NS3_IMAGE}",
    "corrupt-rate": f"packets with wrong bits: {_NS3_IMAGE}",
    "drop-rate": f"random loss: {_NS3_IMAGE}",
    "droplist": f"loss by packet number: {_NS3_IMAGE}",
    "nat": f"addresses that change: {_NS3_IMAGE}",
    "rebind": f"addresses and ports that change: {_NS3_IMAGE}",
    "tcp-cross-traffic": _CROSS,
    "udp-cross-traffic": _CROSS,
}
"""The other scenarios of ns-3's image, and what to use instead."""


def _options(what: str, words: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Return the values of ``--name value`` and ``--name=value``."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name.removeprefix("--") not in known or not name.startswith("--"):
            raise UsageError.unknown(f"option of {what}", name, [f"--{own}" for own in known])
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value", help=_EXAMPLE if known is _NS3 else "--rate 10mbit")
            value = rest.pop(0)
        found[name.removeprefix("--")] = value
    return found


_BITS: Final = {"": "bit", "k": "kbit", "M": "mbit", "G": "gbit"}


def _rate(text: str) -> str:
    """Return ns-3's rate in tc's words: there ``10Mbps`` is bits, in tc bytes.

    >>> _rate("10Mbps"), _rate("1.5Gb/s"), _rate("800kbps")
    ('10mbit', '1.5gbit', '800kbit')
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kKMG]?)(?:bps|b/s)", text)
    if found is None:
        raise UsageError(f"{_P2P}: --bandwidth={text} is no rate in bits per second", help=_EXAMPLE)
    return found[1] + _BITS[found[2].replace("K", "k")]


def _twice(text: str) -> str:
    """Return the RTT of a delay each way.

    >>> _twice("15ms"), _twice("0.25s"), _twice("750us")
    ('30ms', '0.5s', '1500us')
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|ms|us)", text)
    if found is None:
        raise UsageError(f"{_P2P}: --delay={text} is no delay in s, ms or us", help=_EXAMPLE)
    twice = format(2 * Decimal(found[1]), "f")
    return (twice.rstrip("0").rstrip(".") if "." in twice else twice) + found[2]
