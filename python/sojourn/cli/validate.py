"""``sojourn validate``."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cli.screen import out, print_json
from sojourn.run import results
from sojourn.validate import ENOUGH_SEEDS, Cells, Judged, Noise, Row, Summary, judge, read_published, summarise


def validate(path: Path, against: Path, *, noise: Path | None, as_json: bool) -> None:
    """Compare, and print a summary and what is behind it."""
    rows = read_published(against)
    known = Noise.read(noise) if noise is not None else Noise.beside(against)
    cells = Cells()
    for run in results(path):
        cells.add(run)
    judged: list[Judged] = []
    not_run: list[Row] = []
    for row in rows:
        cell = cells.match(row)
        if cell is None:
            not_run.append(row)
        else:
            judged += judge(row, cell, known)
    summaries = summarise(judged)
    if as_json:
        rows_json = [*map(_judged_json, judged), *(entry for row in not_run for entry in _not_run_json(row))]
        print_json({"summary": [asdict(summary) for summary in summaries], "rows": rows_json})
    else:
        _show(summaries, judged, not_run)


def _row_json(row: Row, flow: int) -> dict[str, Any]:
    sender = row.senders[flow]
    rivals = [str(other) for index, other in enumerate(row.senders) if index != flow]
    return {
        "line": row.line,
        "scenario": row.scenario,
        "rate_mbit": row.rate_mbit,
        "queue": row.queue,
        "flow": flow + 1,
        "sender": sender.cc,
        "rtt_ms": sender.rtt_ms,
        "rivals": rivals,
        "published_mbps": row.rates_mbps[flow],
    }


def _judged_json(judged: Judged) -> dict[str, Any]:
    return {
        **_row_json(judged.row, judged.flow),
        "ours_mbps": judged.ours,
        "low_mbps": judged.low,
        "high_mbps": judged.high,
        "noise_mbps": judged.noise,
        "noise_known": judged.noise_known,
        "agrees": judged.agrees,
        "bias": judged.bias,
        "total_error": judged.total_error,
        "seeds": judged.seeds,
        "verdict": "agrees" if judged.agrees else "differs",
    }


def _not_run_json(row: Row) -> list[dict[str, Any]]:
    return [{**_row_json(row, flow), "verdict": "not run"} for flow in range(len(row.senders))]


def _show(summaries: Sequence[Summary], judged: Sequence[Judged], not_run: Sequence[Row]) -> None:
    console = out()
    if judged:
        console.print(_values_table(judged))
        console.print(_summary_table(summaries))
        console.print(
            "Errors are ours less published, in percent of the row's published total. A value agrees when it lies in\n"
            "our central 95 % range, widened by the published replicate noise and 1 % for the metric itself."
        )
    few = sum(j.seeds < ENOUGH_SEEDS for j in judged)
    if few:
        console.print(f"\n{few} of these values have fewer than {ENOUGH_SEEDS} seeds: too few for a verdict.")
    unknown = sum(len(j.row.senders) > 1 and not j.noise_known for j in judged)
    if unknown:
        console.print(f"\nThe replicate noise of {unknown} values is not known; their ranges are not widened by it.")
    if not_run:
        rows = len({j.row.line for j in judged}) + len(not_run)
        console.print(f"\nnot run: {len(not_run)} of {rows} published rows")
        for row in not_run:
            console.print(Text(f"  line {row.line}: {row}"))


def _values_table(judged: Sequence[Judged]) -> Table:
    table = _table("line", "published row")
    for heading in ("sender", "published\nMbit/s", "ours\nMbit/s", "range, widened", "seeds", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for j in judged:
        first = j.flow == 0
        table.add_row(
            str(j.row.line) if first else "",
            Text(str(j.row) if first else ""),
            str(j.sender),
            f"{j.published:.2f}",
            f"{j.ours:.2f}",
            f"{j.low - j.noise:.2f} – {j.high + j.noise:.2f}",
            str(j.seeds),
            "agrees" if j.agrees else Text("differs", style="yellow"),
        )
    return table


def _summary_table(summaries: Sequence[Summary]) -> Table:
    table = _table("group")
    headings = ("values", "coverage", "median\nbias", "median\nerror", "90 %\nerror", "totals\nwithin 1 %")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for s in summaries:
        table.add_row(
            s.group if s.by == "all" else f"{s.by} {s.group}",
            str(s.rows),
            _percent(s.coverage),
            _percent(s.median_bias, signed=True),
            _percent(s.median_abs_error, digits=1),
            _percent(s.p90_abs_error, digits=1),
            _percent(s.totals_within_1_percent),
        )
    return table


def _percent(value: float, *, signed: bool = False, digits: int = 0) -> str:
    if math.isnan(value):
        return "–"
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.{digits}f} %"


def _table(*first: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in first:
        table.add_column(heading, overflow="fold")
    return table
