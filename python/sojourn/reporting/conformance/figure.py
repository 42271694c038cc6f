"""A case over time: the sender's state, window and packets in flight, rates, the queue; the deviation is marked."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from sojourn.core.run import Run
from sojourn.evidence.conformance import CaseVerdict, Document
from sojourn.evidence.conformance.steps import steps
from sojourn.evidence.conformance.words import T
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import events_of
from sojourn.plotting.draw.sheet import Key, Part, Sheet
from sojourn.plotting.draw.style import INK, QUEUE
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces

_POINTS: Final = 3000
"""Points a line: a state that lasts a thousandth of the run is still seen."""
_NUMBERS: Final = (
    "state", "cwnd", "inflight", "bw", "max_bw", "goodput", "queue.sojourn_max", "inflight_longterm", "alpha",
)  # fmt: skip
_SMOOTH: Final = 20
"""Steps that the goodput is averaged over: at a millisecond it is single packets."""
_APART: Final = 0.12
"""Of the run's length: names of marks that are nearer would overlap."""
_SECOND: Final = "#b3541e"


def sheet(document: Document, own: CaseVerdict) -> Sheet | None:
    """Return the figure of a case on a subject; None if nothing was run."""
    if not own.runs:
        return None
    run = own.runs[0]
    frame, missing = steps(run, _NUMBERS, document.derived.get(own.subject.name, {}))
    frame = frame.with_columns(pl.col("goodput").rolling_mean(_SMOOTH, min_samples=1)) if "goodput" in frame else frame
    frame = frame.gather_every(max(1, frame.height // _POINTS))
    strips = _strips(frame, missing, document.constants)
    if not strips:
        return None
    shows = f"{own.case.name} on {own.subject.name}: {own.case.title}"
    seconds = float(frame[T].max() or 1.0)  # type: ignore[arg-type] # a number
    title = f"{shows}: {own.verdict}"
    keys = [Key(f"{number:g} {name}", line="") for name, number in document.constants.items()]
    return Sheet([Part(Traces(shows, strips, seconds, _marks(run, own, seconds)), title, keys)])


def _strips(frame: pl.DataFrame, missing: set[str], words: Mapping[str, float]) -> list[Strip]:
    there = [name for name in _NUMBERS if name not in missing and frame[name].drop_nulls().len()]
    strips = []
    if "state" in there:
        strips.append(Strip("State", [_line(frame, "state", INK)], Axis.of([*words.values()]), 0.8))
    if "cwnd" in there:
        lines = [_line(frame, "cwnd", INK, "cwnd"), _line(frame, "inflight", _SECOND, "inflight")]
        lines += [_line(frame, "inflight_longterm", QUEUE, "long-term")] if "inflight_longterm" in there else []
        strips.append(Strip("Window (packets)", lines, _axis(lines)))
    rates = [
        _line(frame, name, colour, name, 1e-6)
        for name, colour in (("goodput", _SECOND), ("max_bw", INK), ("bw", QUEUE))
        if name in there
    ]
    if rates:
        strips.append(Strip("Rate (Mbit/s)", rates, _axis(rates)))
    if "alpha" in there:
        strips.append(Strip("alpha", [_line(frame, "alpha", INK)], Axis.of([0.0, 1.0])))
    if "queue.sojourn_max" in there:
        line = _line(frame, "queue.sojourn_max", QUEUE, "", 1e3)
        strips.append(Strip("Queue (ms)", [line], _axis([line]), 0.8))
    return strips


def _line(frame: pl.DataFrame, name: str, colour: str, shown: str = "", scale: float = 1.0) -> Line:
    values = (frame[name].cast(pl.Float64) * scale).fill_null(math.nan).to_list()
    return Line(Band(frame[T].to_list(), values), colour, shown)


def _axis(lines: Sequence[Line]) -> Axis:
    return Axis.of([value for line in lines for value in line.band.tops])


def _marks(run: Run, own: CaseVerdict, seconds: float) -> list[tuple[float, str]]:
    """Return when something was changed, and the first step that deviates; named where there is room."""
    first = own.deviation
    marks = [] if first is None or math.isnan(first.at_s) else [(first.at_s, "deviates")]
    for at, text in events_of(run):
        is_near = any(abs(at - other) < _APART * seconds and name for other, name in marks)
        marks.append((at, "" if is_near else text))
    return sorted(marks)
