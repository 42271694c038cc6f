"""A QUIC flow's packets as events of draft-ietf-quic-qlog-quic-events-14, from the capture of its sender's host.

``quic:packet_sent`` and ``quic:packet_received`` with headers and frames, ``quic:packets_acked`` for what is
acknowledged for the first time, ``quic:packet_lost``, and ``quic:udp_datagrams_sent`` and ``_received``, which is where
the draft has the ECN codepoint. The counts of ECN that a receiver reports are in its ``ack`` frames.

Captures do not show what a sender holds for lost; the table ``flows`` has how many packets it held for lost in each
sample interval. Which ones follows from RFC 9002 §6.1: both thresholds take packets in the order of their numbers, so
that no packet is lost before one that was sent earlier and is out as well. So they are the lowest numbers that are out
at the interval's end. Where an acknowledgement comes within the interval for a packet that was held for lost in it, the
packet behind it is named in its stead. Probes of the path's MTU are not counted.

Of a flow with TLS nothing can be read but its datagrams.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sojourn.errors import DataFileError
from sojourn.interop.qlog.datagrams import Datagram, datagrams
from sojourn.interop.qlog.wire import NotQuicError, Packet, Reader

CUT: Final = "sojourn_is_cut"
"""Says in a packet's event that it has frames that the capture did not keep, or behind one of an unknown type."""

_AGAIN: Final = "make it again with --pcap --snap-len 2000"


class Packets:
    """A flow's packets, as events that are asked for up to a time, and the losses of the intervals between."""

    def __init__(self, capture: Path, number: int, *, is_encrypted: bool) -> None:
        self._capture, self._is_encrypted = capture, is_encrypted
        self._datagrams = datagrams(capture, number)
        self._next = next(self._datagrams, None)
        if self._next is None:
            raise DataFileError(capture, f"it has no datagrams of flow {number}", help=_AGAIN)
        self._sender, self._receiver = Reader(), Reader()
        self._out: dict[str, list[int]] = {"initial": [], "handshake": [], "application_data": []}
        self._ids = 0

    def until(self, at: float) -> Iterator[tuple[float, str, dict[str, Any]]]:
        """Yield time (ms), name and data of the events up to this time, ms, itself included."""
        while self._next is not None and self._next.at <= at:
            for name, data in self._events(self._next):
                yield self._next.at, name, data
            self._next = next(self._datagrams, None)

    def lost(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield the data of events for ``count`` packets that the sender declared lost since the last time."""
        for _ in range(count):
            space = next((space for space, out in self._out.items() if out), None)
            if space is None:
                yield {}
                continue
            kind = "1RTT" if space == "application_data" else space
            yield {"header": {"packet_type": kind, "packet_number": self._out[space].pop(0)}}

    def _events(self, datagram: Datagram) -> Iterator[tuple[str, dict[str, Any]]]:
        own, self._ids = self._ids, self._ids + 1
        way = "sent" if datagram.sent else "received"
        about: dict[str, Any] = {"count": 1, "raw": [{"length": datagram.length}], "ecn": [datagram.ecn]}
        yield f"udp_datagrams_{way}", about | {"datagram_ids": [own]}
        if self._is_encrypted:
            return
        reader, peer = (self._sender, self._receiver) if datagram.sent else (self._receiver, self._sender)
        try:
            packets = reader.packets(datagram.kept, datagram.length, peer.own_id)
        except NotQuicError as error:
            raise DataFileError(
                self._capture,
                f"the datagram at {datagram.at:.6f} ms is not understood: {error}",
                help=_AGAIN,
            ) from None
        for packet in packets:
            yield f"packet_{way}", _data(packet, own, sent=datagram.sent)
            if datagram.sent:
                self._took(packet)
            else:
                yield from self._acknowledged(datagram, packet)

    def _took(self, packet: Packet) -> None:
        if packet.space == "application_data":
            # The handshake's numbers are of no more use once there are keys for data (RFC 9001 §4.9).
            self._out["initial"].clear()
        if not packet.is_mtu_probe:
            insort(self._out[packet.space], packet.number)

    def _acknowledged(self, datagram: Datagram, packet: Packet) -> Iterator[tuple[str, dict[str, Any]]]:
        acks = [frame for frame in packet.frames if frame["frame_type"] == "ack"]
        if packet.is_cut and not acks:
            raise DataFileError(
                self._capture,
                f"the packet received at {datagram.at:.6f} ms is cut off before what it acknowledges",
                help=_AGAIN,
            )
        out = self._out[packet.space]
        news: list[int] = []
        for low, high in ((ends[0], ends[-1]) for ack in acks for ends in ack["acked_ranges"]):
            begin, end = bisect_left(out, low), bisect_left(out, high + 1)
            news += out[begin:end]
            del out[begin:end]
        if any(frame["frame_type"] == "handshake_done" for frame in packet.frames):
            self._out["handshake"].clear()
        if news:
            yield "packets_acked", {"packet_number_space": packet.space, "packet_numbers": sorted(news)}


def _data(packet: Packet, datagram: int, *, sent: bool) -> dict[str, Any]:
    data: dict[str, Any] = {"header": packet.header, "frames": packet.frames}
    data |= {"raw": {"length": packet.length}, "datagram_id": datagram}
    # The draft has this of packets that are sent alone.
    if sent and packet.is_mtu_probe:
        data["is_mtu_probe_packet"] = True
    return data | ({CUT: True} if packet.is_cut else {})
