"""What people read of an evaluation: lines and pages."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sojourn.evidence.evaluation.document import Document, Figure, Pair
from sojourn.evidence.evaluation.judge import JudgedCell, JudgedFigure, JudgedRow, Verdict
from sojourn.evidence.evaluation.subject import Subject
from sojourn.evidence.judging import Bound

_SCALES: Final = {"": 1.0, "%": 0.01, "ms": 1e-3, "s": 1.0, "Mbit/s": 1e6}

MARKS: Final = {
    Verdict.FAIL: "fail",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NO_VALUE: "–",
    Verdict.PASS: "pass",
    Verdict.REPORTED: "·",
}
"""What stands for a verdict where room is dear."""


def number(value: float, figure: Figure) -> str:
    """Return a figure's value as people read it, with its unit."""
    if math.isnan(value):
        return "none"
    rule = figure.rule
    unit = figure.unit or (rule.unit if isinstance(rule, Bound) else "")
    scale = _SCALES.get(unit, 1.0)
    return f"{value / scale:.3g} {unit}".strip()


def rule(figure: Figure, cell: JudgedCell) -> str:
    """Return the rule with its limit in this cell."""
    if isinstance(figure.rule, Bound):
        return figure.rule.text
    if isinstance(figure.rule, Pair):
        sign = "≤" if figure.rule.better == "less" else "≥"
        return f"{sign} {number(cell.limit, figure)}"
    return ""


def telling(row: JudgedRow) -> str:
    """Return in a line what decides a row."""
    if row.refused:
        return f"not run: {row.refused}"
    own = row.telling
    if own is None or own.telling is None:
        return "no run had a value"
    cell = own.telling
    words = f"{own.figure.name} {number(cell.value, own.figure)}"
    if own.figure.rule is not None and not (math.isnan(cell.limit) and isinstance(own.figure.rule, Pair)):
        words += f" ({rule(own.figure, cell)})"
    if cell.title:
        words += f" at {cell.title}"
    bad = own.count(own.verdict)
    if own.verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE}:
        words += f"; {bad} of {len(own.cells)} cells {MARKS[own.verdict]}"
    elif own.verdict is Verdict.PASS:
        cells = sum(figure.count(Verdict.PASS) for figure in row.figures)
        words += f"; the nearest of {cells} that pass" if cells > 1 else ""
    return words


def markdown(
    document: Document, subject: Subject, rows: Sequence[JudgedRow], known_rows: Mapping[str, Sequence[JudgedRow]]
) -> str:
    """Return the evaluation as a page: a row a criterion, then each figure in each cell."""
    word = subject.word
    lines = [
        f"# {word} and {document.title}",
        "",
        f"{document.about[:1].upper()}{document.about[1:]}. {document.how}",
        "",
        f"| § | level | criterion | {word} | what decides | {' | '.join(known_rows)} |",
        f"|---|---|---|---|---|{'---|' * len(known_rows)}",
    ]
    for index, row in enumerate(rows):
        others = " | ".join(MARKS[other[index].verdict] for other in known_rows.values())
        what = row.row
        lines.append(
            f"| {what.section} | {what.level} | {what.criterion} | {_verdict(row)} | {telling(row)} | {others} |"
        )
    notes = [f"- {name}: {note}." for name, note in document.notes.items() if name in known_rows]
    lines += ["", *notes] if notes else []
    lines += ["", "Not covered:", ""]
    lines += [f"- §{section}: {why}." for section, why in document.not_covered.items()]
    for row in rows:
        lines += ["", f"## §{row.row.section} {row.row.criterion}", ""]
        if row.refused:
            lines += [f"Not run: {row.refused}."]
            continue
        lines += [f"`sojourn run {row.row.suite}`, with {subject.where} {word}."]
        for own in row.figures:
            lines += ["", *_figure(own)]
    return "\n".join(lines) + "\n"


def _verdict(row: JudgedRow) -> str:
    return "not run" if row.refused else str(row.verdict)


def _figure(own: JudgedFigure) -> list[str]:
    origin = f"; {own.figure.origin}" if own.figure.origin else ""
    lines = [
        f"{own.figure.name} (`{'`, `'.join(own.figure.metrics)}`{origin}): {own.verdict}",
        "",
        "| cell | median | least | most | rule | |",
        "|---|---:|---:|---:|---|---|",
    ]
    for cell in own.cells:
        values = " | ".join(number(value, own.figure) for value in (cell.value, cell.low, cell.high))
        lines.append(f"| {cell.title} | {values} | {rule(own.figure, cell)} | {cell.verdict} |")
    return lines


def json(rows: Sequence[JudgedRow]) -> list[dict[str, Any]]:
    """Return the rows for ``--json``: values in the metrics' base units."""
    return [
        {
            "id": row.row.id,
            "section": row.row.section,
            "level": row.row.level,
            "criterion": row.row.criterion,
            "suite": row.row.suite,
            "verdict": "not run" if row.refused else row.verdict.value,
            "refused": row.refused or None,
            "figures": [
                {
                    "name": own.figure.name,
                    "metrics": own.figure.metrics,
                    "origin": own.figure.origin or None,
                    "verdict": own.verdict.value,
                    "cells": [
                        {
                            "cell": dict(cell.cell),
                            "verdict": cell.verdict.value,
                            "median": _known(cell.value),
                            "least": _known(cell.low),
                            "most": _known(cell.high),
                            "limit": _known(cell.limit),
                        }
                        for cell in own.cells
                    ],
                }
                for own in row.figures
            ],
        }
        for row in rows
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
