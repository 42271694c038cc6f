"""Tables of runs made into the lines of a panel: means over steps that an eye can tell apart."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.plotting.draw.flows import flow_name, looks
from sojourn.plotting.draw.panel import FlowLines, Panel
from sojourn.plotting.draw.ticks import nice_ceiling
from sojourn.plotting.draw.traces import Band

POINTS: Final = 360
"""Points a line."""


def step_of(seconds: float) -> float:
    """Return the length of the steps that a run of this length is averaged over, s: a round number."""
    return nice_ceiling(seconds / POINTS)


def panel_of(cell: Cell) -> Panel:
    """Return the panel of a cell: the first run's lines, and the range over all of its runs."""
    runs, first = cell.runs, cell.scenario
    seconds = first.seconds
    step = step_of(seconds)
    lines = flow_lines(runs, step)
    run = runs[0]
    return Panel(cell.title, seconds, lines, queue_lines(runs, step), events_of(run), run.window())


def flow_lines(runs: Sequence[Run], step: float) -> list[FlowLines]:
    """Return the lines of each flow of the first run, with the range over all of the runs."""
    tables = [binned_flows(run, step) for run in runs]
    shown = looks(runs[0].scenario)
    return [
        FlowLines(
            flow_name(flow),
            _band(tables, flow["name"], "rate"),
            _band(tables, flow["name"], "rtt"),
            shown[flow["name"]],
        )
        for flow in runs[0].scenario.loads
    ]


# TCP's own estimate where there is one, what arrived elsewhere.
_RATE = (
    pl.when(pl.col("delivery_rate_bps").is_nan()).then(pl.col("goodput_bps")).otherwise(pl.col("delivery_rate_bps"))
    / 1e6
)


def binned_flows(run: Run, step: float) -> pl.DataFrame:
    """Return ``flow``, ``t`` (s, the middle of a step), ``rate`` (Mbit/s) and ``rtt`` (ms), means over steps."""
    return binned(run, step, {"rate": _RATE, "rtt": pl.col("srtt_s").fill_nan(None) * 1e3})


