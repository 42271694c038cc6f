"""The same experiment on two engines, line upon line on the same axes: goodput, window, RTT and queue delay."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.sheet import Key, Part, Sheet
from sojourn.plotting.draw.style import QUEUE
from sojourn.plotting.draw.traces import DASHED, Band, Line, Strip, Traces
from sojourn.plotting.labels import QUEUE_DELAY, RTT, of_column

ROWS: Final = (
    (str(of_column("flows", "goodput_bps")), "rate"),
    (str(of_column("flows", "cwnd")), "cwnd"),
    (RTT, "rtt"),
)
"""Label and column of each line of a flow."""


@dataclass(frozen=True, slots=True)
class Side:
    """One engine's run."""

    flows: Sequence[dict[str, Band]]
    """For each flow its lines, by column."""
    queue: Band
    """The bottleneck's mean sojourn time, ms."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Two runs of one scenario."""

    title: str
    seconds: float
    names: Sequence[str]
    """Of the flows."""
    first: Side
    """Drawn solid."""
    second: Side
    """Drawn dashed."""
    engines: tuple[str, str]
    """The names of the two."""


def draw(overlay: Overlay) -> str:
    """Return both runs as an SVG element."""
    both = ((overlay.first, False), (overlay.second, True))
    drawn = [
        (
            label,
            [
                Line(flow[column], flow_colour(index), dashed=dashed, page_name=f"{overlay.names[index]}, {engine}")
                for (side, dashed), engine in zip(both, overlay.engines, strict=True)
                for index, flow in enumerate(side.flows)
            ],
        )
        for label, column in ROWS
    ]
    queues = [
        Line(side.queue, QUEUE, dashed=dashed, page_name=engine)
        for (side, dashed), engine in zip(both, overlay.engines, strict=True)
    ]
    drawn.append((QUEUE_DELAY, queues))
    strips = [
        Strip(label, lines, Axis(0, Axis.of([v for line in lines for v in line.band.tops]).high, logarithmic=False))
        for label, lines in drawn
    ]
    shows = f"{overlay.title}: goodput, window, RTT and queue delay over time on both engines"
    keys = [
        *(Key(name, flow_colour(index)) for index, name in enumerate(overlay.names)),
        Key(overlay.engines[0]),
        Key(overlay.engines[1], line=DASHED),
    ]
    return Sheet([Part(Traces(shows, strips, overlay.seconds), "", keys)]).svg()
