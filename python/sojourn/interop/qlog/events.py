"""Names of events and of their fields: those of draft-ietf-quic-qlog-quic-events-14 and those before.

A name is its kind, behind whatever category it had at the time: ``quic:recovery_metrics_updated`` is
``recovery:metrics_updated`` of draft 03 and ``recovery:metric_update`` of mvfst. Windows are in bytes, spans in ms,
rates in bit/s, as the drafts have them; mvfst's and picoquic's spans are in µs and say so.

Numbers that are no numbers, or below zero, are errors with the number of the record.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn.errors import DataFileError
from sojourn.interop.qlog.records import Event, number

METRICS: Final = frozenset({"recovery_metrics_updated", "metrics_updated", "metric_update", "congestion_metric_update"})
SENT: Final = frozenset({"packet_sent"})
RECEIVED: Final = frozenset({"packet_received"})
LOST: Final = frozenset({"packet_lost", "packets_lost"})
STATE: Final = frozenset({"congestion_state_updated"})
MTU: Final = frozenset({"mtu_updated"})
PARAMETERS: Final = frozenset({"recovery_parameters_set", "parameters_set"})
DATAGRAMS_SENT: Final = frozenset({"udp_datagrams_sent", "datagrams_sent", "datagram_sent"})
DATAGRAMS_RECEIVED: Final = frozenset({"udp_datagrams_received", "datagrams_received", "datagram_received"})

CATEGORIES: Final = frozenset({"quic", "transport", "recovery", "connectivity", "metric_update", "loss", ""})
"""Those of events of QUIC itself; HTTP/3 has kinds of the same names."""

SPANS: Final[Mapping[str, str]] = {
    "latest_rtt": "rtt_s",
    "smoothed_rtt": "srtt_s",
    "rtt_variance": "rttvar_s",
    "min_rtt": "min_rtt_s",
}
"""Spans of the metrics, and the number of ours that each is."""

NUMBERS: Final[Mapping[str, str]] = {
    "congestion_window": "cwnd",
    "cwnd": "cwnd",
    "current_cwnd": "cwnd",
    "ssthresh": "ssthresh",
    "bytes_in_flight": "inflight",
    "packets_in_flight": "packets_in_flight",
    "pacing_rate": "pacing_rate_bps",
    "pto_count": "pto_count",
}
"""Other metrics: windows in bytes, rates in bit/s, counts."""

OWN: Final[Mapping[str, str]] = {
    "sojourn_goodput": "goodput_bps",
    "sojourn_delivery_rate": "delivery_rate_bps",
    "sojourn_lost": "lost",
    "sojourn_retransmits": "retransmits",
    "sojourn_delivered": "delivered",
    "sojourn_ce": "ce",
    "sojourn_ece": "ece",
}
"""What Sojourn adds to the metrics, for which the draft leaves room, and its columns: rates in bit/s, counts since the
flow's start."""

