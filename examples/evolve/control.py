"""A congestion control with five numbers: what `evolve.py` varies.

It grows by GROW segments a round trip while its queue is below QUEUE_MS, shrinks by the factor BACK once a round trip
above it, and leaves BETA of the window after a loss. In slow start it leaves at SLOW_MS of queue.
"""

from sojourn.custom import CongestionControl, View

# numbers
GROW = 1.0
QUEUE_MS = 30.0
BACK = 0.95
BETA = 0.7
SLOW_MS = 15.0
# end of numbers


class Evolved(CongestionControl):
    """Delay-based additive increase, multiplicative decrease."""

    def __init__(self) -> None:
        self.window = 10.0
        self.starting = True
        self.hold = 0

    def on_ack(self, view: View) -> float:
        """Grow by what was acknowledged; the queue is what the RTT is above its least."""
        queue_ms = ((view.rtt_us or view.srtt_us) - view.min_rtt_us) / 1e3
        if self.starting:
            self.starting = queue_ms < SLOW_MS
            self.window += view.acked
        elif queue_ms < QUEUE_MS:
            self.window += GROW * view.acked / self.window
        return max(2.0, self.window)

    def on_rtt_round(self, view: View) -> float | None:
        """Shrink once a round trip, if the queue is too long."""
        queue_ms = (view.srtt_us - view.min_rtt_us) / 1e3
        if self.starting or queue_ms < QUEUE_MS:
            return None
        self.window = max(2.0, self.window * BACK)
        return self.window

    def on_loss(self, view: View) -> float:
        """Leave a part of the window."""
        self.starting = False
        self.window = max(2.0, view.cwnd * BETA)
        return self.window