def binned(run: Run, step: float, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return ``flow``, ``t`` (s, the middle of a step) and the means of these columns over steps."""
    return (
        run.flows.lazy()
        .filter(pl.col("t_s") >= 0)
        .select(pl.col("flow").cast(pl.String), _bin(step), **columns)
        .group_by("flow", "bin", maintain_order=True)
        .agg(pl.col(name).mean() for name in columns)
        .select("flow", *columns, t=(pl.col("bin") + 0.5) * step)
        .sort("flow", "t")
        .collect()
    )


def column_bands(runs: Sequence[Run], table: str, column: str, step: float, scale: float = 1.0) -> dict[str, Band]:
    """Return a column of a table over time by what its rows are of: a flow or a queue; empty where they are of nothing.

    The line is the first run's, its range that over all runs.

    Args:
        runs: they differ by their seed.
        table: with the column ``t_s``; rows are told apart by the columns ``flow``, ``queue`` and ``name``.
        column: its numbers.
        step: what is averaged over, s.
        scale: what the numbers are multiplied by.
    """
    tables = []
    for run in runs:
        frame = run.table(table)
        by = [pl.col(name).cast(pl.String) for name in ("flow", "queue", "name") if name in frame.columns]
        tables.append(
            frame.lazy()
            .filter(pl.col("t_s") >= 0)
            .select(
                pl.concat_str(by, separator=" ").alias("flow") if by else pl.lit("").alias("flow"),
                _bin(step),
                value=pl.col(column).cast(pl.Float64).fill_nan(None) * scale,
            )
            .group_by("flow", "bin", maintain_order=True)
            .agg(pl.col("value").mean())
            .select("flow", "value", t=(pl.col("bin") + 0.5) * step)
            .collect()
        )
    return {name: _band(tables, name, "value") for name in tables[0]["flow"].unique(maintain_order=True)}


def _bin(step: float) -> pl.Expr:
    """Return which step a row belongs to; ``t_s`` is the end of its sample interval."""
    return ((pl.col("t_s") / step - 1e-6).ceil() - 1).cast(pl.Int64).alias("bin")


def _band(tables: Sequence[pl.DataFrame], flow: str, column: str) -> Band:
    """Return the first table's line of a flow, with the range over all tables where there are several."""
    own = tables[0].filter(pl.col("flow") == flow)
    if len(tables) == 1:
        return Band(own["t"].to_list(), _values(own[column]))
    every = [table.filter(pl.col("flow") == flow).select("t", column) for table in tables]
    ends = pl.concat(every).group_by("t", maintain_order=True).agg(low=pl.col(column).min(), high=pl.col(column).max())
    both = own.join(ends, on="t", how="left", maintain_order="left")
    others = [
        _values(own.select("t").join(other, on="t", how="left", maintain_order="left")[column]) for other in every[1:]
    ]
    return Band(both["t"].to_list(), _values(both[column]), _values(both["low"]), _values(both["high"]), others)


def queue_lines(runs: Sequence[Run], step: float) -> list[tuple[str, Band]]:
    """Return the queue delay in the first of the runs, ms, of each queue that matters in one of them, with its name.

    The name is empty where there is but one queue that it can be.
    """
    scenario = runs[0].scenario
    matter = queues.that_matter(runs)
    names = queues.names(scenario, matter)
    return [(name, queue_line(runs[0], step, queue.path)) for queue, name in zip(matter, names, strict=True)]


def queue_line(run: Run, step: float, path: str = "") -> Band:
    """Return the queue delay, ms: mean, least and most in each step.

    Args:
        run: whose it is.
        step: s.
        path: of which queue; of the bottleneck if empty.
    """
    main = queues.bottleneck(run.scenario)
    path = path or (main.path if main else "")
    if not path:
        return Band([], [])
    table = (
        run.queues.lazy()
        .filter((pl.col("queue").cast(pl.String) == path) & (pl.col("t_s") >= 0))
        .select(
            _bin(step),
            mean=pl.col("sojourn_mean_s").fill_nan(None) * 1e3,
            low=pl.col("sojourn_min_s").fill_nan(None) * 1e3,
            high=pl.col("sojourn_max_s").fill_nan(None) * 1e3,
        )
        .group_by("bin", maintain_order=True)
        .agg(pl.col("mean").mean(), pl.col("low").min(), pl.col("high").max())
        .sort("bin")
        .collect()
    )
    t = ((table["bin"] + 0.5) * step).to_list()
    return Band(t, _values(table["mean"]), _values(table["low"]), _values(table["high"]))


def state_band(run: Run, name: str, step: float) -> Band:
    """Return a number of the bottleneck's controller: the mean in each step, with the least and the most of it."""
    found = run.scenario.bottleneck
    if found is None or "queue_state" not in run.tables:
        return Band([], [])
    table = (
        run.table("queue_state")
        .lazy()
        .filter(
            (pl.col("queue").cast(pl.String) == found[0])
            & (pl.col("name").cast(pl.String) == name)
            & (pl.col("t_s") >= 0)
        )
        .select(_bin(step), value=pl.col("value").fill_nan(None))
        .group_by("bin", maintain_order=True)
        .agg(mean=pl.col("value").mean(), low=pl.col("value").min(), high=pl.col("value").max())
        .sort("bin")
        .collect()
    )
    t = ((table["bin"] + 0.5) * step).to_list()
    return Band(t, _values(table["mean"]), _values(table["low"]), _values(table["high"]))


def events_of(run: Run) -> list[tuple[float, str]]:
    """Return when something was changed, and what; the same change of several elements is said once."""
    happened = run.events.filter(pl.col("what").cast(pl.String) == "event")
    texts: dict[float, dict[str, None]] = {}
    for t, subject, detail in happened.select("t_s", "subject", "detail").iter_rows():
        change = str(detail).split(": ", 1)[-1] or str(subject).removeprefix("event ")
        texts.setdefault(float(t), {})[change] = None
    return [(t, ", ".join(changes)) for t, changes in texts.items()]


def _values(column: pl.Series) -> list[float]:
    return column.cast(pl.Float64).fill_null(float("nan")).to_list()
