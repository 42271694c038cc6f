"""One run over time: rate, RTT and queue delay below one another, each on axes of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sojourn.plotting.draw.flows import Look
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.sheet import Key, Part
from sojourn.plotting.draw.style import QUEUE
from sojourn.plotting.draw.ticks import nice_ceiling
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces
from sojourn.plotting.labels import QUEUE_DELAY, RATE, RTT


@dataclass(frozen=True, slots=True)
class FlowLines:
    """A flow's lines."""

    name: str
    rate: Band
    """Mbit/s: TCP's delivery rate; other flows' goodput."""
    rtt: Band
    """RTT, ms."""
    look: Look
    """Its colour and its name in keys."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The drawing of a run."""

    title: str
    seconds: float
    """How long the run is."""
    flows: Sequence[FlowLines]
    queues: Sequence[tuple[str, Band]]
    """The sojourn time of each queue that matters, ms: mean, and the range within each step; each with the name of the
    queue, which is empty where it needs no saying."""
    events: Sequence[tuple[float, str]] = field(default=())
    """When something was changed (s), and what."""
    window: tuple[float, float] | None = None
    """The measuring window, s."""


@dataclass(frozen=True, slots=True)
class Scales:
    """The axes that the panels of a scenario share."""

    seconds: float
    rate: Axis
    """Mbit/s."""
    rtt: Axis
    """ms."""
    queue: Axis
    """ms."""

    @classmethod
    def over(cls, panels: Sequence[Panel]) -> "Scales":
        """Return the smallest round scales that hold every panel."""
        rates = [max((v for f in p.flows for v in f.rate.tops), default=1.0) for p in panels]
        return cls(
            max(p.seconds for p in panels),
            Axis(0, nice_ceiling(max(rates)), logarithmic=False),
            Axis.over([[v for f in p.flows for v in f.rtt.tops] for p in panels]),
            Axis.over([[v for _, band in p.queues for v in band.tops] for p in panels]),
        )


def part(panel: Panel, scales: Scales, title: str = "") -> Part:
    """Return the panel as a chart with the names of its flows, under a heading if one is given."""
    strips = [
        Strip(RATE, [Line(flow.rate, flow.look.colour, page_name=flow.name) for flow in panel.flows], scales.rate, 1.5),
        Strip(RTT, [Line(flow.rtt, flow.look.colour, page_name=flow.name) for flow in panel.flows], scales.rtt),
        *(Strip(queue_title(name), [Line(band, QUEUE)], scales.queue) for name, band in panel.queues),
    ]
    shows = f"{panel.title}: throughput, RTT and queue delay over time"
    chart = Traces(shows, strips, scales.seconds, panel.events, panel.window)
    return Part(chart, title, keys_of(panel.flows))


def queue_title(name: str) -> str:
    """Return the title of the axis of a queue's delay.

    >>> queue_title(""), queue_title("upload"), queue_title("line download")
    ('Queue delay (ms)', 'Upload queue (ms)', 'Line download queue (ms)')
    """
    return f"{name[:1].upper()}{name[1:]} queue (ms)" if name else QUEUE_DELAY


def keys_of(flows: Sequence[FlowLines]) -> list[Key]:
    """Return the keys of the flows' colours, each once."""
    return [Key(look.key, look.colour) for look in dict.fromkeys(flow.look for flow in flows)]
