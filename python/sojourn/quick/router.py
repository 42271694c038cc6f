"""What to paste on a router: the queue that was tried, in tc's words, below the rate of its link.

A queue does nothing where it is not the slowest: a router's shaper is set a little below the line, so that packets wait
in the router and not in the modem. Uploads leave by its interface to the line, downloads by the one to the home.
"""

import re
from typing import Final

from sojourn.core import listings
from sojourn.quick.facts import Facts

SHARE: Final = 0.95
"""The shaper's rate, as a share of the line's."""


def commands(facts: Facts) -> list[str]:
    """Return the commands of one queue, for both directions; none where Linux as it is shipped does not have it."""
    down, up = facts.links.get("down"), facts.links.get("up")
    if down is None or up is None or not _is_mainline(facts.kind):
        return []
    return [
        line
        for interface, what, rate in (("WAN", "uploads", up), ("LAN", "downloads", down))
        for line in _of(facts.qdisc, f'"${interface}"', what, rate)
    ]


def _of(words: str, interface: str, what: str, rate: float) -> list[str]:
    """Return the commands for one interface.

    >>> _of("cake docsis", "eth0", "uploads", 20e6)
    ['tc qdisc replace dev eth0 root cake docsis bandwidth 19000kbit  # uploads']
    >>> _of("fq_codel", "eth0", "uploads", 20e6)[-1]
    'tc qdisc replace dev eth0 parent 1:1 fq_codel'
    """
    shaped = f"{SHARE * rate / 1e3:.0f}kbit"
    kind, *options = words.split()
    if kind == "cake":
        own = [] if "bandwidth" in options else ["bandwidth", shaped]
        return [f"tc qdisc replace dev {interface} root {' '.join([kind, *options, *own])}  # {what}"]
    return [
        f"tc qdisc replace dev {interface} root handle 1: htb default 1  # {what}",
        f"tc class replace dev {interface} parent 1: classid 1:1 htb rate {shaped}",
        f"tc qdisc replace dev {interface} parent 1:1 {words}",
    ]


def _is_mainline(kind: str) -> bool:
    """Whether Linux as it is shipped has this discipline: its source says so."""
    sources = [str(one["source"]).split("; ") for one in listings.qdiscs() if one["name"] == kind]
    return any(_SHIPPED.match(source) for own in sources for source in own)


_SHIPPED: Final = re.compile(r"Linux (\S+ to )?7\.3\b")
