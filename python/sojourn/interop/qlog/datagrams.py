"""A flow's UDP datagrams in the capture of a host, as ``--pcap`` writes it (``crates/capture``).

The files are pcap (draft-ietf-opsawg-pcap) with stamps in ns, little-endian, Ethernet, IPv4 (RFC 791) or IPv6 (RFC
8200) without extension headers, as hosts of ours send them. The ports identify a flow: flow *n* of a scenario goes
from 30000 + *n* to 50000 + *n*. The ECN field is the two low bits of the former type of service (RFC 3168 §5).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from sojourn.errors import DataFileError

SENDER: Final = 30_000
"""The port of the first flow's sender."""

RECEIVER: Final = 50_000
"""The port of the first flow's receiver."""

_MAGIC: Final = 0xA1B23C4D
_ETHERNET: Final = 1
_UDP: Final = 17
_IP: Final = 14
"""Where the network's header begins."""
_LEAST_IPV4: Final = _IP + 20
_IPV6: Final = _IP + 40
_ORIGIN_S: Final = 946_684_800
"""2000-01-01, the run's origin, since 1970, s."""

_FILE: Final = struct.Struct("<IHHiIII")
_RECORD: Final = struct.Struct("<IIII")
_PORTS: Final = struct.Struct(">HHH")
_ECN: Final = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")


@dataclass(frozen=True, slots=True)
class Datagram:
    """A datagram that a host sent or received."""

    at: float
    """When, ms since the run's origin."""
    sent: bool
    """Whether the flow's sender sent it; its receiver did otherwise."""
    ecn: str
    """The codepoint, as qlog calls it."""
    length: int
    """Bytes of UDP payload."""
    kept: bytes
    """The payload, as far as the capture kept it."""


def datagrams(path: Path, number: int) -> Iterator[Datagram]:
    """Yield the datagrams of the flow of this number, in the order of time.

    Raises:
        DataFileError: if it is no such capture, or ends within a packet.
    """
    out, back = (SENDER + number, RECEIVER + number), (RECEIVER + number, SENDER + number)
    try:
        with path.open("rb") as file:
            head = file.read(_FILE.size)
            if len(head) < _FILE.size:
                _damaged(path, "it ends within its header")
            magic, _, _, _, _, _, link = _FILE.unpack(head)
            if (magic, link) != (_MAGIC, _ETHERNET):
                _damaged(path, "it is no pcap with stamps in ns of Ethernet")
            while record := file.read(_RECORD.size):
                if len(record) < _RECORD.size:
                    _damaged(path, "it ends within a packet")
                seconds, nanos, kept, _ = _RECORD.unpack(record)
                frame = file.read(kept)
                if len(frame) < kept:
                    _damaged(path, "it ends within a packet")
                found = _udp(frame)
                if found is not None and found[0] in (out, back):
                    ports, ecn, length, payload = found
                    at = ((seconds - _ORIGIN_S) * 1_000_000_000 + nanos) / 1e6
                    yield Datagram(at, ports == out, _ECN[ecn], length, payload)
    except OSError as error:
        _damaged(path, str(error.strerror or error))


def _udp(frame: bytes) -> tuple[tuple[int, int], int, int, bytes] | None:
    """Return the ports, the ECN field, the length and the captured part of a frame's UDP payload; None without UDP."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and len(frame) >= _LEAST_IPV4:
        start, ecn, protocol = _IP + (frame[_IP] & 15) * 4, frame[15] & 3, frame[23]
    elif kind == b"\x86\xdd" and len(frame) >= _IPV6:
        start, ecn, protocol = _IPV6, frame[15] >> 4 & 3, frame[20]
    else:
        return None
    if protocol != _UDP or len(frame) < start + 8:
        return None
    source, target, length = _PORTS.unpack_from(frame, start)
    return (source, target), ecn, length - 8, frame[start + 8 :]


def _damaged(path: Path, what: str) -> NoReturn:
    raise DataFileError(path, what, help="make it again with --pcap")
