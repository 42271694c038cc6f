"""Rate and RTT of a run over time, its queue delay below: Flent's tcp_delivery_with_rtt.

All cells that are given share their scales, so that the pictures of a scenario can be compared.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from sojourn.core.cells import Cell
from sojourn.core.measured import seeds_said
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, select
from sojourn.plotting.draw import panel
from sojourn.plotting.draw.series import panel_of, step_of
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.draw.traces import Band
from sojourn.plotting.kind import Drawn, Kind, Options
from sojourn.plotting.kinds.bands import ONLY, band_table, few, shaded
from sojourn.plotting.labels import QUEUE_DELAY, RATE, RTT


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    return together(runs, [select(runs, options["only"])])[0]


def together(runs: Sequence[Run], pictures: Sequence[Sequence[Run]]) -> list[Drawn]:
    """Draw several pictures on scales that all these runs have in common.

    Raises:
        UsageError: if one of them is of more cells than it can show.
    """
    every = {cell.key: cell for cell in cells_of(runs)}
    panels = {key: panel_of(cell) for key, cell in every.items()}
    scales = panel.Scales.over(list(panels.values()))
    return [_picture(few(cells_of(chosen)), every, panels, scales) for chosen in pictures]


def _picture(
    cells: Sequence[Cell], every: Mapping[str, Cell], panels: Mapping[str, panel.Panel], scales: panel.Scales
) -> Drawn:
    parts, frames = [], []
    for cell in cells:
        key = cell.key
        parts.append(panel.part(panels[key], scales, _title(every[key], alone=len(cells) == 1)))
        frames.append(band_table(_bands(panels[key]), axes_of(every[key])))
    step = step_of(cells[0].scenario.seconds)
    caption = (
        "Throughput (TCP's delivery rate; other flows' goodput) and smoothed RTT of each flow; delay of each queue "
        f"that matters, with the least and the greatest in each step. Means over {step:g} s"
    )
    several = max(len(cell.runs) for cell in cells) > 1
    caption += f" of the first of {seeds_said(cells)}; the bands span them." if several else "."
    caption += shaded(panels[cells[0].key].window)
    return Drawn(Sheet(parts), pl.concat(frames, how="diagonal"), caption)


def _title(cell: Cell, *, alone: bool) -> str:
    labels = cell.title if cell.labels else ""
    return labels if labels and not alone else ": ".join(filter(None, (cell.experiment, labels)))


def _bands(shown: panel.Panel) -> list[tuple[str, str, Band]]:
    return [
        *((flow.name, RATE, flow.rate) for flow in shown.flows),
        *((flow.name, RTT, flow.rtt) for flow in shown.flows),
        *((name, QUEUE_DELAY, band) for name, band in shown.queues),
    ]


KIND = Kind(
    "delivery",
    "A run over time: rate and RTT of each flow and queue delay, below one another; all cells on the same scales.",
    (
        "Flent's tcp_delivery_with_rtt, in which every run of the L4S tests is shown. There the RTTs share the panel "
        "of the rates, on an axis at the right, and hide a flow that is starved; here they have a panel of their own. "
        "The queue's delay is ours: a testbed does not see it."
    ),
    _make,
    (ONLY,),
)
"""The kind."""
