"""Which column of ours is which key of Flent's, and what its tests call their series."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sojourn.core.scenario import Flow, Scenario

SUFFIX: Final = ".flent.gz"
"""How the names of Flent's files end."""

VERSION: Final = 4
"""The version of the file format that is written, and the newest that is read."""


@dataclass(frozen=True, slots=True)
class Key:
    """A number in a raw value of a flow."""

    column: str
    """In the table ``flows``."""
    name: str
    """In Flent's raw values."""
    factor: float = 1.0
    """Flent's number over ours."""


FLOW_KEYS: Final = (
    Key("goodput_bps", "val", 1e-6),
    # What Flent's `ss` runner records of each connection.
    Key("delivery_rate_bps", "tcp_delivery_rate", 1e-6),
    Key("srtt_s", "tcp_rtt", 1e3),
    Key("rttvar_s", "tcp_rtt_var", 1e3),
    Key("cwnd", "tcp_cwnd"),
    Key("pacing_rate_bps", "tcp_pacing_rate", 1e-6),
    # What it does not; its plots pass over keys that they do not know.
    Key("rtt_s", "sojourn_rtt", 1e3),
    Key("ssthresh", "sojourn_ssthresh"),
    Key("inflight", "sojourn_inflight"),
    Key("retransmits", "sojourn_retransmits"),
    Key("lost", "sojourn_lost"),
    Key("delivered", "sojourn_delivered"),
    Key("ce", "sojourn_ce"),
    Key("ece", "sojourn_ece"),
    Key("state", "sojourn_state"),
    Key("out_of_order_bytes", "sojourn_out_of_order_bytes"),
)
"""Rates in Mbit/s and times in ms, as Flent has them; windows in packets."""

DELAY: Final = 5.0
"""Flent's tests begin and end with their probes alone, for so long, s. Its statistics leave both out."""

COMPUTED: Final = ("avg", "sum", "fairness", "totals")
"""How the names of series end that Flent computes from others."""

Way = Literal["upload", "download"]
"""Which way a stream goes, in Flent's words: its host is the client."""

OWD_KEYS: Final[Mapping[Way, Mapping[str, str]]] = {
    "upload": {"owd_s": "owd_up", "owd_back_s": "owd_down"},
    "download": {"owd_s": "owd_down", "owd_back_s": "owd_up"},
}
"""Which column of a probe is which key, by the way of its requests."""

RRUL_STREAMS: Final = 4
"""Streams each way of Flent's test ``rrul_be``."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A run as one of Flent's tests: the one that has the plots that its flows call for.

    Uploads alone are ``tcp_nup``, downloads alone ``tcp_ndown``; both ways ``rrul_be`` up to four streams each, beyond
    that ``rrul_be_nflows``; probes alone ``ping``.
    """

    test: str
    names: Mapping[str, str]
    """The series of each flow."""
    uploads: Sequence[str]
    downloads: Sequence[str]
    ways: Mapping[str, Way]
    """Upload or download, by our direction."""

    @classmethod
    def of(cls, scenario: Scenario, down: Way = "download") -> "Layout":
        """Lay out the flows of a scenario.

        Args:
            scenario: the scenario of the flows.
            down: the meaning of ``down``: a download, unless the experiment re-creates a test with uploads that way.
        """
        flows = scenario.flows
        ways: dict[str, Way] = {"down": down, "up": "upload" if down == "download" else "download"}
        tcp = [f for f in flows if is_tcp(f)]
        uploads = [f["name"] for f in tcp if ways[f["direction"]] == "upload"]
        downloads = [f["name"] for f in tcp if ways[f["direction"]] == "download"]
        names: dict[str, str] = {}
        if uploads and downloads:
            few = max(len(uploads), len(downloads)) <= RRUL_STREAMS
            test = "rrul_be" if few else "rrul_be_nflows"
            for way, own in (("upload", uploads), ("download", downloads)):
                for i, name in enumerate(own, 1):
                    names[name] = f"TCP {way} BE{i if i > 1 else ''}" if few else f"TCP {way} BE::{i}"
        else:
            test = "tcp_nup" if uploads else "tcp_ndown" if downloads else "ping"
            for way, own in (("upload", uploads), ("download", downloads)):
                names |= {name: f"TCP {way}::{i}" for i, name in enumerate(own, 1)}
        counts = {"ping": 0, "irtt": 0}
        for flow in flows:
            name, kind = flow.name, flow.kind
            if name in names:
                continue
            if kind in counts:
                counts[kind] += 1
                names[name] = _probe(kind, counts[kind], test)
            else:
                names[name] = f"UDP {ways[flow['direction']]}::{name}"
        return cls(test, names, uploads, downloads, ways)


def is_tcp(flow: Flow) -> bool:
    """Whether a flow's data goes over TCP."""
    traffic = flow["traffic"]
    if traffic["kind"] == "quic":
        return False
    return "cc" in traffic or "tcp" in traffic


def _probe(kind: str, number: int, test: str) -> str:
    if kind == "ping":
        return "Ping (ms) ICMP" if number == 1 else f"Ping (ms) ICMP::{number}"
    if test == "rrul_be":
        return f"Ping (ms) UDP BE{number}"
    return "Ping (ms) UDP" if number == 1 else f"Ping (ms) UDP::{number}"
