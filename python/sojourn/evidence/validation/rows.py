"""What a published table says of a run, and what of it can be compared with ours.

A :class:`Row` describes a published run, as far as needed to distinguish it from the others, and has its numbers, its
:class:`Figure` s. Each figure brings the metric by which ours is found: the same estimator as the published one's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

RATE = "delivery rate"
GOODPUT = "goodput"


@dataclass(frozen=True, slots=True, order=True)
class Sender:
    """What tells one flow of a row from another."""

    cc: str
    """Congestion control, by Linux's name."""
    rtt_ms: float
    """Base RTT, ms."""
    bleached: bool = False
    """Whether its packets lose their ECN field on the way."""
    start_s: float = 0.0
    """When it starts, s after the run's origin."""
    cap_mbps: float = 0.0
    """The rate of payload that it is held to, Mbit/s; 0 for none."""
    scaling: str = ""
    """How Prague's growth goes with the RTT, where the run says it itself."""

    def __str__(self) -> str:
        """Return it as tables show it: ``cubic 20ms``."""
        cap = f" ≤{self.cap_mbps:g}" if self.cap_mbps else ""
        scaling = f"({self.scaling})" if self.scaling else ""
        return f"{self.cc}{scaling}{'-noecn' if self.bleached else ''} {self.rtt_ms:g}ms{cap}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published number."""

    flow: int
    """Which of the row's senders it is of."""
    quantity: str
    """What it is; figures of one name are summed up together."""
    unit: str
    published: float
    """In that unit."""
    ask: str
    """The metric that gives ours; ``{flow}``, ``{first}`` (the first sender) and ``{queue}`` stand for our names."""
    scale: float
    """What the metric's base unit is to be multiplied by."""
    is_rate: bool = False
    """Whether it is the flow's share of a link: errors are then fractions of the row's sum, else of the value."""
    noise: float = 0.0
    """The published number's own noise, in its unit: its likely distance from the true value."""


@dataclass(frozen=True, slots=True)
class Row:
    """One published run, or one phase of it."""

    line: int
    """In the file, from 1."""
    scenario: str
    """The source's name for it."""
    rate_mbit: float
    queue: str
    """As the source calls it; rows are grouped by it."""
    qdisc: str
    """In tc's words."""
    senders: tuple[Sender, ...]
    figures: tuple[Figure, ...]
    length_s: float | None = None
    """None where it is not stated."""
    besides: tuple[str, ...] = ()
    """What else was on the path or happened, in the words of :func:`sojourn.evidence.validation.ours.besides`."""
    part: str = ""
    """Which phase of the run; empty for all of it."""

    def sum_of(self, quantity: str) -> float:
        """Return the sum of the figures of this quantity."""
        return sum(figure.published for figure in self.figures if figure.quantity == quantity)

    def __str__(self) -> str:
        """Return it in one line."""
        more = "".join(f", {text}" for text in (*self.besides, self.part) if text)
        return f"{self.rate_mbit:g} Mbit/s, {self.queue}, {' / '.join(str(s) for s in self.senders)}{more}"


def delivery_rate(flow: int, mbps: float, window: str) -> Figure:
    """Return the figure of a mean of ``ss``'s delivery-rate samples, Mbit/s.

    It has no noise of its own: the estimator's bias is in our runs as well, which have the same estimator.
    """
    return Figure(flow, RATE, "Mbit/s", mbps, f"delivery_rate({{flow}}) {window}", 1e-6, is_rate=True)


def goodput(flow: int, mbps: float, window: str) -> Figure:
    """Return the figure of a goodput, Mbit/s."""
    return Figure(flow, GOODPUT, "Mbit/s", mbps, f"goodput({{flow}}) {window}", 1e-6, is_rate=True)


def srtt(flow: int, ms: float, window: str) -> Figure:
    """Return the figure of a mean of ``ss``'s smoothed RTT, ms."""
    return Figure(flow, "smoothed RTT, mean", "ms", ms, f"mean(srtt, {{flow}}) {window}", 1e3)


_OF_A_DELAY: Final = {
    "mean": "mean",
    "50 %": "p50",
    "90 %": "p90",
    "95 %": "p95",
    "99 %": "p99",
    "99.9 %": "p99.9",
    "max": "max",
}
"""What tables tell of a queue's delay, in their order, and the metrics' word for it."""


def queue_delays(flow: int, published: Sequence[float | None], ask: Callable[[str], str], noise: float) -> list[Figure]:
    """Return the figures of a flow's queue delay, ms: mean, 50, 90, 95, 99 and 99.9 %, maximum; none where None stands.

    ``ask`` makes the metric from a statistic's word; ``noise`` is the values' own, ms.
    """
    return [
        Figure(flow, f"queue delay, {name}", "ms", ms, ask(word), 1e3, noise=noise)
        for (name, word), ms in zip(_OF_A_DELAY.items(), published, strict=True)
        if ms is not None
    ]