NO_WINDOW: Final = 2**62
"""From here on a threshold is none: 2^64 - 1 is how implementations write that."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that was sent or received."""

    space: str
    """Which numbers it is counted by."""
    number: int | None
    size: int | None
    """Bytes, where stated."""
    probe: bool
    """Whether it only asks how large packets may be."""
    ce: bool
    """Whether it came with CE."""
    eliciting: bool
    """Whether it asks to be acknowledged (RFC 9002 §2); so it is held where its frames are not logged."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the values of events."""

    path: Path
    microseconds: bool

    def metrics(self, event: Event) -> dict[str, float]:
        """Return the numbers that an event of :data:`METRICS` has, by our names: spans in s, windows in bytes."""
        scale = 1e-6 if self.microseconds else 1e-3
        found: dict[str, float] = {}
        for key, name in SPANS.items():
            if event.data.get(key) is not None:
                found[name] = self._number(event, event.data, key) * scale
        for key, name in (*NUMBERS.items(), *OWN.items()):
            value = event.data.get(key)
            if key == "ssthresh" and isinstance(value, int) and value >= NO_WINDOW:
                found[name] = math.inf
            elif value is not None:
                found[name] = self._number(event, event.data, key)
        return found

    def packet(self, event: Event) -> Packet:
        """Return the packet that an event is of."""
        header = event.data.get("header")
        header = header if isinstance(header, dict) else event.data
        kind = str(header.get("packet_type", header.get("type", event.data.get("packet_type", event.data.get("type")))))
        space = {"initial": "initial", "handshake": "handshake"}.get(kind.lower(), "application")
        path = header.get("path_id")
        stated = header.get("packet_number", event.data.get("packet_number"))
        raw = event.data.get("raw")
        places = (
            (raw if isinstance(raw, dict) else {}, "length"),
            (header, "packet_size"),
            (event.data, "packet_size"),
            (header, "length"),
        )
        size = next((self._count(event, place, key) for place, key in places if place.get(key) is not None), None)
        return Packet(
            space=space if path is None else f"{space}/{path}",
            number=None if stated is None else round(self._number(event, {"packet_number": stated}, "packet_number")),
            size=size,
            probe=event.data.get("is_mtu_probe_packet") is True,
            ce=event.data.get("ecn") == "CE",
            eliciting=self._elicits(event),
        )

    def lost(self, event: Event) -> int:
        """Return how many packets an event of :data:`LOST` is of."""
        if "lost_packets" in event.data:
            return self._count(event, event.data, "lost_packets")
        return 0 if event.data.get("is_mtu_probe_packet") is True else 1

    def mtu(self, event: Event) -> int | None:
        """Return the largest datagram that an event states, bytes."""
        key = "new" if event.kind in MTU else "max_datagram_size"
        return None if event.data.get(key) is None else self._count(event, event.data, key) or None

    def datagrams(self, event: Event) -> tuple[int, int, int]:
        """Return how many UDP datagrams an event is of, the size of the largest, and how many had CE."""
        raw = event.data.get("raw")
        raw = raw if isinstance(raw, list) else [raw]
        sizes = [self._count(event, one, "length") for one in raw if isinstance(one, dict) and "length" in one]
        ecn = event.data.get("ecn")
        ce = sum(one == "CE" for one in ecn) if isinstance(ecn, list) else 0
        many = self._count(event, event.data, "count") if "count" in event.data else max(1, len(sizes))
        return many, max(sizes, default=0), ce

    def state(self, event: Event) -> tuple[str, str, str]:
        """Return the state before, the state after, and the trigger; empty where the event has none."""
        old, new, why = (event.data.get(key) for key in ("old", "new", "trigger"))
        if not isinstance(new, str):
            raise DataFileError(self.path, f"record {event.record}: data.new is not the name of a state: {new!r}")
        return (old if isinstance(old, str) else ""), new, (why if isinstance(why, str) else "")

    def acknowledged(self, event: Event) -> list[tuple[int, int]] | None:
        """Return the ranges of numbers that a packet acknowledges, in order; None if its frames are not logged."""
        frames = event.data.get("frames")
        if not isinstance(frames, list):
            return None
        ranges = []
        for frame in self._frames(frames, _ACKS):
            for one in _list(frame.get("acked_ranges")):
                ends = one if isinstance(one, list) else [one]
                found = [number(end) for end in ends[:2]]
                if not found or None in found or min(f for f in found if f is not None) < 0:
                    raise DataFileError(self.path, f"record {event.record}: acked_ranges has {str(one)[:60]}")
                low, high = (round(f) for f in (found[0], found[-1]) if f is not None)
                ranges.append((min(low, high), max(low, high)))
        return _disjoint(ranges)

    def stream_data(self, event: Event) -> Iterator[tuple[str, int, int]]:
        """Yield the stream, the offset and the length of the data in a packet, as far as its frames are logged."""
        for frame in self._frames(_list(event.data.get("frames")), frozenset({"stream"})):
            raw = frame.get("raw")
            places = (frame, raw if isinstance(raw, dict) else {})
            keys = ("length", "len", "payload_length")
            place = next(((p, k) for k in keys for p in places if p.get(k) is not None), None)
            if place is None:
                continue
            offset = self._count(event, frame, "offset") if frame.get("offset") is not None else 0
            yield str(frame.get("stream_id", frame.get("id"))), offset, self._count(event, *place)

    def _elicits(self, event: Event) -> bool:
        frames = event.data.get("frames")
        if not isinstance(frames, list) or not frames:
            return True
        kinds = {str(f.get("frame_type", f.get("type"))).lower() for f in frames if isinstance(f, dict)}
        return not kinds <= _SILENT

    def _frames(self, frames: list[Any], kinds: frozenset[str]) -> Iterator[Mapping[str, Any]]:
        for frame in frames:
            if isinstance(frame, dict) and str(frame.get("frame_type", frame.get("type"))).lower() in kinds:
                yield frame

    def _count(self, event: Event, place: Mapping[str, Any], key: str) -> int:
        return round(self._number(event, place, key))

    def _number(self, event: Event, place: Mapping[str, Any], key: str) -> float:
        found = number(place[key])
        if found is None or found < 0:
            text = repr(place[key])
            what = "no number" if found is None else "below zero"
            raise DataFileError(self.path, f"record {event.record}: {key} is {what}: {text[:60]}")
        return found


_ACKS: Final = frozenset({"ack", "ack_mp", "path_ack"})
_SILENT: Final = _ACKS | {"padding", "connection_close", "application_close"}
"""Frames that nobody acknowledges by themselves."""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _disjoint(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same numbers as ranges that are in order and do not overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged
