"""Rates, RTTs and marking probabilities over time below one another.

The marking traces of the fast-lane disproof: marks by L's own AQM, by coupling, and in C.
"""

import math
from collections.abc import Sequence
from typing import Final

import polars as pl

from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, select
from sojourn.errors import UsageError
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.panel import FlowLines, keys_of
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import events_of, flow_lines, state_band
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.draw.ticks import nice_ceiling
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.bands import ONLY, band_table, few, shaded
from sojourn.plotting.labels import RATE, RTT

_NAMES: Final = {
    "fraction_c": ("C", False),
    "fraction_l": ("L coupled", False),
    "fraction_native": ("L native", True),
    "prob": ("probability", False),
}
"""The names of a controller's numbers, and whether their lines are dashed."""

_MARKED: Final = "Marked (%)"

_USUAL: Final = (("fraction_c", "fraction_l", "fraction_native"), ("prob",))
"""The first of these that a queue has is shown unless others are named."""


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    step = options.number("step") or 0.5
    cells = few(cells_of(select(runs, options["only"])))
    every = cells_of(runs)
    lines = {cell.key: flow_lines(cell.runs[:1], step) for cell in every}
    marks = {cell.key: _marks(cell, options.names("state"), step) for cell in every}
    if not any(marks.values()):
        raise UsageError(
            "the queues of these runs record no marking", help="state=NAME,... selects their state variables"
        )
    rate = Axis.over([[v for f in own for v in f.rate.tops] for own in lines.values()])
    rtt = Axis.over([[v for f in own for v in f.rtt.tops] for own in lines.values()])
    share = _axis([v for own in marks.values() for _, band in own for v in band.value if v == v])  # noqa: PLR0124
    parts, frames = [], []
    for cell in cells:
        key = cell.key
        title = next(c.title for c in every if c.key == key)
        flows, probabilities = lines[key], marks[key]
        strips = [
            Strip(RATE, _flow_lines(flows, "rate"), rate, 1.2),
            Strip(RTT, _flow_lines(flows, "rtt"), rtt),
            Strip(_MARKED, _mark_lines(probabilities), share, 1.1),
        ]
        run = cell.runs[0]
        shows = f"{cell.title}: rates, RTTs and marking over time"
        shown = Traces(shows, strips, cell.scenario.seconds, events_of(run), run.window())
        parts.append(Part(shown, title, keys_of(flows)))
        bands = [
            *((flow.name, RATE, flow.rate) for flow in flows),
            *((flow.name, RTT, flow.rtt) for flow in flows),
            *((name, _MARKED, band) for name, band in probabilities),
        ]
        frames.append(band_table(bands, axes_of(cell)))
    caption = (
        f"Throughput and smoothed RTT of each flow, and what part of the packets the {_queue(cells)} marked, by "
        f"reason; means over {step:g} s of one run of each cell. The axis of the marks holds 99 % of the points."
        f"{shaded(cells[0].runs[0].window())}"
    )
    return Drawn(Sheet(parts), pl.concat(frames, how="diagonal"), caption)


def _queue(cells: Sequence[Cell]) -> str:
    """Return the name of these cells' bottleneck, in words."""
    mains = [(cell, queues.bottleneck(cell.scenario)) for cell in cells]
    names = {queues.names(cell.scenario, [main])[0] for cell, main in mains if main}
    return f"{names.pop()} queue".strip() if len(names) == 1 else "queue"


def _axis(values: Sequence[float]) -> Axis:
    """Return a linear axis that holds 99 of 100 values: the marks of a flow's start would hide all others."""
    usual = sorted(values)[: math.ceil(len(values) * 0.99)]
    return Axis(0, nice_ceiling(max(usual, default=1.0) * 1.25), logarithmic=False)


def _marks(cell: Cell, names: Sequence[str], step: float) -> list[tuple[str, Band]]:
    """Return the controller's numbers in per cent: those that are named, else the usual ones."""
    run = cell.runs[0]
    found = run.scenario.bottleneck
    there: list[str] = []
    if found is not None and "queue_state" in run.tables:
        table = run.table("queue_state")
        there = (
            table.filter(table["queue"].cast(pl.String) == found[0])["name"].cast(pl.String).unique().sort().to_list()
        )
    for name in names:
        if name not in there:
            raise UsageError.unknown(f"state of the queue of {run.label}", name, there)
    chosen = names or next((usual for usual in _USUAL if set(usual) <= set(there)), ())
    return [(name, _percent(state_band(run, name, step))) for name in chosen]


def _percent(band: Band) -> Band:
    value, low, high = ([100 * part for part in values] for values in (band.value, band.low, band.high))
    return Band(band.t, value, low, high)


def _flow_lines(flows: Sequence[FlowLines], what: str) -> list[Line]:
    return [Line(getattr(flow, what), flow.look.colour, page_name=flow.name) for flow in flows]


def _mark_lines(marks: Sequence[tuple[str, Band]]) -> list[Line]:
    return [
        Line(
            Band(band.t, band.value),
            flow_colour(index),
            _NAMES.get(name, (name, False))[0],
            dashed=_NAMES.get(name, (name, False))[1],
        )
        for index, (name, band) in enumerate(marks)
    ]


KIND = Kind(
    "marking",
    "Rates, RTTs and marking probabilities over time: native, coupled, and those of the classic queue.",
    "Disproof of the fast lane, slides 3 to 6 with the marking traces inside them.",
    _make,
    (
        Option(
            "state", "which of the queue's numbers, with commas (sojourn qdiscs NAME names them); the usual if empty"
        ),
        Option("step", "what is averaged over, s", "0.5"),
        ONLY,
    ),
)
"""The kind."""
