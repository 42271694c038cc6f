"""Harm: by what part a rival makes something worse (Ware et al., HotNets 2019).

The completion times of short flows and the streaming video of l4s-tests. An axis of the experiment, or phases of one
run, say which values are alone and which have a rival.
"""

import math
from collections.abc import Sequence

import polars as pl

from sojourn.core.cells import Cell, ordered
from sojourn.core.measured import mean_said, parties
from sojourn.core.run import Better, Run, harm
from sojourn.core.select import axes_of, cells_of, labelled, varied
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.barred import by_series, ranges_said
from sojourn.plotting.kinds.grid import GRID, Grid


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    phases = options.names("phases")
    better: Better = "less" if options["better"] == "less" else "more"
    harmed = _harmed(cells, options)
    if phases:
        alone = options["alone"]
        if not alone:
            raise UsageError("name the phase without rivals: alone=NAME")
        grid = Grid.of(cells, options)
        found = [(cell, phase, _by_phase(cell, harmed, better, alone, phase)) for cell in cells for phase in phases]
    else:
        axis = _axis(cells, options)
        grid = Grid.of(cells, options, taken=axis)
        found = [(cell, axes_of(cell)[axis], done) for cell, done in _by_axis(cells, options, better, harmed, axis)]
    bars, rows = [], []
    for cell, rival, done in found:
        bars.append(Bar(*grid.place(cell), rival, done.mean, done.low, done.high))
        rows.append(labelled(axes_of(cell), {"rival": rival, **done.columns("harm")}))
    chart = BarChart(by_series(bars), "Harm", f"harm to {harmed}", grid.below, high=1.0)
    caption = (
        f"Harm to {harmed} ({options['better']} is better): 0 is none, 1 is all; {mean_said(cells)}{ranges_said(bars)}"
    )
    return Drawn(Sheet([chart.part()]), pl.DataFrame(rows, infer_schema_length=None), caption)


def _axis(cells: Sequence[Cell], options: Options) -> str:
    """Return the axis of the rivals, checked to have the label of none."""
    axes = varied(cells)
    axis = options["axis"] or next((a for a, labels in axes.items() if ordered(labels)[0] == "none"), "")
    if axis not in axes:
        known = list(axes)
        raise (
            UsageError.unknown("axis that varies", axis, known)
            if axis
            else UsageError(
                "name the axis that distinguishes the rivals: axis=NAME",
                help=f"available: {', '.join(known)}" if known else None,
            )
        )
    alone = options["alone"] or "none"
    if alone not in axes[axis]:
        raise UsageError.unknown(f"{axis}", alone, axes[axis])
    return axis


def _by_axis(
    cells: Sequence[Cell], options: Options, better: Better, harmed: str, axis: str
) -> list[tuple[Cell, Spread]]:
    """Return each cell with a rival and its harm, against the mean of the cell that differs by having none."""
    alone = options["alone"] or "none"
    values = {id(cell): [_value(run, harmed, "") for run in cell.runs] for cell in cells}
    rest = {id(cell): {a: label for a, label in axes_of(cell).items() if a != axis} for cell in cells}
    found = []
    for cell in cells:
        if axes_of(cell).get(axis) == alone:
            continue
        base = [c for c in cells if axes_of(c).get(axis) == alone and rest[id(c)] == rest[id(cell)]]
        before = Spread.of(values[id(base[0])]).mean if base else math.nan
        found.append((cell, Spread.of([harm(before, after, better) for after in values[id(cell)]])))
    return found


def _by_phase(cell: Cell, harmed: str, better: Better, alone: str, phase: str) -> Spread:
    """Return the harm in a phase, run by run against the phase without rivals."""
    found = []
    for run in cell.runs:
        before, after = (_value(run, harmed, f"during {name}") for name in (alone, phase))
        found.append(harm(before, after, better))
    return Spread.of(found)


def _value(run: Run, harmed: str, window: str) -> float:
    return run.measure([f"{harmed} {window}".rstrip()])[0]


def _harmed(cells: Sequence[Cell], options: Options) -> str:
    """Return the harmed metric; it is the same in all cells."""
    first = list(dict.fromkeys(parties(cell.scenario)[0].name for cell in cells))
    if "{flow}" in options["value"] and len(first) > 1:
        raise UsageError(
            f"the first flow is {first[0]} in some of these cells, {first[1]} in others: harm is done to one of them",
            help=f"name it: value={options['value'].format(flow=first[0])}",
        )
    return options["value"].format(flow=first[0])


KIND = Kind(
    "harm",
    "Harm that rivals do to something, 0 to 1: bars by rival, with the range over seeds.",
    "The tables of harm in the L4S tests (Ware et al., HotNets 2019), as bars.",
    _make,
    (
        Option("value", "what is harmed: a metric; {flow} is the first flow", "goodput({flow})"),
        Option("better", "whether more or less of it is better", "more", ("more", "less")),
        Option("axis", "the axis of the rivals (default: the one with the label none)"),
        Option("phases", "phases with rivals, with commas, where one run has them all"),
        Option("alone", "the label, or the phase, without a rival; none if empty"),
        *GRID,
    ),
)
"""The kind."""
