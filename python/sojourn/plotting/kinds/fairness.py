"""Bars of the flows' rates, one group of bars for each pair of senders and one panel for each queue.

The fairness charts of l4s-tests, scenario 1: what each of two flows gets, at equal and at unequal base RTTs.
"""

from collections.abc import Sequence

import polars as pl

from sojourn.core.measured import mean_said, parties, spreads
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled
from sojourn.plotting import labels
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.grid import GRID, Grid
from sojourn.views.window import window_said


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    grid = Grid.of(cells, options)
    rate = options["rate"]
    window = options["window"]
    rows, bars = [], []
    unequal = any(len({p.rtt_ms for p in parties(cell.scenario)}) > 1 for cell in cells)
    senders = any(len({p.sender for p in parties(cell.scenario)}) > 1 for cell in cells)
    for cell in cells:
        own = parties(cell.scenario)
        found = spreads(cell, [f"{rate}({party.name}) {window}".rstrip() for party in own])
        place = grid.place(cell)
        for party, spread in zip(own, (s.scaled(1e-6 / p.flows) for s, p in zip(found, own, strict=True)), strict=True):
            rows.append(
                labelled(
                    axes_of(cell),
                    {
                        "flow": party.name,
                        "sender": party.sender,
                        "base_rtt_ms": party.rtt_ms,
                        f"{rate}_mbps": spread.mean,
                        "low": spread.low,
                        "high": spread.high,
                        "seeds": spread.seeds,
                    },
                )
            )
            note = f"{party.rtt_ms:g}" if unequal else ""
            series = party.sender if senders else party.title
            bars.append(Bar(*place, series, spread.mean, spread.low, spread.high, note))
    name = rate.replace("_", " ")
    below = f"{grid.below}; below each bar: base RTT (ms)" if unequal else grid.below
    chart = BarChart(bars, str(labels.of_metric(f"{rate}({{flow}})")), f"{name} by {grid.x}", below)
    caption = (
        f"{name.capitalize()} of each flow{'' if all(p.flows == 1 for p in own) else ' (mean of a group)'}, "
        f"{window_said(cells, window)}: {mean_said(cells)}"
        + ("; the thin lines span the seeds." if any(b.high > b.low for b in bars) else ".")
    )
    return Drawn(Sheet([chart.part()]), pl.DataFrame(rows, infer_schema_length=None), caption)


KIND = Kind(
    "fairness",
    "What each flow gets: bars of the flows' rates in groups, one panel a queue, with the range over seeds.",
    (
        "L4S tests, figures 1 to 3: two flows' rates side by side, pairs of senders in groups, a panel for each "
        "queue. The thin lines are ours: the originals are one run each."
    ),
    _make,
    (
        Option("rate", "which rate", "delivery_rate", ("delivery_rate", "goodput")),
        Option("window", "where to measure, in the words of metrics (over last 20s); the steady window if empty"),
        *GRID,
    ),
)
"""The kind."""
