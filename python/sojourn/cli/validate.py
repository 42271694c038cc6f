"""``sojourn validate``."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.text import Text

from sojourn.cli.grid import print_table
from sojourn.cli.screen import out, print_json
from sojourn.core.store.atomic import write_file
from sojourn.errors import UsageError
from sojourn.evidence.validation import ENOUGH_SEEDS, Judged, Noise, Row, Summary, read_published, summarise
from sojourn.evidence.validation import against as against_runs
from sojourn.evidence.validation import markdown as document


def validate(
    path: Path,
    against: Path,
    *,
    noise: Path | None = None,
    linux: Sequence[Path] = (),
    markdown: Path | None = None,
    as_json: bool = False,
) -> None:
    """Compare, and print a summary and its rows."""
    rows = read_published(against)
    known = Noise.read(noise) if noise is not None else Noise.of_table(against)
    judged, not_run, unmeasured = against_runs(rows, path, known)
    summaries = summarise(judged)
    if markdown is not None:
        on_linux = {j.row.line: j for folder in linux for j in against_runs(rows, folder, known).judged}
        text = f"{document.summary_table(summaries)}\n{document.values_table(judged, on_linux)}"
        write_file(markdown, text.encode())
    if as_json:
        rows_json = [
            *map(_judged_json, judged),
            *(_unjudged_json(row, "not run") for row in not_run),
            *(_unjudged_json(own.row, "no value") for own in unmeasured),
        ]
        print_json({"summary": [asdict(summary) for summary in summaries], "rows": rows_json})
    else:
        _show(summaries, judged, not_run, published=len(rows))
    if unmeasured:
        head = (
            "a published row cannot be compared"
            if len(unmeasured) == 1
            else f"{len(unmeasured)} rows cannot be compared"
        )
        rows_said = "\n  ".join(str(own) for own in unmeasured)
        raise UsageError(
            f"{head}: our runs lack a value for a published one\n  {rows_said}",
            help=next((own.why.render() for own in unmeasured if own.why), None)
            or "leave these rows out of the table, or repeat the runs on an engine that records it",
        )


def _row_json(row: Row, verdict: str) -> dict[str, Any]:
    return {
        "line": row.line,
        "scenario": row.scenario,
        "rate_mbit": row.rate_mbit,
        "queue": row.queue,
        "verdict": verdict,
    }


def _judged_json(judged: Judged) -> dict[str, Any]:
    return {
        **_row_json(judged.row, "agrees" if judged.agrees else "differs"),
        "agrees": judged.agrees,
        "seeds": judged.seeds,
        "noise_known": judged.noise_known,
        "sum_errors": judged.sum_errors,
        "share_error": judged.share_error,
        "values": [
            {
                "sender": str(value.sender),
                "quantity": value.figure.quantity,
                "unit": value.figure.unit,
                "published": value.published,
                "ours": value.ours,
                "low": value.low,
                "high": value.high,
                "noise": value.noise,
                "agrees": value.agrees,
                "bias": value.bias,
            }
            for value in judged.values
        ],
    }


def _unjudged_json(row: Row, verdict: str) -> dict[str, Any]:
    values = [
        {
            "sender": str(row.senders[figure.flow]),
            "quantity": figure.quantity,
            "unit": figure.unit,
            "published": figure.published,
        }
        for figure in row.figures
    ]
    return {**_row_json(row, verdict), "agrees": None, "seeds": 0, "values": values}


def _show(summaries: Sequence[Summary], judged: Sequence[Judged], not_run: Sequence[Row], *, published: int) -> None:
    console = out()
    # Rows without a verdict come first, so that the reader ends with the verdict.
    if not_run:
        console.print(f"not run: {len(not_run)} of {published} published rows")
        for row in not_run:
            console.print(Text(f"  line {row.line}: {row}"))
    if judged:
        _print_values(judged)
        _print_summary(summaries)
        console.print(
            "A row agrees if each published value is in our central 95 % range, which we widen by the published\n"
            "replicate noise and the value's own noise (the square root of a count). An error is our value minus\n"
            "the published one, for a row's first flow: rates in percent of the row's sum, others of the value."
        )
    few = sum(j.seeds < ENOUGH_SEEDS for j in judged)
    if few:
        console.print(f"\n{few} of these rows have fewer than {ENOUGH_SEEDS} seeds: too few for a verdict.")
    unknown = sum(len(j.values) > 1 and not j.noise_known for j in judged)
    if unknown:
        console.print(f"\nThe replicate noise of {unknown} rows is unknown and does not widen their ranges.")


def _print_values(judged: Sequence[Judged]) -> None:
    rows: list[list[str | Text]] = []
    for j in judged:
        for value in j.values:
            first = value is j.values[0]
            rows.append(
                [
                    str(j.row.line) if first else "",
                    f"{j.row.rate_mbit:g} Mbit/s, {j.row.queue}" if first else "",
                    str(value.sender),
                    f"{value.figure.quantity}, {value.figure.unit}",
                    f"{value.published:.2f}",
                    f"{value.ours:.2f}",
                    f"{value.low - value.noise:.2f} – {value.high + value.noise:.2f}",
                    str(j.seeds) if first else "",
                    "agrees" if value.agrees else Text("differs", style="yellow"),
                ]
            )
    heads = [
        "line",
        "published row",
        "sender",
        "quantity",
        "pub-\nlished",
        "ours",
        "range,\nwidened",
        "seeds",
        "",
    ]
    print_table(heads, rows, right=(0, 4, 5, 6, 7), prose=(1, 3))


def _print_summary(summaries: Sequence[Summary]) -> None:
    rows = [
        [
            s.quantity if s.by == "all" else "",
            s.group if s.by == "all" else f"{s.by} {s.group}",
            str(s.rows),
            _percent(s.coverage),
            _percent(s.median_bias, signed=True),
            _percent(s.median_abs_error, digits=1),
            _percent(s.p90_abs_error, digits=1),
            _percent(s.sums_within_1_percent),
        ]
        for s in summaries
    ]
    heads = [
        "quantity",
        "group",
        "rows",
        "cover-\nage",
        "median\nbias",
        "median\nerror",
        "90 %\nerror",
        "sums\n< 1 %",
    ]
    print_table(heads, rows, right=range(2, 8), prose=(0, 1))


def _percent(value: float, *, signed: bool = False, digits: int = 0) -> str:
    if math.isnan(value):
        return "–"
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.{digits}f} %"
