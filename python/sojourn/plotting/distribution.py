"""The distribution of a recorded quantity: every row of it, or the histogram of every packet.

Which quantities there are, and in which table and column, the extension module's table of metrics says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.errors import UsageError
from sojourn.plotting import labels
from sojourn.plotting.labels import Label

_SUBJECT: Final = {"flows": "flow", "queues": "queue", "histograms": "subject"}
"""The column that names a row's flow or queue; ``flow`` in the other tables."""


_SAME: Final = 0.5e-9
"""Times this near are the same: they come from nanoseconds."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values of a cell's runs together, each with how often it came."""

    of: str
    """The flow or queue."""
    table: pl.DataFrame
    """``value``, in the unit of the quantity's label and in order, and ``count``."""

    @property
    def total(self) -> int:
        """How many values there are."""
        return int(self.table["count"].sum())

    @property
    def below(self) -> pl.Series:
        """For each value, which part is no greater."""
        return (self.table["count"].cum_sum() / self.total).alias("below")

    def quantile(self, part: float) -> float:
        """Return the least value that this part of all is no greater than: the nearest rank."""
        reached = self.table.filter(self.below >= part * (1 - 1e-12))
        return float(reached["value"][0])


def known() -> list[str]:
    """Return the quantities that have a distribution."""
    return [quantity["name"] for quantity in labels.quantities() if quantity["table"]]


def distributions(cell: Cell, quantity: str, of: str, window: str) -> list[Distribution]:
    """Return the distributions of a quantity in a cell: one for each flow or queue that is asked for.

    Args:
        cell: the cell; its runs are taken together.
        quantity: by its name in metrics: ``rtt``, ``completion_time``, ``sojourn``, ``sojourn.l``.
        of: flows or queues, with commas; all flows that have values if it is empty, and of queues those that matter.
        window: where to look, in the words of metrics; from the origin on if it is empty.

    Raises:
        UsageError: if there is no such quantity or none of these has values, naming those that have.
    """
    table, column = _place(quantity)
    label = labels.of_quantity(quantity)
    if table == "histograms" and window:
        raise UsageError(
            f"{quantity} exists only as histograms of whole runs",
            help="leave out window=, or ask for percentiles in a window: `sojourn table DIR 'p99(sojourn, …) over …'`",
        )
    frames = [_rows(run, table, column, window) for run in cell.runs]
    whole = pl.concat(frames) if frames else pl.DataFrame()
    there = whole["of"].unique(maintain_order=True).to_list()
    wanted = [name.strip() for name in of.split(",") if name.strip()] or _usual(cell, quantity, there)
    if not there:
        raise UsageError(_nothing(cell, quantity, label), help=_help(cell))
    for name in wanted:
        if name not in there:
            raise UsageError.unknown(f"flow or queue with {labels.inside(label.name)}", name, there)
    found = []
    for name in wanted:
        counted = (
            whole.filter(pl.col("of") == name)
            .group_by("value")
            .agg(pl.col("count").sum())
            .sort("value")
            .with_columns(pl.col("value") * label.scale)
        )
        found.append(Distribution(name, counted))
    return found


def _place(quantity: str) -> tuple[str, str]:
    if quantity.startswith("sojourn."):
        return "histograms", quantity
    for known_one in labels.quantities():
        if known_one["name"] == quantity and known_one["table"]:
            return known_one["table"], known_one["column"]
    renamed = _OLD.get(quantity)
    if renamed is not None:
        raise UsageError(f"{quantity} is called {renamed}, as in metrics", help=f"quantity={renamed}")
    raise UsageError.unknown("quantity with a distribution", quantity, known())


_OLD: Final = {"owd-back": "owd_back", "queue": "sojourn"}
"""What quantities were called before they had the metrics' names."""


def _rows(run: Run, table: str, column: str, window: str) -> pl.DataFrame:
    """Return ``of``, ``value`` (base units) and ``count`` of one run."""
    empty = pl.DataFrame(schema={"of": pl.String, "value": pl.Float64, "count": pl.UInt64})
    if table == "histograms":
        if table not in run.tables:
            return empty
        frame = run.table(table).filter(pl.col("quantity").cast(pl.String) == column)
        # A bucket counts at its upper edge.
        return frame.select(pl.col("subject").cast(pl.String).alias("of"), value=pl.col("hi_s"), count=pl.col("count"))
    # A probe's RTT is that of its packets.
    places = [("pings", column), (table, column)] if (table, column) == ("flows", "rtt_s") else [(table, column)]
    frames = [empty]
    # What happens just when a window begins does not belong to it; at the origin it does.
    bounds = run.window(window) if window else (-2 * _SAME, run.scenario.seconds)
    if bounds is None:
        return empty
    for name, own in places:
        if name not in run.tables:
            continue
        frame = run.table(name).select(
            pl.col("t_s"), pl.col(_SUBJECT.get(name, "flow")).cast(pl.String).alias("of"), pl.col(own).alias("value")
        )
        frames.append(
            frame.filter((pl.col("t_s") > bounds[0] + _SAME) & (pl.col("t_s") <= bounds[1] + _SAME))
            .select("of", pl.col("value").cast(pl.Float64).fill_nan(None))
            .drop_nulls()
            .with_columns(count=pl.lit(1, dtype=pl.UInt64))
        )
    return pl.concat(frames)


def _usual(cell: Cell, quantity: str, there: Sequence[str]) -> list[str]:
    """Return the flows or queues that are drawn by default."""
    matter = [queue.path for queue in queues.that_matter(cell.runs) if queue.path in there]
    if matter:
        return matter
    probes = [f["name"] for f in cell.scenario.flows if not f.is_load and f["name"] in there]
    if quantity == "rtt" and probes:
        return probes[:1]
    return list(there)


def _nothing(cell: Cell, quantity: str, label: Label) -> str:
    return f"{cell.runs[0].label} has no {labels.inside(label.name)} ({quantity})"


def _help(cell: Cell) -> str:
    """Return the quantities that a cell's first run has values of."""
    run = cell.runs[0]
    there = [
        q["name"] for q in labels.quantities() if q["table"] and not _rows(run, q["table"], q["column"], "").is_empty()
    ]
    return f"it has {', '.join(there)}"
