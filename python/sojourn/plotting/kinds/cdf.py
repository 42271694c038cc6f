"""How delays are distributed: one curve a cell, with a linear or a logarithmic tail.

The between-flow induced latency of l4s-tests: what a probe sees in the same queue as the load.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from sojourn.core import describe
from sojourn.core.cells import Cell
from sojourn.core.measured import seeds_said
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled
from sojourn.errors import UsageError
from sojourn.plotting.draw.curves import Curve, draw_cdf
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.grid import Grid

_PACKETS: Final = {"rtt": "rtt_s", "owd": "owd_s", "owd-back": "owd_back_s"}
_SAID: Final = {"rtt": "RTT", "owd": "one-way delay", "owd-back": "one-way delay back", "queue": "queue delay"}


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    quantity = options["quantity"]
    grid = Grid.of(cells, Options("cdf", (Option("x", ""), Option("panel", "")), {"panel": options["panel"] or "-"}))
    curves, frames = [], []
    for cell in cells:
        table, of = _distribution(cell, quantity, options["of"])
        if options["induced"] == "yes":
            table = table.with_columns(pl.col("delay_ms") - pl.col("delay_ms").min())
        labels = axes_of(cell)
        title = ", ".join(label for axis, label in cell.labels if axis in (*grid.rows, grid.x)) or cell.title
        curves.append(Curve(labels.get(grid.panel, ""), title, table["delay_ms"].to_list(), table["below"].to_list()))
        first = labelled(labels, {"of": of} | dict.fromkeys(table.columns))
        frames.append(table.select(*(pl.lit(v).alias(k) for k, v in first.items() if k not in table.columns), pl.all()))
    induced = "induced " if options["induced"] == "yes" else ""
    said = _SAID[quantity]
    svg = draw_cdf(
        curves,
        f"{induced}{said}, ms",
        tail=options["tail"] == "log",
        logarithmic=options["log"] == "yes",
        label=f"distribution of {induced}{said}",
    )
    caption = (
        f"Distribution of the {induced}{said} of every packet{' above the least' if induced else ''}, "
        f"{seeds_said(cells)} of each cell together."
    )
    return Drawn(svg, pl.concat(frames, how="diagonal"), caption)


def _distribution(cell: Cell, quantity: str, of: str) -> tuple[pl.DataFrame, str]:
    """Return ``delay_ms`` and ``below``, which part of the packets had no more; and whose packets they are."""
    if quantity == "queue":
        return _of_queue(cell, of)
    if not all("pings" in run.tables for run in cell.runs):
        raise UsageError(f"{cell.runs[0].label} has no packets of a probe")
    flows = list(dict.fromkeys(name for run in cell.runs for name in run.pings["flow"].cast(pl.String).to_list()))
    if of and of not in flows:
        raise UsageError.unknown("probe or call", of, flows)
    if not flows:
        raise UsageError(f"{cell.runs[0].label} has no probe", help="quantity=queue shows the queue's own delays")
    of = of or flows[0]
    column = _PACKETS[quantity]
    delays = pl.concat(
        run.pings.filter(pl.col("flow").cast(pl.String) == of).select(delay_ms=pl.col(column) * 1e3)
        for run in cell.runs
    ).filter(pl.col("delay_ms").is_not_nan() & pl.col("delay_ms").is_not_null())
    if delays.is_empty():
        raise UsageError(f"{cell.runs[0].label} has no {_SAID[quantity]} of {of}")
    counted = delays.group_by("delay_ms").len().sort("delay_ms")
    return counted.select("delay_ms", below=pl.col("len").cum_sum() / delays.height), of


def _of_queue(cell: Cell, of: str) -> tuple[pl.DataFrame, str]:
    """Return the distribution of a queue's delays from its histograms; a bucket counts at its upper edge."""
    found = describe.bottleneck(cell.scenario)
    of = of or (found[0] if found else "")
    if not all("histograms" in run.tables for run in cell.runs):
        raise UsageError(
            f"{cell.runs[0].label} has no histogram of a queue's delay", help="results of others have none"
        )
    tables = [
        run.table("histograms").filter(
            (pl.col("subject").cast(pl.String) == of) & (pl.col("quantity").cast(pl.String) == "sojourn")
        )
        for run in cell.runs
    ]
    whole = pl.concat(tables).group_by("hi_s").agg(pl.col("count").sum()).sort("hi_s")
    if whole.is_empty():
        known = list(dict.fromkeys(cell.runs[0].table("histograms")["subject"].cast(pl.String).to_list()))
        raise UsageError.unknown("queue with a histogram", of, known)
    total = int(whole["count"].sum())
    return whole.select(delay_ms=pl.col("hi_s") * 1e3, below=pl.col("count").cum_sum() / total), of


KIND = Kind(
    "cdf",
    "How delays are distributed: one curve a cell, of a probe's packets or of the queue; log-tail option.",
    (
        "L4S tests, figure 5. There the percentages count from above on a linear axis; here `tail=log` shows as much "
        "of the tail as there are packets."
    ),
    _make,
    (
        Option("quantity", "what is shown", "rtt", ("rtt", "owd", "owd-back", "queue")),
        Option("of", "which probe, call or queue; the first probe or the bottleneck if empty"),
        Option("tail", "log shows which part is above, to the rarest packets", "linear", ("linear", "log")),
        Option("log", "whether the delays' axis is logarithmic", "no", ("no", "yes")),
        Option("induced", "whether the least delay is taken off", "no", ("no", "yes")),
        Option("panel", "the axis with a panel for each label; one panel if empty"),
    ),
)
"""The kind."""
