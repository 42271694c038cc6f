"""Packets that were sent and may still be acknowledged, and what their acknowledgements say of the delivery rate.

A sample is that of draft-ietf-ccwg-bbr-04 §4.1: the bytes that were delivered since the newest packet of an
acknowledgement was sent, over the longer of the time in which they were sent and the time in which they were
acknowledged. Where a trace does not say how large packets are there is none.

Looking at an acknowledgement's ranges costs as many steps as packets are outstanding below its largest number, not as
many as there are numbers in them: most stacks name everything since the beginning in each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Part = tuple[str, int, int]
"""A stream's name, an offset, a length."""

_KEPT: Final = 4096
"""Lost packets of a number space that may still be acknowledged."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet."""

    at: float
    """When it was sent, s."""
    size: int | None
    data: Sequence[Part]
    delivered: int
    """Bytes that were delivered by then."""
    delivered_at: float
    """When the newest of them was acknowledged, s."""
    first_at: float
    """When the packet was sent that the sending time is counted from, s."""


class Outstanding:
    """The packets of all number spaces."""

    def __init__(self) -> None:
        self._sent: dict[str, dict[int, Sent]] = {}
        self._lost: dict[str, dict[int, Sent]] = {}
        self._delivered = 0
        self._delivered_at = self._first_at = 0.0
        self._count = 0
        self.rate_bps: float | None = None
        """The newest sample, bit/s."""

    def send(self, space: str, number: int, at: float, size: int | None, data: Sequence[Part]) -> None:
        """A packet is sent at this time, s."""
        if not self._count:
            self._first_at = self._delivered_at = at
        packets = self._sent.setdefault(space, {})
        self._count += number not in packets
        packets[number] = Sent(at, size, data, self._delivered, self._delivered_at, self._first_at)

    def lose(self, space: str, number: int) -> None:
        """A packet is held for lost; it may still be acknowledged."""
        packet = self._sent.get(space, {}).pop(number, None)
        if packet is None:
            return
        self._count -= 1
        lost = self._lost.setdefault(space, {})
        lost[number] = packet
        if len(lost) > _KEPT:
            del lost[next(iter(lost))]

    def acknowledge(self, space: str, at: float, ranges: Sequence[tuple[int, int]]) -> list[Sent]:
        """Return the packets of these ranges, in order, which are then no longer outstanding; sample the rate."""
        taken: list[Sent] = []
        for packets in (self._sent.get(space, {}), self._lost.get(space, {})):
            found = list(_within(packets, ranges))
            taken += [packets.pop(number) for number in found]
        self._count = sum(map(len, self._sent.values()))
        if taken:
            self._sample(at, taken)
        return taken

    def _sample(self, at: float, taken: Sequence[Sent]) -> None:
        if any(packet.size is None for packet in taken):
            return
        self._delivered += sum(packet.size or 0 for packet in taken)
        self._delivered_at = at
        newest = max(taken, key=lambda packet: packet.at)
        interval = max(newest.at - newest.first_at, at - newest.delivered_at)
        self._first_at = newest.at
        if interval > 0:
            self.rate_bps = (self._delivered - newest.delivered) * 8 / interval


def _within(packets: Mapping[int, object], ranges: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the numbers in any of the ranges, which are in order, as packets are: looking ends at the last."""
    at, largest = 0, ranges[-1][1]
    for number in packets:
        if number > largest:
            return
        while at < len(ranges) - 1 and ranges[at][1] < number:
            at += 1
        if ranges[at][0] <= number <= ranges[at][1]:
            yield number
