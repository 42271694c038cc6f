"""``sojourn validate``."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cli.screen import out, print_json
from sojourn.run import Run
from sojourn.store import Folder
from sojourn.validate import (
    ENOUGH_SEEDS,
    Cells,
    Judged,
    Noise,
    Row,
    Summary,
    judge,
    read_published,
    summarise,
)


def validate(path: Path, against: Path, *, noise: Path | None, as_json: bool) -> None:
    """Compare, and print a summary and what is behind it."""
    rows = read_published(against)
    known = Noise.read(noise) if noise is not None else Noise.beside(against)
    cells = Cells()
    for record in Folder.open(path).records():
        run = Run.stored(record)
        cells.add(run.scenario, run.rates_mbps)
    judged, not_run = [], []
    for row in rows:
        cell = cells.match(row)
        if cell is None:
            not_run.append(row)
        else:
            judged.append(judge(row, cell, known))
    summaries = summarise(judged)
    if as_json:
        print_json(
            {
                "summary": [_summary_json(s) for s in summaries],
                "rows": [*(_judged_json(j) for j in judged), *(_row_json(r, "not run") for r in not_run)],
            }
        )
    else:
        _show(summaries, judged, not_run)


def _row_json(row: Row, verdict: str) -> dict[str, Any]:
    return {
        "line": row.line,
        "scenario": row.scenario,
        "rate_mbit": row.rate_mbit,
        "queue": row.queue,
        "senders": [
            {"cc": s.cc, "rtt_ms": s.rtt_ms, "bleached": s.bleached, "published_mbps": rate}
            for s, rate in zip(row.senders, row.rates_mbps, strict=True)
        ],
        "verdict": verdict,
    }


def _judged_json(judged: Judged) -> dict[str, Any]:
    entry = _row_json(judged.row, "agrees" if judged.agrees else "differs")
    for sender, ours in zip(entry["senders"], judged.ours_mbps, strict=True):
        sender["ours_mbps"] = ours
    ranges = {"share": judged.share, "sum_mbps": judged.total}
    for name, found in ranges.items():
        if found is not None:
            entry[name] = {
                "published": found.published,
                "median": found.median,
                "low": found.low,
                "high": found.high,
                "agrees": found.agrees,
            }
    return {**entry, "seeds": judged.seeds, "noise_known": judged.noise_known}


def _summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "group": summary.group,
        "by": summary.by,
        "rows": summary.rows,
        "coverage": summary.coverage,
        "share_coverage": summary.share_coverage,
        "sum_coverage": summary.total_coverage,
        "median_bias": summary.median_bias,
        "median_abs_error": summary.median_abs_error,
        "p90_abs_error": summary.p90_abs_error,
    }


def _show(summaries: Sequence[Summary], judged: Sequence[Judged], not_run: Sequence[Row]) -> None:
    console = out()
    console.print(_rows_table(judged))
    console.print(_summary_table(summaries))
    console.print(
        "Errors are ours minus published delivery rate of a flow, in percent of the row's published total. A row\n"
        "agrees when the published share of the first flow lies in our central 95 % range widened by the\n"
        "published noise, and the published total in ours widened by 1 %."
    )
    few = sum(j.seeds < ENOUGH_SEEDS for j in judged)
    if few:
        console.print(f"\n{few} of these rows have fewer than {ENOUGH_SEEDS} seeds: too few for a verdict.")
    unknown = sum(j.share is not None and not j.noise_known for j in judged)
    if unknown:
        console.print(f"\nThe published noise of {unknown} rows is not known; their ranges are ours alone.")
    if not_run:
        console.print(f"\nnot run: {len(not_run)} of {len(judged) + len(not_run)} published rows")
        for row in not_run:
            console.print(Text(f"  line {row.line}: {row}"))


def _rows_table(judged: Sequence[Judged]) -> Table:
    table = _table("line", "row")
    for heading in (
        "published\nMbit/s",
        "ours\nMbit/s",
        "share\npublished",
        "share\nours, range",
        "seeds",
        "",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for j in judged:
        shares = ("", "")
        if j.share is not None:
            shares = (f"{j.share.published:.3f}", f"{j.share.low:.3f}–{j.share.high:.3f}")
        table.add_row(
            str(j.row.line),
            Text(str(j.row)),
            " / ".join(f"{rate:.2f}" for rate in j.row.rates_mbps),
            " / ".join(f"{rate:.2f}" for rate in j.ours_mbps),
            *shares,
            str(j.seeds),
            "agrees" if j.agrees else Text(_why(j), style="yellow"),
        )
    return table


def _why(judged: Judged) -> str:
    parts = []
    if judged.share is not None and not judged.share.agrees:
        parts.append("share")
    if not judged.total.agrees:
        parts.append("total")
    return f"{' and '.join(parts)} differ{'s' if len(parts) == 1 else ''}"


def _summary_table(summaries: Sequence[Summary]) -> Table:
    table = _table("group")
    headings = (
        "rows",
        "coverage",
        "shares\nagree",
        "totals\nagree",
        "median\nbias",
        "median\nerror",
        "90 %\nerror",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for s in summaries:
        table.add_row(
            s.group if s.by == "all" else f"{s.by} {s.group}",
            str(s.rows),
            *(_percent(v) for v in (s.coverage, s.share_coverage, s.total_coverage)),
            _percent(s.median_bias, signed=True),
            _percent(s.median_abs_error, digits=1),
            _percent(s.p90_abs_error, digits=1),
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
