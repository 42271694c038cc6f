"""Verdicts as people read them: in lines, and as a Markdown page."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sojourn.evidence.claims.interval import FEWEST
from sojourn.evidence.claims.verdicts import Cause, CellVerdict, ClaimVerdict, PartVerdict, Verdict

_HEAD: Final = """\
# What the published reports claim, and what our runs say

Written by `sojourn claims DIR --markdown docs/claims.md`; the claims, their bounds and the remarks are data in
`python/sojourn/evidence/claims`. A bound tests the finding and is looser than the published figure. Ours is the median
over the seeds with an interval that assumes no distribution (90 % or more), at the cell that decides: the one farthest
out, or least within.
"""


def ours(own: ClaimVerdict) -> str:
    """Return what decides a claim: the value with its interval, the bound, and where."""
    telling = own.telling
    cell = telling.telling
    if cell is None:
        return own.cause
    text = f"{value(telling, cell)} ({telling.part.bound.text}): {telling.part.what}"
    return f"{text}; {cell.title}" if cell.title else text


def runs(own: ClaimVerdict) -> str:
    """Return which runs a claim was looked at in: ``120 of l4s-tests/s6``."""
    counts = Counter(run.scenario["experiment"] for run in own.runs)
    return ", ".join(f"{count} of {name}" for name, count in counts.items())


def value(part: PartVerdict, cell: CellVerdict) -> str:
    """Return a cell's median and its interval in the bound's unit."""
    bound = part.part.bound
    unit = f" {bound.unit}" if bound.unit else ""
    if not cell.values:
        return cell.cause
    if math.isnan(cell.low):
        return f"{bound.show(cell.ours)}{unit}"
    return f"{bound.show(cell.ours)} [{bound.show(cell.low)}, {bound.show(cell.high)}]{unit}"


def details(own: ClaimVerdict) -> Iterator[str]:
    """Yield a line for each part, and one for each of its cells."""
    yield f"{own.claim.id}: {_said(own.verdict, own.cause)}"
    for part in own.parts:
        yield f"  {part.part.what} ({part.part.bound.text}): {_said(part.verdict, part.cause)}"
        for cell in part.cells:
            yield f"    {cell.title or 'the cell'}: {value(part, cell)}, {_said(cell.verdict, cell.cause)}"


def _said(verdict: Verdict, cause: Cause) -> str:
    return f"{verdict}: {cause}" if cause else str(verdict)


def summary(verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
    """Yield what is left to say below the table."""
    counts = {verdict: sum(own.verdict is verdict for own in verdicts) for verdict in Verdict}
    yield f"{', '.join(f'{count} {verdict}' for verdict, count in counts.items())} of {len(verdicts)} claims"
    told = {
        Cause.NOT_RUN: "not run",
        Cause.FEW_SEEDS: f"too few seeds, {FEWEST} are the least",
        Cause.SPANS: "the interval spans the bound; more seeds may tell",
        Cause.NO_VALUE: "a run gives no value",
    }
    for cause, text in told.items():
        these = [own for own in verdicts if own.verdict is Verdict.INCONCLUSIVE and own.cause is cause]
        if these:
            yield f"{text}: {', '.join(own.claim.id for own in these)}"
            for command in dict.fromkeys(own.advice for own in these if own.advice):
                yield f"  {command}"
    yield from not_elsewhere(verdicts)


def witnessed(verdicts: Sequence[ClaimVerdict]) -> list[ClaimVerdict]:
    """Return what is not reproduced and was measured elsewhere not to be."""
    return [own for own in verdicts if own.verdict is Verdict.NOT_REPRODUCED and own.claim.witness]


def not_elsewhere(verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
    """Yield a line for each finding that others do not reproduce either."""
    for own in witnessed(verdicts):
        yield f"{own.claim.id} is not reproduced by others either: {own.claim.witness}"


def regressions(verdicts: Sequence[ClaimVerdict], expected: Sequence[str]) -> list[str]:
    """Return the claims that were expected to be reproduced and are not; that more seeds are wanted is no verdict."""
    enough = {Cause.NONE, Cause.NO_VALUE}
    return [
        own.claim.id
        for own in verdicts
        if own.claim.id in expected and own.verdict is not Verdict.REPRODUCED and own.cause in enough
    ]


def part_json(part: PartVerdict) -> dict[str, Any]:
    """Return a part and its cells as JSON has them."""
    bound = part.part.bound
    return {
        "what": part.part.what,
        "bound": bound.text,
        "unit": bound.unit,
        "verdict": part.verdict.value,
        "cause": part.cause.value,
        "cells": [
            {
                "labels": dict(cell.labels),
                "ours": cell.ours / bound.scale,
                "low": cell.low / bound.scale,
                "high": cell.high / bound.scale,
                "values": [v / bound.scale for v in cell.values],
                "verdict": cell.verdict.value,
                "cause": cell.cause.value,
            }
            for cell in part.cells
        ],
    }


def markdown(verdicts: Sequence[ClaimVerdict]) -> str:
    """Return the page: the table of each source, what is not reproduced and why, and every part."""
    reproduced = sum(own.verdict is Verdict.REPRODUCED for own in verdicts)
    not_reproduced = sum(own.verdict is Verdict.NOT_REPRODUCED for own in verdicts)
    inconclusive = len(verdicts) - reproduced - not_reproduced
    lines = [
        _HEAD,
        f"**{reproduced} of {len(verdicts)} are reproduced**, {not_reproduced} not, {inconclusive} are inconclusive.",
        "",
        *_elsewhere(verdicts),
    ]
    for source in dict.fromkeys(own.claim.source for own in verdicts):
        lines += [
            f"## {source}",
            "",
            "| claim | finding | published | ours (bound) | runs | verdict |",
            "|---|---|---|---|---|---|",
        ]
        for own in verdicts:
            if own.claim.source == source:
                lines.append("| " + " | ".join(map(_cell, _row(own))) + " |")
        lines.append("")
    lines += _why(verdicts)
    lines += _every_part(verdicts)
    return "\n".join(lines).rstrip() + "\n"


def _elsewhere(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    these = witnessed(verdicts)
    if not these:
        return []
    said = "; ".join(f"{own.claim.id}, {own.claim.witness}" for own in these)
    return [
        f"Of those that are not, {len(these)} were measured elsewhere and are not reproduced there either: {said}.",
        "",
    ]


def _row(own: ClaimVerdict) -> list[str]:
    bold = own.verdict is not Verdict.REPRODUCED
    verdict = f"**{_said(own.verdict, own.cause)}**" if bold else str(own.verdict)
    return [
        own.claim.id,
        own.claim.finding,
        f"{own.claim.published} ({own.claim.where})",
        ours(own),
        runs(own),
        verdict,
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _why(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    missed = [own for own in verdicts if own.verdict is not Verdict.REPRODUCED]
    others = [own for own in verdicts if own.verdict is Verdict.REPRODUCED and own.claim.remark]
    lines = []
    if missed:
        lines += ["## Where ours does not reproduce, and why we think so", ""]
        for own in missed:
            lines += [f"**{own.claim.id}**, {own.claim.finding}: {_said(own.verdict, own.cause)}.", ""]
            lines += [own.claim.remark or "Not looked into yet.", ""]
    if others:
        lines += ["## Remarks", ""]
        for own in others:
            lines += [f"**{own.claim.id}**: {own.claim.remark}", ""]
    return lines


def _every_part(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    lines = [
        "## Every part, with its cells",
        "",
        "| claim | what | bound | cells | reproduced | least | greatest | verdict |",
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    for own in verdicts:
        for part in own.parts:
            known = [cell.ours for cell in part.cells if not math.isnan(cell.ours)]
            bound = part.part.bound
            unit = f" {bound.unit}" if bound.unit else ""
            row = [
                own.claim.id,
                part.part.what,
                bound.text,
                str(len(part.cells)),
                str(sum(cell.verdict is Verdict.REPRODUCED for cell in part.cells)),
                f"{bound.show(min(known))}{unit}" if known else "",
                f"{bound.show(max(known))}{unit}" if known else "",
                _said(part.verdict, part.cause),
            ]
            lines.append("| " + " | ".join(map(_cell, row)) + " |")
    return [*lines, ""]
