"""Classes of a user's, for the tests of test_custom.py."""

from collections import deque
from collections.abc import Mapping
from typing import ClassVar

from sojourn.custom import Aqm, CongestionControl, Packet, QueueView, View


class Reno(CongestionControl):
    """Reno as Linux has it, by its kernel's arithmetic: the same windows as the built-in one's."""

    def __init__(self) -> None:
        self.count = 0

    def on_ack(self, view: View) -> int | None:
        if not view.cwnd_limited:
            return None
        cwnd, left = view.cwnd, view.acked
        if cwnd < view.ssthresh:
            grown = min(cwnd + left, view.ssthresh)
            left -= grown - cwnd
            cwnd = grown
            if left == 0:
                return cwnd
        every = cwnd
        if self.count >= every:
            self.count = 0
            cwnd += 1
        self.count += left
        whole, rest = divmod(self.count, every)
        if whole:
            self.count = rest
            cwnd += whole
        return cwnd

    def on_loss(self, view: View) -> int:
        self.count = 0
        return max(view.cwnd // 2, 2)

    def on_timeout(self, view: View) -> None:
        self.count = 0


class Delay(CongestionControl):
    """Sets window and pacing in every state, draws, and tells of itself."""

    full_control = True
    gauges: ClassVar = {"base_us": "lowest RTT, µs", "rounds": "round trips"}

    def __init__(self) -> None:
        self.base_us = 0
        self.rounds = 0
        self.window = 10.0

    def on_start(self, view: View) -> int:
        assert view.state == "open"
        return 12

    def on_rtt_round(self, view: View) -> None:
        self.rounds += 1

    def on_ack(self, view: View) -> tuple[float, float] | None:
        if view.rtt_us is None or view.min_rtt_us is None:
            return None
        self.base_us = view.min_rtt_us
        surplus = self.window * (1 - self.base_us / view.rtt_us)
        self.window += (1.0 if surplus < 4 else -0.5) * view.acked / self.window * (0.9 + 0.2 * view.random())
        self.window = max(self.window, 2.0)
        return self.window, self.window * view.mss * 8e6 / view.srtt_us * 1.1

    def on_loss(self, view: View) -> float:
        self.window = max(self.window / 2, 2.0)
        return self.window

    def on_timeout(self, view: View) -> int:
        self.window = 2.0
        return 2


class Scalable(CongestionControl):
    """Answers each round's share of marks, as DCTCP does with a gain of one."""

    ecn = "accecn"
    ect_1 = True

    def on_ack(self, view: View) -> float | None:
        return view.cwnd + (view.acked if view.cwnd < view.ssthresh else 0)

    def on_loss(self, view: View) -> float:
        assert view.marked > 0 or view.lost > 0 or view.state == "open"
        return view.cwnd * 0.8


class Fifo(Aqm):
    """A FIFO of ``limit`` packets: Sojourn's pfifo."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit
        self.packets: deque[Packet] = deque()

    def enqueue(self, packet: Packet, queue: QueueView) -> None:
        if len(self.packets) >= self.limit:
            packet.drop("tail")
        else:
            self.packets.append(packet)

    def dequeue(self, queue: QueueView) -> Packet | None:
        return self.packets.popleft() if self.packets else None


class Tunable(Fifo):
    """A FIFO with a limit that can change: it drops packets in excess from its tail, as pfifo does."""

    def change(self, options: Mapping[str, object], queue: QueueView) -> None:
        limit = options.get("limit", self.limit)
        if limit == 13:
            raise ValueError("thirteen")
        assert isinstance(limit, int)
        self.limit = limit
        while len(self.packets) > self.limit + 5:
            self.packets.pop().drop("cut")

    reasons = ("cut",)


class Step(Fifo):
    """Marks, or drops, what waited longer than a threshold; every second by chance."""

    reasons = ("too_late",)
    gauges: ClassVar = {"late": "packets that waited too long", "held": "packets held"}

    def __init__(self, limit: int = 1000, target: int = 1_000_000, share: float = 0.5, *, ecn: bool = True) -> None:
        super().__init__(limit)
        if target <= 0:
            raise ValueError("target is a time above 0")
        self.target, self.share, self.ecn = target, share, ecn
        self.late = self.held = 0

    def dequeue(self, queue: QueueView) -> Packet | None:
        self.held = queue.packets
        while self.packets:
            packet = self.packets.popleft()
            if queue.now_ns - packet.arrived_ns > self.target and queue.random() < self.share:
                self.late += 1
                if not (self.ecn and packet.mark("too_late")):
                    packet.drop("too_late")
                    continue
            return packet
        return None


class Slow(Fifo):
    """Lets a packet out every two milliseconds."""

    def __init__(self, limit: int = 100) -> None:
        super().__init__(limit)
        self.next_ns = 0

    def dequeue(self, queue: QueueView) -> Packet | int | None:  # type: ignore[override] # it waits, too
        if not self.packets or queue.now_ns >= self.next_ns:
            self.next_ns = queue.now_ns + 2_000_000
            return super().dequeue(queue)
        return self.next_ns
