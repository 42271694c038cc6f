"""A trace's events added up to a flow's columns, at the end of each sample interval.

Windows are in packets of the largest UDP payload of the time, as those of the simulator's QUIC flows are: the size that
the trace states, else the largest packet that was sent so far, else 1200 bytes (RFC 9000 §14.1), rounded up.

:attr:`Connection.goodput_at` says where bytes in order were counted: an end that receives data counts arrivals; an end
that sends counts acknowledged bytes, half an RTT later. Both need the frames of the packets. The delivery rate is
sampled as the simulator's senders sample theirs (:mod:`~sojourn.interop.qlog.outstanding`).
"""

import math
from typing import Any, Final, Literal

from sojourn.interop.qlog import events
from sojourn.interop.qlog.events import Reader
from sojourn.interop.qlog.in_order import InOrder
from sojourn.interop.qlog.outstanding import Outstanding
from sojourn.interop.qlog.records import Event

LEAST_PACKET: Final = 1200
"""The largest datagram that every path carries, bytes (RFC 9000 §14.1)."""

NO_THRESHOLD: Final = 2147483647
"""The column's word for no slow-start threshold."""

_AS_STATED: Final = ("rtt_s", "srtt_s", "rttvar_s", "pacing_rate_bps", "delivery_rate_bps", "goodput_bps")
_COUNTS: Final = ("lost", "retransmits", "delivered", "ce", "ece")
_LINUX: Final = {name.lower(): name for name in ("Open", "Disorder", "CWR", "Recovery", "Loss")}


