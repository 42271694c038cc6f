"""QUIC packets that are not encrypted, as qlog's headers and frames.

The packets are those of RFC 9000 §16, §17 and §19, the names those of draft-ietf-quic-qlog-quic-events-14. Flows with
``crypto = "null"`` have TLS's packets, tags of the AEAD included, with nothing enciphered. So a capture says what each
packet was. Only what was kept of a packet can be read: where a frame goes on beyond that, reading ends, and
:attr:`Packet.is_cut` says so. The data of streams are not needed.

A number is the one nearest to what was expected next that ends with the bits sent (RFC 9000 §A.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

TAG: Final = 16
"""Bytes of an AEAD's tag at the end of each packet (RFC 9001 §5.3)."""

ACK_DELAY_UNIT_MS: Final = 8 / 1e3
"""What acknowledgement delays are counted in by a peer that does not say otherwise (RFC 9000 §18.2), ms."""

_LONG: Final = ("initial", "0RTT", "handshake", "retry")
SPACES: Final[Mapping[str, str]] = {
    "initial": "initial",
    "handshake": "handshake",
    "0RTT": "application_data",
    "1RTT": "application_data",
}
"""The space of numbers of each type of packet, as qlog calls it."""


class NotQuicError(Exception):
    """The bytes are no QUIC packet of version 1."""


class _CutError(Exception):
    """The next bytes were not captured."""


@dataclass(slots=True)
class Packet:
    """A packet."""

    header: dict[str, Any]
    """``PacketHeader``."""
    frames: list[dict[str, Any]]
    """The frames, as far as they can be read."""
    length: int
    """Bytes, header and tag included."""
    is_cut: bool
    """Whether frames are missing: they were not kept, or a frame is of an unknown type."""

    @property
    def space(self) -> str:
        """Its space of numbers."""
        return SPACES[self.header["packet_type"]]

    @property
    def number(self) -> int:
        """Its number."""
        number: int = self.header["packet_number"]
        return number

    @property
    def is_mtu_probe(self) -> bool:
        """Whether all that it asks is how large packets may be (RFC 8899): a ping, padded, after the handshake."""
        kinds = {frame["frame_type"] for frame in self.frames}
        return self.header["packet_type"] == "1RTT" and "padding" in kinds and kinds <= _PROBE


_PROBE: Final = frozenset({"ping", "padding", "immediate_ack"})


class _Bytes:
    """Bytes that are read one after another: ``length`` on the wire, of them ``kept`` in the capture."""

    def __init__(self, kept: bytes, length: int) -> None:
        self._kept, self.length, self.at = kept, length, 0

    def __bool__(self) -> bool:
        return self.at < self.length

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > self.length:
            raise NotQuicError(f"{count} bytes are to come, and there are {self.length - self.at}")
        if end > len(self._kept):
            raise _CutError
        taken = self._kept[self.at : end]
        self.at = end
        return taken

    def until(self, end: int) -> "_Bytes":
        """Return the remaining bytes, up to there."""
        rest = _Bytes(self._kept[:end], end)
        rest.at = self.at
        return rest

    def skip(self, count: int) -> None:
        if self.at + count > self.length:
            raise NotQuicError(f"{count} bytes are to come, and there are {self.length - self.at}")
        self.at += count

    def number(self) -> int:
        """Take an integer of variable length (RFC 9000 §16)."""
        first = self.take(1)[0]
        rest = self.take((1 << (first >> 6)) - 1)
        return int.from_bytes(bytes([first & 0x3F]) + rest)

    def zeros(self) -> int:
        """Take what zeros come next, and return how many; all to the end, where the rest of them was not kept."""
        rest = self._kept[self.at : self.length]
        zeros = len(rest) - len(rest.lstrip(b"\0"))
        if self.at + zeros == len(self._kept) < self.length:
            raise _CutError
        self.at += zeros
        return zeros


