"""Two result sets on the same axes: cells that both have, the first set solid, the second dashed.

For parity (simulator and Linux), for two versions, and for runs that were imported from Flent.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from sojourn.core.cells import Cell, paired
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, select
from sojourn.errors import UsageError
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import events_of, flow_lines, queue_line, step_of
from sojourn.plotting.draw.sheet import Key, Part, Sheet
from sojourn.plotting.draw.style import QUEUE
from sojourn.plotting.draw.traces import DASHED, Band, Line, Strip, Traces
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.bands import band_table, few
from sojourn.plotting.labels import QUEUE_DELAY, RATE, RTT
from sojourn.views.results import results

_TITLES: Final = {"rate": RATE, "rtt": RTT, "queue": QUEUE_DELAY}


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    pairs, names = _pairs(runs, options)
    few([one for one, _ in pairs])
    wanted = options.names("show")
    for name in wanted:
        if name not in _TITLES:
            raise UsageError.unknown("quantity of overlay", name, list(_TITLES))
    step = options.number("step") or max(step_of(pair[0].scenario.seconds) for pair in pairs)
    drawn = [[_bands(cell, step, wanted) for cell in pair] for pair in pairs]
    axes = {
        name: Axis.over([[v for own in both for q, _, band in own if q == name for v in band.tops] for both in drawn])
        for name in wanted
    }
    parts = []
    frames: list[pl.DataFrame] = []
    for (one, other), both in zip(pairs, drawn, strict=True):
        flows = list(dict.fromkeys(flow for own in both for _, flow, _ in own if flow))
        strips = [
            Strip(
                _TITLES[name],
                [
                    Line(
                        band,
                        flow_colour(flows.index(flow)) if flow else QUEUE,
                        dashed=dashed,
                        page_name=", ".join(filter(None, (flow, names[dashed]))),
                    )
                    for own, dashed in zip(both, (False, True), strict=True)
                    for quantity, flow, band in own
                    if quantity == name
                ],
                axes[name],
            )
            for name in wanted
        ]
        seconds = max(cell.scenario.seconds for cell in (one, other))
        title = one.title if len(pairs) > 1 else one.experiment
        keys = [*(Key(flow, flow_colour(i)) for i, flow in enumerate(flows)), Key(names[0]), Key(names[1], line=DASHED)]
        shows = f"{title}: {names[0]} (solid) and {names[1]} (dashed) over time"
        parts.append(Part(Traces(shows, strips, seconds, events_of(one.runs[0])), title, keys))
        frames.extend(
            band_table([(flow, _TITLES[q], band) for q, flow, band in own], {"set": name, **axes_of(cell)})
            for cell, own, name in zip((one, other), both, names, strict=True)
        )
    caption = f"{names[0]} (solid) and {names[1]} (dashed), means over {step:g} s; the bands span the seeds of each."
    return Drawn(Sheet(parts), pl.concat(frames, how="diagonal"), caption)


def _bands(cell: Cell, step: float, wanted: Sequence[str]) -> list[tuple[str, str, Band]]:
    """Return quantity, flow and line."""
    flows = flow_lines(cell.runs, step)
    found = []
    for name in wanted:
        if name == "queue":
            band = queue_line(cell.runs[0], step)
            found.append((name, "", Band(band.t, band.value)))
        else:
            found.extend((name, flow.name, getattr(flow, name)) for flow in flows)
    return found


def _pairs(runs: Sequence[Run], options: Options) -> tuple[list[tuple[Cell, Cell]], tuple[str, str]]:
    """Return the cells of both sets that belong together, and the names of the sets."""
    folder = options["with"]
    if folder:
        first, second = cells_of(runs), cells_of(select(results(Path(folder)), options["cell"]))
        called = ("these", Path(folder).name)
    else:
        engines = list(dict.fromkeys(run.engine for run in runs))
        if len(engines) != 2:  # noqa: PLR2004 - two sets
            raise UsageError("name the folder of the other set", help="with=DIR")
        first, second = (cells_of(run for run in runs if run.engine == engine) for engine in engines)
        called = (engines[0], engines[1])
    names = options.names("names") or called
    if len(names) != 2:  # noqa: PLR2004 - two sets
        raise UsageError("names of overlay are two, with a comma: names=ours,theirs")
    loose = {cell.labels: cell for cell in second if cell.labels}
    pairs = paired(first, second)
    pairs = pairs or [(cell, loose[cell.labels]) for cell in first if cell.labels in loose]
    if pairs:
        return pairs, (names[0], names[1])
    if len(first) == len(second) == 1:
        return [(first[0], second[0])], (names[0], names[1])
    raise UsageError(
        "the two sets have no cell in common",
        help=f"the first has {first[0].experiment} {first[0].title}, "
        f"the second {second[0].experiment} {second[0].title}; "
        "choose one cell of each with --cell and cell=PATTERN to draw them over one another",
    )


KIND = Kind(
    "overlay",
    "Two result sets on the same axes: rates and RTTs over time, the first solid, the second dashed.",
    "No published figure: ours, for two sets of results.",
    _make,
    (
        Option("with", "the other results folder; the other engine's runs of the same folder if empty"),
        Option("cell", "which runs of the other folder, in the words of --cell"),
        Option("names", "what the two are called, with a comma"),
        Option("show", "what is drawn, with commas: rate, rtt, queue", "rate,rtt"),
        Option("step", "what is averaged over, s; a 360th of the run if empty"),
    ),
)
"""The kind."""
