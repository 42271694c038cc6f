"""Congestion controls and queues with one fault each, for the tests of what catches them.

Each control is a Reno in everything else, each queue a FIFO.
"""

from own_classes import Fifo, Reno
from sojourn.custom import CongestionControl, Packet, QueueView, View


class NeverBacksOff(Reno):
    """No loss, mark or timeout reduces its window."""

    def on_loss(self, view: View) -> int:
        return view.cwnd

    def on_timeout(self, view: View) -> None:
        pass


class NeverGrows(Reno):
    """Grows in slow start alone."""

    def on_ack(self, view: View) -> int | None:
        return super().on_ack(view) if view.cwnd < view.ssthresh else None


class HalvesOnEveryAck(Reno):
    """Each ACK beyond slow start halves the window."""

    def on_ack(self, view: View) -> int | None:
        return super().on_ack(view) if view.cwnd < view.ssthresh else max(view.cwnd // 2, 2)


class FixedWindow(CongestionControl):
    """A window of 400 packets, whatever comes."""

    full_control = True

    def on_start(self, view: View) -> int:
        return 400

    def on_ack(self, view: View) -> tuple[float, float]:
        return 400.0, 1e10

    def on_loss(self, view: View) -> int:
        return 400

    def on_timeout(self, view: View) -> int:
        return 400


class IgnoresCe(Reno):
    """Answers losses, and no mark."""

    def on_loss(self, view: View) -> int:
        return view.cwnd if view.marked else super().on_loss(view)


class Oscillates(Reno):
    """Its window is a tenth of what it should be for a second, and five times that for the next."""

    def on_ack(self, view: View) -> int | None:
        grown = super().on_ack(view)
        second = view.now_ns // 1_000_000_000
        if view.cwnd < view.ssthresh:
            return grown
        return 4 if second % 2 else 400


class Bloated(Fifo):
    """A FIFO of seconds."""

    def __init__(self) -> None:
        super().__init__(limit=10_000)


class DropsATenth(Fifo):
    """Drops one packet in ten, whether there is a queue or not."""

    def enqueue(self, packet: Packet, queue: QueueView) -> None:
        if queue.random() < 0.1:
            packet.drop("tail")
        else:
            super().enqueue(packet, queue)


class FavoursSmall(Fifo):
    """A FIFO of 170 packets, with room for at most 120 above 1000 bytes."""

    def __init__(self) -> None:
        super().__init__(limit=170)

    def enqueue(self, packet: Packet, queue: QueueView) -> None:
        if packet.size > 1000 and len(self.packets) >= 120:
            packet.drop("tail")
        else:
            super().enqueue(packet, queue)