class Connection:
    """One end of a connection, as its trace has it so far."""

    def __init__(self, reader: Reader) -> None:
        self._read = reader
        self._numbers: dict[str, float] = {}
        self._stated: int | None = None
        self._largest = 0
        self._outstanding = Outstanding()
        self._acknowledged, self._received = InOrder(), InOrder()
        self._sent_bytes = 0
        self._counts = dict.fromkeys(("packets_sent", "packets_received", "bytes_sent", "lost", "acked"), 0)
        self._datagrams = dict.fromkeys(("sent", "received"), 0)
        self._ce = {"packets": 0, "datagrams": 0}
        self._state = "Open"
        self._last = {"received": 0.0, "acknowledged": 0.0}
        self.changes: list[tuple[float, str]] = []
        """When the control changed its state, s, and how."""
        self.found: set[str] = set()
        """Columns of flows that the trace has values for."""
        self.used: set[str] = set()
        """Kinds of events that gave values."""

    def take(self, event: Event) -> None:
        """Add an event. Events that say nothing of a column are passed over."""
        if event.category not in events.CATEGORIES:
            return
        for kinds, act in self._ACTS:
            if event.kind in kinds:
                self.used.add(event.kind)
                act(self, event)

    def _metrics(self, event: Event) -> None:
        self._numbers |= self._read.metrics(event)

    def _sent(self, event: Event) -> None:
        packet = self._read.packet(event)
        self._counts["packets_sent"] += 1
        self._counts["bytes_sent"] += packet.size or 0
        if packet.size is not None and not packet.probe:
            self._largest = max(self._largest, packet.size)
        data = tuple(self._read.stream_data(event))
        self._sent_bytes += sum(length for _, _, length in data)
        if packet.number is not None and packet.eliciting:
            self._outstanding.send(packet.space, packet.number, event.at / 1e3, packet.size, data)

    def _came(self, event: Event) -> None:
        packet = self._read.packet(event)
        self._counts["packets_received"] += 1
        self._ce["packets"] += packet.ce
        for part in self._read.stream_data(event):
            self._received.add(*part)
        ranges = self._read.acknowledged(event)
        if not ranges:
            return
        for acknowledged in self._outstanding.acknowledge(packet.space, event.at / 1e3, ranges):
            self._counts["acked"] += 1
            self.found.add("delivered")
            for part in acknowledged.data:
                self._acknowledged.add(*part)

    def _lost(self, event: Event) -> None:
        self._counts["lost"] += self._read.lost(event)
        packet = self._read.packet(event)
        if packet.number is not None:
            self._outstanding.lose(packet.space, packet.number)

    def _changed(self, event: Event) -> None:
        old, new, why = self._read.state(event)
        self._state = _LINUX.get(new.lower(), "Open")
        self.found.add("state")
        said = f"{old} to {new}" if old else f"to {new}"
        self.changes.append((event.at / 1e3, f"{said} ({why})" if why else said))

    def _sized(self, event: Event) -> None:
        self._stated = self._read.mtu(event) or self._stated

    def _datagrams_sent(self, event: Event) -> None:
        many, largest, _ = self._read.datagrams(event)
        self._datagrams["sent"] += many
        if not self._counts["packets_sent"]:
            self._largest = max(self._largest, largest)

    def _datagrams_came(self, event: Event) -> None:
        many, _, ce = self._read.datagrams(event)
        self._datagrams["received"] += many
        self._ce["datagrams"] += ce

    _ACTS = (
        (events.METRICS, _metrics),
        (events.SENT, _sent),
        (events.RECEIVED, _came),
        (events.LOST, _lost),
        (events.STATE, _changed),
        (events.MTU | events.PARAMETERS, _sized),
        (events.DATAGRAMS_SENT, _datagrams_sent),
        (events.DATAGRAMS_RECEIVED, _datagrams_came),
    )

    @property
    def sends(self) -> bool:
        """Whether this end sends more of the streams' data than it receives, as far as that is known."""
        return self._sent_bytes >= self._received.total

    @property
    def goodput_at(self) -> Literal["receiver", "sender"] | None:
        """Where what arrived in order was seen; None if the frames of packets were not logged."""
        if "goodput_bps" in self._numbers or (not self.sends and self._received.total):
            return "receiver"
        return "sender" if self._acknowledged.total else None

    @property
    def packet(self) -> int:
        """Bytes of the largest datagram, which windows are counted in."""
        return self._stated or self._largest or LEAST_PACKET

    def row(self, t: float, step: float) -> dict[str, Any]:
        """Return the columns at the end of a sample interval of this length, both in s.

        Two further keys, ``received`` and ``acknowledged``, are goodput as seen at the receiver and at the sender.
        """
        own: dict[str, float] = {}
        own |= {name: self._numbers[name] for name in _AS_STATED if name in self._numbers}
        if self._outstanding.rate_bps is not None:
            own.setdefault("delivery_rate_bps", self._outstanding.rate_bps)
        if "packets_in_flight" in self._numbers:
            own["inflight"] = round(self._numbers["packets_in_flight"])
        for name in ("cwnd", "ssthresh", "inflight"):
            if name in self._numbers:
                own[name] = math.ceil(min(self._numbers[name] / self.packet, NO_THRESHOLD))
        counts = self._cumulative()
        self.found |= own.keys()
        return {"t_s": t, "state": self._state, "ssthresh": NO_THRESHOLD} | own | counts | self._arrived(step)

    def _cumulative(self) -> dict[str, int]:
        lost = self._counts["lost"]
        if self.used & (events.SENT | events.LOST):
            self.found |= {"lost", "retransmits"}
        counts = {"lost": lost, "retransmits": lost, "delivered": self._counts["acked"], "ce": max(self._ce.values())}
        stated = {name: round(self._numbers[name]) for name in _COUNTS if name in self._numbers}
        self.found |= stated.keys() | ({"ce"} if counts["ce"] else set())
        return counts | stated

    def _arrived(self, step: float) -> dict[str, float]:
        """Return goodput over the interval that ends now."""
        totals = {
            "received": float(self._received.total),
            "acknowledged": float(self._acknowledged.total),
        }
        rates = {name: (total - self._last[name]) * 8 / step for name, total in totals.items()}
        self._last = totals
        return rates

    def gauges(self) -> dict[str, float]:
        """Return the other known numbers of now, by name."""
        found: dict[str, float] = {}
        found |= {name: self._numbers[name] for name in ("min_rtt_s", "pto_count") if name in self._numbers}
        if self._counts["packets_sent"]:
            found |= {name: float(self._counts[name]) for name in ("packets_sent", "bytes_sent")}
        if self._counts["packets_received"]:
            found["packets_received"] = float(self._counts["packets_received"])
        return found

    def totals(self) -> dict[str, float]:
        """Return counts at the end, by the names that the simulator's QUIC flows have."""
        counts = {"packets_sent": "packets_sent", "packets_received": "packets_received", "packets_lost": "lost"}
        found = {name: float(self._counts[key]) for name, key in counts.items()}
        datagrams = {f"datagrams_{way}": float(count) for way, count in self._datagrams.items() if count}
        return found | datagrams
