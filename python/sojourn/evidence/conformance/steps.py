"""A run as steps: one row a sample interval, with everything that a case may ask about.

Of the subject's flow every column of the table ``flows`` without its unit, and each number of its congestion control by
its name; ``t``, the time (s). ``recovery`` is the recovery state by Linux's name. Of another flow the same as
``NAME.COLUMN``, with ``_`` for ``-`` in the name; of the queue at the bottleneck, in the data's direction,
``queue.COLUMN``, its controller's numbers ``queue.NAME``, and its marks and drops by reason ``queue.marks_REASON`` and
``queue.drops_REASON``.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from sojourn import _core
from sojourn.core import listings
from sojourn.core.run import Run
from sojourn.evidence.conformance.subject import FLOW, HOP
from sojourn.evidence.conformance.words import T, Words

_FLOW: Final = {
    "goodput_bps": "goodput",
    "delivery_rate_bps": "delivery_rate",
    "rtt_s": "rtt",
    "srtt_s": "srtt",
    "rttvar_s": "rttvar",
    "pacing_rate_bps": "pacing_rate",
    "state": "recovery",
}
"""Columns of flows that have another name here."""
_QUEUE: Final = {"sojourn_min_s": "sojourn_min", "sojourn_mean_s": "sojourn_mean", "sojourn_max_s": "sojourn_max"}


def steps(run: Run, needed: Iterable[str], derived: Mapping[str, Words]) -> tuple[pl.DataFrame, set[str]]:
    """Return the steps of a run from its origin on, and which of the columns that are needed it does not have.

    The subject does not report a column of a table without a value at any step. A congestion control's own number
    without a value is known to have none: a bound that was never set, for example.

    Args:
        run: the run to take steps of.
        needed: the columns that are asked about.
        derived: columns that are made of others.
    """
    wanted = set(needed)
    for name, words in derived.items():
        if name in wanted:
            wanted |= set(words.names)
    frame = _flow(run, FLOW, wanted, "")
    others = {name.partition(".")[0] for name in wanted if "." in name} - {"queue"}
    for other in sorted(others):
        own = {name.partition(".")[2] for name in wanted if name.startswith(f"{other}.")}
        frame = _joined(frame, _flow(run, other, own, f"{other}."))
    if any(name.startswith("queue.") for name in wanted):
        frame = _joined(frame, _queue(run, {name.removeprefix("queue.") for name in wanted}))
    for name, words in derived.items():
        if name in wanted and name not in frame.columns and set(words.names) <= set(frame.columns):
            frame = frame.with_columns(words.expression.alias(name))
    silent = {name for name in wanted & set(frame.columns) - reported(run) if frame[name].null_count() == frame.height}
    return frame.sort(T), {name for name in needed if name not in frame.columns or name in silent}


def reported(run: Run) -> frozenset[str]:
    """Return the numbers that controls of this run tell of themselves, under the names that steps have for them."""
    own = {name for flow in run.scenario.flows for name in _names_of(flow["name"], _reported(run, flow["name"]))}
    return frozenset(own)


def _names_of(flow: str, numbers: Iterable[str]) -> Iterable[str]:
    return numbers if flow == FLOW else (f"{flow}.{name}" for name in numbers)


def _joined(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    return right if left.is_empty() else left if right.is_empty() else left.join(right, on=T, how="left")


def _own(table: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    return table.filter((pl.col(column).cast(pl.String) == name) & (pl.col("t_s") >= 0))


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with counts that may be subtracted, null instead of NaN, and times that compare."""
    rows = rows.with_columns(pl.col(pl.UInt64).cast(pl.Int64), pl.col(pl.Float64).fill_nan(None))
    return rows.with_columns(pl.col(T).round(9))


def _flow(run: Run, flow: str, wanted: set[str], prefix: str) -> pl.DataFrame:
    rows = _own(run.flows, "flow", flow).drop("flow").rename({"t_s": T, **_FLOW})
    rows = _plain(rows).with_columns(pl.col("recovery").cast(pl.String))
    return _prefixed(_with_numbers(run, rows, "flow_state", "flow", flow, wanted, _reported(run, flow)), prefix)


def _queue(run: Run, wanted: set[str]) -> pl.DataFrame:
    path = f"{HOP}.down.qdisc"
    rows = _plain(_own(run.queues, "queue", path).drop("queue").rename({"t_s": T, **_QUEUE}))
    rows = _with_numbers(run, rows, "queue_state", "queue", path, wanted, frozenset())
    signals = _own(run.table("queue_signals"), "queue", path)
    for name in sorted(wanted):
        kind, _, reason = name.partition("_")
        if kind not in {"marks", "drops"} or not reason:
            continue
        own = signals.filter(
            (pl.col("reason").cast(pl.String) == reason) & (pl.col("kind").cast(pl.String) == kind.removesuffix("s"))
        ).select(pl.col("t_s").round(9).alias(T), pl.col("count").cast(pl.Int64).alias(name))
        rows = rows.join(own, on=T, how="left").sort(T).with_columns(pl.col(name).forward_fill().fill_null(0))
    return _prefixed(rows, "queue.")


def _with_numbers(
    run: Run, rows: pl.DataFrame, table: str, column: str, name: str, wanted: set[str], listed: frozenset[str]
) -> pl.DataFrame:
    """Add a controller's numbers: those that are asked for, at the steps at which there are any."""
    if table not in run.tables:
        return rows
    own = _own(run.table(table), column, name).with_columns(pl.col("name").cast(pl.String))
    there = own["name"].unique().to_list()
    for number in sorted(wanted & set(there)):
        named = own.filter(pl.col("name") == number)
        values = named.select(pl.col("t_s").round(9).alias(T), pl.col("value").alias(number))
        rows = rows.drop(number, strict=False).join(values, on=T, how="left")
    # A number that has no value for the time being, such as a bound that is not set, is known to be none.
    none = [pl.lit(None, pl.Float64).alias(number) for number in sorted((wanted & listed) - set(rows.columns))]
    return rows.with_columns(none)


@functools.cache
def _listed() -> dict[str, frozenset[str]]:
    """Return the numbers that each congestion control tells of itself, by its name."""
    entries = [*listings.ccs(), *listings.implementations()]
    return {entry["name"]: frozenset(one["name"] for one in entry["gauges"]) for entry in entries}


def _reported(run: Run, flow: str) -> frozenset[str]:
    """Return the numbers that the control of a flow tells, those included that have no value for the time being."""
    own = next((one for one in run.scenario.flows if one["name"] == flow), None)
    # A kernel tells what ss shows of its control, which are other numbers.
    if own is None or _core.facts(run.engine).kernels:
        return frozenset()
    traffic = own["traffic"]
    stack = f"{traffic['stack']}/" if traffic["kind"] in {"quic", "tcp_stack"} else ""
    return _listed().get(f"{stack}{traffic.get('cc', '')}", frozenset())


def _prefixed(rows: pl.DataFrame, prefix: str) -> pl.DataFrame:
    return rows.rename({name: f"{prefix}{name}" for name in rows.columns if name != T}) if prefix else rows
