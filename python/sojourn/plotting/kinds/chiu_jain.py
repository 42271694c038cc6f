"""The throughput of one flow against another's, along a run: how two flows come to share a bottleneck.

The plane of Chiu and Jain (Computer Networks and ISDN Systems, 1989). Along the dashed line both have the same; along
the dotted one they fill the link. Additive increase goes along the first, multiplicative decrease towards zero, so
that a pair that does both comes to where the lines meet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.core.scenario import rate_mbit
from sojourn.core.select import axes_of, cells_of, labelled, select
from sojourn.errors import UsageError
from sojourn.plotting.draw.flows import flow_name
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import binned_flows
from sojourn.plotting.draw.sheet import Key, Part, Sheet
from sojourn.plotting.draw.style import QUEUE
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.bands import ONLY, few
from sojourn.plotting.labels import RATE

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_SIDE: Final = 3.6
"""Of a panel, inches: the plane is square, so that the line of equal shares has 45 degrees."""

_EQUAL: Final = "equal shares"
_FULL: Final = "rate of the link"


@dataclass(frozen=True, slots=True)
class _Plane:
    """The way of two flows over the plane of their throughputs."""

    x: Sequence[float]
    y: Sequence[float]
    names: tuple[str, str]
    link: float | None
    """The rate of the bottleneck, Mbit/s, if it is known."""
    axis: Axis
    shows: str

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height unless others are asked for."""
        return _SIDE + 0.4, _SIDE

    def paint(self, figure: "FigureBase") -> None:
        """Paint it into a figure that has nothing in it yet."""
        axes = figure.subplots()
        axes.set_box_aspect(1)
        high = self.axis.high
        axes.plot([0, high], [0, high], color=QUEUE, linestyle="dashed", linewidth=0.9)
        if self.link is not None:
            axes.plot([0, self.link], [self.link, 0], color=QUEUE, linestyle="dotted", linewidth=1.1)
        axes.plot(self.x, self.y, color=flow_colour(0), linewidth=0.8, alpha=0.6)
        axes.scatter(self.x, self.y, s=5, color=flow_colour(0), linewidths=0)
        axes.scatter(self.x[:1], self.y[:1], s=34, color=flow_colour(1), marker="o", zorder=3)
        axes.scatter(self.x[-1:], self.y[-1:], s=34, color=flow_colour(1), marker="s", zorder=3)
        self.axis.apply(axes, "x")
        self.axis.apply(axes)
        axes.set_xlabel(RATE.replace(" (", f" of {self.names[0]} ("))
        axes.set_ylabel(RATE.replace(" (", f" of {self.names[1]} ("))

    def keys(self) -> list[Key]:
        """Return what its lines and markers mean."""
        found = [
            Key("each step", flow_colour(0), "solid", "."),
            Key("first step", flow_colour(1), "", "o"),
            Key("last step", flow_colour(1), "", "s"),
            Key(_EQUAL, QUEUE, "dashed"),
        ]
        return found if self.link is None else [*found, Key(_FULL, QUEUE, "dotted")]


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    step = options.number("step") or 1.0
    cells = few(cells_of(select(runs, options["only"])))
    ways = [_way(cell, (options["x"], options["y"]), step) for cell in cells]
    axis = Axis.of([value for _, frame in ways for name in ("x", "y") for value in frame[name]])
    parts, frames = [], []
    for cell, (names, frame) in zip(cells, ways, strict=True):
        found = cell.scenario.bottleneck
        plane = _Plane(
            frame["x"].to_list(),
            frame["y"].to_list(),
            names,
            rate_mbit(found[1]) if found else None,
            axis,
            f"{cell.title}: throughput of {names[1]} against {names[0]}, step by step",
        )
        parts.append(Part(plane, cell.title, plane.keys()))
        own = labelled(axes_of(cell), dict.fromkeys(frame.columns))
        frames.append(frame.select(*(pl.lit(v).alias(k) for k, v in own.items() if k not in frame.columns), pl.all()))
    caption = (
        f"The throughput of two flows of one run of each cell, means over {step:g} s. On the dashed line they are "
        "equal; on the dotted one they add up to the rate of the link."
    )
    return Drawn(Sheet(parts), pl.concat(frames, how="diagonal"), caption)


def _way(cell: Cell, chosen: tuple[str, str], step: float) -> tuple[tuple[str, str], pl.DataFrame]:
    """Return what two flows are called, and their rates at the steps that both have."""
    flows = {str(flow["name"]): flow for flow in cell.scenario.loads}
    names = list(chosen)
    for place, name in enumerate(names):
        names[place] = name or next((other for other in flows if other not in names), "")
    for name in names:
        if name not in flows:
            if not name:
                raise UsageError("one flow alone has no plane", help="chiu-jain needs two flows that carry data")
            raise UsageError.unknown("flow", name, list(flows))
    if names[0] == names[1]:
        raise UsageError(f"both axes show {names[0]}", help=f"there are {', '.join(flows)}")
    found = binned_flows(cell.runs[0], step)
    x, y = (dict(zip(own.t, own.value, strict=True)) for own, _ in (found[name] for name in names))
    both = [(t, x[t], y[t]) for t in x if not math.isnan(x[t] + y.get(t, math.nan))]
    frame = pl.DataFrame(both, schema={"t_s": pl.Float64, "x": pl.Float64, "y": pl.Float64}, orient="row")
    return (flow_name(flows[names[0]]), flow_name(flows[names[1]])), frame


KIND = Kind(
    "chiu-jain",
    "The throughput of one flow against another's along a run: how they come to share the link.",
    "Chiu and Jain, Analysis of the increase and decrease algorithms (Computer Networks and ISDN Systems 17, 1989).",
    _make,
    (
        Option("x", "the flow along the horizontal axis; the first if empty"),
        Option("y", "the flow along the vertical axis; the second if empty"),
        Option("step", "what is averaged over, s", "1"),
        ONLY,
    ),
)
"""The kind."""
