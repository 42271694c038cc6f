"""The base class of congestion controls in Python."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

from sojourn._core import View

Ecn = Literal["off", "rfc3168", "accecn"]

Answer = int | float | tuple[int | float | None, int | float | None] | None
"""The answer of a hook: None for no change; a congestion window in segments, 1 or more (Sojourn cuts fractions off); or
a pair of a window and a pacing rate in bits of payload per second, where either may be None. Only a control with
:attr:`CongestionControl.full_control` may answer a pacing rate."""


class CongestionControl(ABC):
    """A congestion control of one connection. Each connection has an object of its own, made without arguments.

    Unless :attr:`full_control` is set it stands where Linux's Reno does: the class says how the window grows and to
    where it falls, the sender's loss recovery takes it there (proportional rate reduction, RFC 6937) and sets the
    pacing rate as Linux does, to 200 % or 120 % of window/RTT.

    A call may read its view, and nothing that differs from run to run: no clock, no generator of its own, no file.
    Random numbers are those of :meth:`View.random`. Each call fills the view again: keep numbers, not the view.
    """

    ecn: ClassVar[Ecn] = "off"
    """The least that it negotiates: nothing, ECN as RFC 3168 has it, or Accurate ECN (RFC 9768). The flow's
    ``ecn`` decides where it says something."""
    ect_1: ClassVar[bool] = False
    """Whether its data is sent as ECT(1), as that of L4S is (RFC 9331); else ECT(0)."""
    full_control: ClassVar[bool] = False
    """Whether it sets the window in every state, as BBR does (Linux's ``cong_control``): :meth:`on_ack` is called for
    each ACK, in recovery as well, the answer of a hook holds at once, and it may pace."""
    gauges: ClassVar[Mapping[str, str]] = {}
    """Attributes of the object, numbers, that are recorded at each step in the table ``flow_state``, each with its
    meaning: ``{"base_rtt_us": "lowest RTT seen, µs"}``."""

    @abstractmethod
    def on_ack(self, view: View) -> Answer:
        """Return the window after an ACK that delivered ``view.acked`` segments.

        Without :attr:`full_control` it is called for ACKs of new data while no reduction goes on (Linux's
        ``cong_avoid``).
        """

    @abstractmethod
    def on_loss(self, view: View) -> Answer:
        """Return the window that a loss or a mark leaves.

        It is the new slow-start threshold, and with :attr:`full_control` the window at once. Below 2 segments it is 2.

        It is called once for each reduction, as Linux's ``ssthresh`` is: for losses, for marks (then ``view.marked`` is
        not 0), and before the first :meth:`on_timeout` of a flight.
        """

    def on_start(self, view: View) -> Answer:  # noqa: B027 - not every class has one
        """Return the initial window, or None for the stack's. The connection is established."""

    def on_rtt_round(self, view: View) -> Answer:  # noqa: B027 - not every class has one
        """Return the window after a round trip: all that was out when the last round ended has been acknowledged.

        It is called before :meth:`on_ack`, for the same ACK, which already sees its answer.
        """

    def on_timeout(self, view: View) -> Answer:  # noqa: B027 - not every class has one
        """Return the slow-start threshold after a retransmission timeout; None for what :meth:`on_loss` has just said.

        The window itself is one segment then. With :attr:`full_control` the answer is the window, instead.
        """