class Reader:
    """Reads the packets of one end of a connection, in the order in which they are seen."""

    def __init__(self) -> None:
        self._largest: dict[str, int] = {}
        self.own_id: int | None = None
        """Length in bytes of this end's connection ID, which its peer's short headers have; None until known."""

    def packets(self, kept: bytes, length: int, peer_id: int | None) -> list[Packet]:
        """Return the packets of a datagram.

        Args:
            kept: the beginning of the datagram, as captured.
            length: bytes of the datagram.
            peer_id: bytes of the connection ID of the end that it goes to.

        Raises:
            NotQuicError: if it is not QUIC of version 1, or begins with a packet of a connection that began before the
                capture.
        """
        found: list[Packet] = []
        datagram = _Bytes(kept, length)
        try:
            while datagram:
                found.append(self._packet(datagram, peer_id))
        except _CutError:
            # An unreadable header: the packet before it is marked as incomplete.
            if not found:
                raise NotQuicError("the capture has no complete header") from None
            found[-1].is_cut = True
        return found

    def _packet(self, datagram: _Bytes, peer_id: int | None) -> Packet:
        start = datagram.at
        flags = datagram.take(1)[0]
        header: dict[str, Any]
        if flags & 0x80:
            header, end = self._long(datagram, flags)
        elif peer_id is None:
            raise NotQuicError("the capture lacks the start of the connection")
        else:
            header = {"packet_type": "1RTT", "flags": flags, "dcid": datagram.take(peer_id).hex()}
            end = datagram.length
        size = (flags & 3) + 1
        space = SPACES[header["packet_type"]]
        header["packet_number"] = self._whole(space, int.from_bytes(datagram.take(size)), size)
        if end - TAG < datagram.at:
            raise NotQuicError("a packet has no room for its tag")
        frames, is_cut = _frames(datagram.until(end - TAG))
        datagram.at = end
        return Packet(header, frames, end - start, is_cut)

    def _long(self, datagram: _Bytes, flags: int) -> tuple[dict[str, Any], int]:
        """Return a long header without its number, and where the packet ends."""
        kind, version = _LONG[flags >> 4 & 3], datagram.take(4)
        if version != b"\0\0\0\1" or kind == "retry":
            raise NotQuicError(f"it is a packet of version 0x{version.hex()}, type {kind}")
        target = datagram.take(datagram.take(1)[0])
        source = datagram.take(datagram.take(1)[0])
        self.own_id = len(source)
        header: dict[str, Any] = {"packet_type": kind, "flags": flags, "version": version.hex()}
        header |= {"scil": len(source), "dcil": len(target), "scid": source.hex(), "dcid": target.hex()}
        if kind == "initial" and (token := datagram.take(datagram.number())):
            header["token"] = {"raw": {"length": len(token)}}
        header["length"] = datagram.number()
        end = datagram.at + header["length"]
        if end > datagram.length:
            raise NotQuicError("a packet is longer than its datagram")
        return header, end

    def _whole(self, space: str, sent: int, size: int) -> int:
        expected = self._largest.get(space, -1) + 1
        window = 1 << size * 8
        number = expected - expected % window + sent
        if number <= expected - window // 2:
            number += window
        elif number > expected + window // 2 and number >= window:
            number -= window
        self._largest[space] = max(number, expected - 1)
        return number


def _frames(payload: _Bytes) -> tuple[list[dict[str, Any]], bool]:
    """Return the frames, and whether some are missing."""
    found: list[dict[str, Any]] = []
    try:
        while payload:
            kind = payload.number()
            read = _KINDS.get(kind)
            if read is None:
                found.append({"frame_type": "unknown", "frame_type_bytes": kind})
                return found, bool(payload)
            found.append(read(kind, payload))
    except _CutError:
        return found, True
    return found, False


def _padding(_: int, rest: _Bytes) -> dict[str, Any]:
    return {"frame_type": "padding", "payload_length": rest.zeros() + 1}


def _named(name: str) -> Callable[[int, _Bytes], dict[str, Any]]:
    return lambda _, __: {"frame_type": name}


def _numbers(name: str, *fields: str) -> Callable[[int, _Bytes], dict[str, Any]]:
    return lambda _, rest: {"frame_type": name} | {field: rest.number() for field in fields}


def _ack(kind: int, rest: _Bytes) -> dict[str, Any]:
    largest, delay, count, first = (rest.number() for _ in range(4))
    ranges = [(largest - first, largest)]
    for _ in range(count):
        high = ranges[-1][0] - rest.number() - 2
        ranges.append((high - rest.number(), high))
    if ranges[-1][0] < 0:
        raise NotQuicError("an acknowledgement of a number below zero")
    ack: dict[str, Any] = {"frame_type": "ack", "ack_delay": round(delay * ACK_DELAY_UNIT_MS, 6)}
    ack["acked_ranges"] = [[low] if low == high else [low, high] for low, high in ranges]
    return ack | ({name: rest.number() for name in ("ect0", "ect1", "ce")} if kind & 1 else {})


