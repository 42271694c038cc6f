"""Any column of a table over time: one line a flow or a queue, one picture a cell.

For what no published figure shows: congestion windows, packets in flight, backlogs, counters.
"""

from collections.abc import Sequence

import polars as pl

from sojourn import _core
from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, select
from sojourn.errors import UsageError
from sojourn.plotting.draw.palette import flow_colour
from sojourn.plotting.draw.scale import Axis
from sojourn.plotting.draw.series import column_bands, events_of, step_of
from sojourn.plotting.draw.sheet import Key, Part, Sheet
from sojourn.plotting.draw.traces import Band, Line, Strip, Traces
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.bands import ONLY, band_table, few, shaded
from sojourn.plotting.labels import of_column


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = few(cells_of(select(runs, options["only"])))
    every = cells_of(runs)
    names = options.names("column")
    for name in names:
        _check(every[0].runs[0], options["table"], name)
    if not names:
        raise UsageError("timeseries needs a column to draw", help="column=cwnd, for example")
    step = options.number("step") or max(step_of(cell.scenario.seconds) for cell in every)
    bands = {cell.key: {name: _bands(cell, options["table"], name, step) for name in names} for cell in every}
    axes = {
        name: Axis.over([[v for band in own[name].values() for v in band.tops] for own in bands.values()])
        for name in names
    }
    parts, frames = [], []
    for cell in cells:
        own = bands[cell.key]
        subjects = list(dict.fromkeys(subject for name in names for subject in own[name]))
        strips = [
            Strip(
                str(of_column(options["table"], name)),
                [
                    Line(band, flow_colour(subjects.index(subject)), page_name=subject)
                    for subject, band in own[name].items()
                ],
                axes[name],
                height=1.4,
            )
            for name in names
        ]
        run = cell.runs[0]
        title = cell.title if cell.labels else cell.experiment
        shows = f"{title}: {', '.join(names)} over time"
        shown = Traces(shows, strips, cell.scenario.seconds, events_of(run), run.window())
        parts.append(Part(shown, title, [Key(subject, flow_colour(index)) for index, subject in enumerate(subjects)]))
        lines = [
            (subject, str(of_column(options["table"], name)), band)
            for name in names
            for subject, band in own[name].items()
        ]
        frames.append(band_table(lines, axes_of(cell)))
    several = max(len(cell.runs) for cell in cells) > 1
    said = " of one run of each cell; the bands span its seeds." if several else "."
    column = f"column{'s' if len(names) > 1 else ''} {' and '.join(names)} of the table {options['table']}"
    titles = " and ".join(dict.fromkeys(str(of_column(options["table"], name)) for name in names))
    caption = f"{titles} over time: {column}, averaged over {step:g} s{said}"
    caption += shaded(cells[0].runs[0].window())
    return Drawn(Sheet(parts), pl.concat(frames, how="diagonal"), caption)


def _check(run: Run, table: str, column: str) -> None:
    if table not in run.tables:
        raise UsageError.unknown("table", table, run.tables, _core.renamed_table(table))
    frame = run.table(table)
    if "t_s" not in frame.columns:
        raise UsageError(f"the table {table} is not over time", help="flows and queues are, for example")
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric() and name != "t_s"]
    if column not in numbers:
        renamed = _core.renamed_column(table, column)
        raise UsageError.unknown(f"column of numbers in {table}", column, numbers, renamed)


def _bands(cell: Cell, table: str, column: str, step: float) -> dict[str, Band]:
    return column_bands(cell.runs, table, column, step, of_column(table, column).scale)


KIND = Kind(
    "timeseries",
    "Any columns of a table over time, one line a flow or a queue; all cells on the same scales.",
    "No published figure: for what the others leave out, such as windows and packets in flight.",
    _make,
    (
        Option(
            "column", "what is drawn, with commas: cwnd, srtt_s (docs/results.md has them all)", "delivery_rate_bps"
        ),
        Option("table", "the table that has it, over time: flows, queues", "flows"),
        Option("step", "what is averaged over, s; a 360th of the run if empty"),
        ONLY,
    ),
)
"""The kind."""
