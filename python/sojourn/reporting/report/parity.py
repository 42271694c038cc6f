"""Two engines side by side as one HTML page that stands alone: the tables, and both runs of every cell overlaid."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.core.spread import Spread
from sojourn.core.store.atomic import write_file
from sojourn.evidence import parity
from sojourn.evidence.parity import Comparison, Engines, Line, Pair, Verdict
from sojourn.plotting.draw import overlay
from sojourn.plotting.draw.flows import flow_name
from sojourn.plotting.draw.overlay import Overlay, Side
from sojourn.plotting.draw.series import column_bands, queue_line, step_of
from sojourn.plotting.draw.traces import Band
from sojourn.reporting.report.build import environment
from sojourn.views.html import legible

_FEW: Final = 8
"""Below this many pictures a pool of processes costs more than it gains."""

_COLUMNS: Final = {"rate": ("goodput_bps", 1e-6), "cwnd": ("cwnd", 1.0), "rtt": ("srtt_s", 1e3)}
"""Which column of a flow is drawn, and the factor of its numbers."""
_READING: Final = (
    "The engines are equivalent in a metric where the 90 % interval of their difference, seed by seed, is within the "
    "metric's margin. They are different where the 95 % interval does not contain zero and they are not equivalent. "
    "Otherwise it is not decided. Beyond chance are the cells with a 95 % interval that does not contain zero, however "
    "small the difference is: one in twenty is chance. A metric of each flow counts once a flow."
)
_DRAWN: Final = "The first seed of each cell on both engines, means over steps."


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    ours: str
    our_range: str
    theirs: str
    their_range: str
    difference: str
    verdict: str


@dataclass(frozen=True, slots=True)
class _CellView:
    title: str
    anchor: str
    picture: str
    rows: Sequence[_Row]
    differs: Sequence[str]


def write(path: Path, both: Sequence[tuple[Cell, Cell]], pairs: Sequence[Pair], *, processes: int = 1) -> None:
    """Write the page.

    Args:
        path: the file.
        both: each cell on both engines.
        pairs: their comparisons, in the same order.
        processes: how many draw at a time.

    Raises:
        StoreError: if it cannot be written.
    """
    engines = pairs[0].engines if pairs else parity.USUAL
    overlays = [_overlay(ours, theirs, engines) for ours, theirs in both]
    if processes > 1 and len(overlays) >= _FEW:
        with ProcessPoolExecutor(processes) as pool:
            pictures = list(pool.map(overlay.draw, overlays))
    else:
        pictures = [overlay.draw(each) for each in overlays]
    views = [
        (cell.experiment, _view(number, pair, picture))
        for number, ((cell, _), pair, picture) in enumerate(zip(both, pairs, pictures, strict=True))
    ]
    lines = parity.summary(pairs)
    page = {
        "title": f"Parity: {' and '.join(engines.titles)}",
        "what": f"{len(pairs)} cells; seeds: {_seeds(pairs)}; {engines.titles[1]} {_version(both)}.",
        "verdict": _verdict(lines),
        "reading": _READING,
        "drawn": _DRAWN,
        "headings": parity.HEADINGS,
        "lines": [parity.cells_of(line) for line in lines if line.by == "all" or line.metric in parity.HEADLINES],
        "differing": [view for _, view in views if view.differs],
        "experiments": [(name, [view for _, view in own]) for name, own in groupby(views, key=lambda v: v[0])],
        "engines": engines.heads,
        "made_by": f"Made by Sojourn {_core.version()}.",
    }
    write_file(path, legible(environment().get_template("parity.html.j2").render(page=page)).encode())


def _overlay(ours: Cell, theirs: Cell, engines: Engines) -> Overlay:
    seconds = ours.scenario.seconds
    step = step_of(seconds)
    names = [flow_name(flow) for flow in ours.scenario.loads]
    lines = (_side(ours.runs[0], step), _side(theirs.runs[0], step))
    return Overlay(ours.title, seconds, names, *lines, engines.titles)


def _side(run: Run, step: float) -> Side:
    found = {name: column_bands([run], "flows", column, step, scale) for name, (column, scale) in _COLUMNS.items()}
    flows = [{name: bands[flow["name"]] for name, bands in found.items()} for flow in run.scenario.loads]
    queue = queue_line(run, step)
    return Side(flows, Band(queue.t, queue.value))


def _view(number: int, pair: Pair, picture: str) -> _CellView:
    rows = [_row(c) for c in pair.comparisons]
    differs = [row.name for row in rows if row.verdict == Verdict.DIFFERENT]
    return _CellView(pair.title, f"cell-{number}", picture, rows, differs)


def _row(c: Comparison) -> _Row:
    shown = parity.difference(c.metric.key, c.shown)
    ours, theirs = (f"{spread.mean:.3f}" for spread in (c.first, c.second))
    return _Row(parity.named(c), ours, _range(c.first), theirs, _range(c.second), shown, c.verdict)


def _range(spread: Spread) -> str:
    return f"{spread.low:.3f} – {spread.high:.3f}"


def _verdict(lines: Sequence[Line]) -> str:
    parts = [
        f"{x.metric} in {x.equivalent} of {x.count - x.undecided} decided cells, {x.undecided} not decided"
        for x in lines
        if x.by == "all" and x.metric in parity.HEADLINES
    ]
    said = "agree" if parity.holds(lines) else "do not agree"
    return f"The engines {said} ({parity.ENOUGH:.0%} of the decided cells is asked): equivalent in {'; '.join(parts)}."


def _seeds(pairs: Sequence[Pair]) -> str:
    counts = sorted({pair.seeds for pair in pairs})
    return ", ".join(f"{ours}" if ours == theirs else f"{ours} and {theirs}" for ours, theirs in counts)


def _version(both: Sequence[tuple[Cell, Cell]]) -> str:
    """Return which kernels the second engine ran, or which of its versions if it has none."""
    versions: Mapping[str, None] = {
        part.removeprefix("kernel ").strip(): None
        for _, cell in both
        for part in cell.runs[0].key.version.split(",")
        if "kernel" in part
    }
    if versions:
        return ", ".join(versions)
    if any(_core.facts(cell.engine).kernels for _, cell in both):
        return "of the stack's series"
    return ", ".join(dict.fromkeys(run.key.version for _, cell in both for run in cell.runs[:1]))
