"""Verdicts as tables: a summary, then each published value next to ours.

Functions ending in `_rows` return text cells, the headings first, for CSV files; the others return Markdown.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from sojourn.evidence.validation.judge import Judged, Summary, Value
from sojourn.evidence.validation.totals import Total

_RIGHT: Final = "---:"


def summary_table(summaries: Sequence[Summary]) -> str:
    """Return the table of the groups."""
    headings, *rows = summary_rows(summaries)
    return _table(headings, ("---", "---", *[_RIGHT] * 6), rows)


def summary_rows(summaries: Sequence[Summary]) -> list[Sequence[str]]:
    """Return the rows of :func:`summary_table`."""
    rows = [
        (
            s.quantity,
            s.group if s.by == "all" else f"{s.by} {s.group}",
            str(s.rows),
            _percent(s.coverage),
            _percent(s.median_bias, signed=True),
            _percent(s.median_abs_error, digits=1),
            _percent(s.p90_abs_error, digits=1),
            _percent(s.sums_within_1_percent),
        )
        for s in summaries
    ]
    headings = ("quantity", "group", "rows", "coverage", "median bias", "median error", "90 % error", "sums within 1 %")
    return [headings, *rows]


def totals_table(title: str, totals: Sequence[Total]) -> str:
    """Return the table of a total; ``title`` names the rows that it counts."""
    headings, *rows = totals_rows(title, totals)
    return _table(headings, ("---", *[_RIGHT] * 6), rows)


def totals_rows(title: str, totals: Sequence[Total]) -> list[Sequence[str]]:
    """Return the rows of :func:`totals_table`."""
    rows = [
        (
            ", ".join(name for name in (total.kind, total.family) if name) or "all",
            str(total.rows),
            str(total.agree),
            _percent(total.agree / total.rows),
            f"{statistics.median(total.share_errors):.4f}" if total.share_errors else "–",
            f"{_nearest_rank(total.share_errors, 0.9):.4f}" if total.share_errors else "–",
            f"{total.close} of {len(total.sums)}",
        )
        for total in totals
    ]
    headings = (
        f"rates, {title}",
        "rows",
        "agree",
        "coverage",
        "median share error",
        "90 % share error",
        "sums within 1 %",
    )
    return [headings, *rows]


def _nearest_rank(ascending: Sequence[float], share: float) -> float:
    return ascending[math.ceil(share * len(ascending)) - 1]


def values_table(judged: Sequence[Judged], linux: Mapping[int, Judged]) -> str:
    """Return the table of every figure; ``linux`` has the results of Linux for the same rows, by line."""
    headings, *rows = values_rows(judged, linux)
    shown = []
    last = ""
    for name, *cells, verdict in rows:
        shown.append(["" if name == last else name, *cells, f"**{verdict}**" if verdict == "differs" else verdict])
        last = name
    rules = ["---", "---", "---", _RIGHT, _RIGHT, "---", "---", *["---"] * (len(headings) - 7)]
    return _table(headings, rules, shown)


def values_rows(judged: Sequence[Judged], linux: Mapping[int, Judged]) -> list[Sequence[str]]:
    """Return the rows of :func:`values_table`, each with the name of its published row."""
    rows = []
    for j in judged:
        other = linux.get(j.row.line)
        for place, value in enumerate(j.values):
            own = other.values[place] if other else None
            rows.append(
                (
                    f"{j.row.rate_mbit:g} Mbit/s, {j.row.queue}{_more(j)}",
                    str(value.sender),
                    f"{value.figure.quantity}, {value.figure.unit}",
                    _number(value.published),
                    _number(value.ours),
                    f"{_number(value.low)} – {_number(value.high)}",
                    f"± {_number(value.noise)}",
                    *([_linux(own)] if linux else []),
                    "agrees" if value.agrees else "differs",
                )
            )
    headings = ["published row", "sender", "quantity", "published", "ours", "our central 95 %", "widened by"]
    headings += ["Linux", "verdict"] if linux else ["verdict"]
    return [headings, *rows]


def _more(judged: Judged) -> str:
    return "".join(f", {text}" for text in (*judged.row.besides, judged.row.part) if text)


def _linux(value: Value | None) -> str:
    if value is None:
        return ""
    return f"{_number(value.ours)} ({_number(value.low)} – {_number(value.high)})"


def _number(value: float) -> str:
    digits = 2 if abs(value) >= 1 or value == 0 else 4
    return f"{value:.{digits}f}"


def _percent(value: float, *, signed: bool = False, digits: int = 0) -> str:
    if math.isnan(value):
        return "–"
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.{digits}f} %"


def _table(headings: Sequence[str], rules: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = (headings, rules, *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