def _crypto(_: int, rest: _Bytes) -> dict[str, Any]:
    offset, length = rest.number(), rest.number()
    rest.skip(length)
    return {"frame_type": "crypto", "offset": offset, "length": length}


def _stream(kind: int, rest: _Bytes) -> dict[str, Any]:
    stream = rest.number()
    offset = rest.number() if kind & 4 else 0
    length = rest.number() if kind & 2 else rest.length - rest.at
    rest.skip(length)
    frame = {"frame_type": "stream", "stream_id": stream, "offset": offset, "length": length}
    return frame | ({"fin": True} if kind & 1 else {})


def _streams(name: str, field: str) -> Callable[[int, _Bytes], dict[str, Any]]:
    def read(kind: int, rest: _Bytes) -> dict[str, Any]:
        way = "unidirectional" if kind & 1 else "bidirectional"
        return {"frame_type": name, "stream_type": way, field: rest.number()}

    return read


def _new_token(_: int, rest: _Bytes) -> dict[str, Any]:
    length = rest.number()
    rest.skip(length)
    return {"frame_type": "new_token", "token": {"raw": {"length": length}}}


def _new_connection_id(_: int, rest: _Bytes) -> dict[str, Any]:
    frame: dict[str, Any] = {"frame_type": "new_connection_id", "sequence_number": rest.number()}
    frame["retire_prior_to"] = rest.number()
    frame["connection_id_length"] = rest.take(1)[0]
    frame["connection_id"] = rest.take(frame["connection_id_length"]).hex()
    return frame | {"stateless_reset_token": rest.take(16).hex()}


def _path(name: str) -> Callable[[int, _Bytes], dict[str, Any]]:
    return lambda _, rest: {"frame_type": name, "data": rest.take(8).hex()}


def _close(kind: int, rest: _Bytes) -> dict[str, Any]:
    frame: dict[str, Any] = {"frame_type": "connection_close"}
    frame |= {"error_space": "application" if kind & 1 else "transport", "error_code": rest.number()}
    if not kind & 1:
        frame["trigger_frame_type"] = rest.number()
    return frame | {"reason": rest.take(rest.number()).decode(errors="replace")}


def _datagram(kind: int, rest: _Bytes) -> dict[str, Any]:
    length = rest.number() if kind & 1 else rest.length - rest.at
    rest.skip(length)
    return {"frame_type": "datagram", "length": length}


_KINDS: Final[Mapping[int, Callable[[int, _Bytes], dict[str, Any]]]] = {
    0x00: _padding,
    0x01: _named("ping"),
    **dict.fromkeys((0x02, 0x03), _ack),
    0x04: _numbers("reset_stream", "stream_id", "error_code", "final_size"),
    0x05: _numbers("stop_sending", "stream_id", "error_code"),
    0x06: _crypto,
    0x07: _new_token,
    **dict.fromkeys(range(0x08, 0x10), _stream),
    0x10: _numbers("max_data", "maximum"),
    0x11: _numbers("max_stream_data", "stream_id", "maximum"),
    # Whether streams have one way or two is in the last bit: 0x12 and 0x16 are those of two.
    **dict.fromkeys((0x12, 0x13), _streams("max_streams", "maximum")),
    0x14: _numbers("data_blocked", "limit"),
    0x15: _numbers("stream_data_blocked", "stream_id", "limit"),
    **dict.fromkeys((0x16, 0x17), _streams("streams_blocked", "limit")),
    0x18: _new_connection_id,
    0x19: _numbers("retire_connection_id", "sequence_number"),
    0x1A: _path("path_challenge"),
    0x1B: _path("path_response"),
    **dict.fromkeys((0x1C, 0x1D), _close),
    0x1E: _named("handshake_done"),
    # Of draft-ietf-quic-ack-frequency, which qlog has no names for; these are that draft's.
    0x1F: _named("immediate_ack"),
    0xAF: _numbers(
        "ack_frequency", "sequence_number", "ack_eliciting_threshold", "request_max_ack_delay", "reordering_threshold"
    ),
    **dict.fromkeys((0x30, 0x31), _datagram),
}
