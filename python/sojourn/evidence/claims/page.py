"""Verdicts as people read them: in lines, and as a Markdown page."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sojourn.evidence.claims.verdicts import Cause, CellVerdict, ClaimVerdict, PartVerdict, Verdict
from sojourn.evidence.interval import SEEDS, looks

_HEAD: Final = """\
# What the published reports claim, and what our runs say

`sojourn claims` wrote this page. A bound tests the finding and is looser than the published figure. Our value is the
median over the seeds in the deciding cell, which is the one farthest outside the bound or closest to it. Its interval
assumes no distribution.

We fixed the number of seeds in advance: seeds 1 to {first} in each cell, for every claim. If they do not decide, we
look at {later} seeds and then stop. The looks together err in at most one claim of ten (Bonferroni): the interval has a
confidence of 95 % at the first look and of {last} at the last. *Not run*: runs are missing. *Inconclusive*: the runs do
not decide.
"""


def ours(own: ClaimVerdict) -> str:
    """Return what decides a claim: the value with its interval, the bound, and where."""
    telling = own.telling
    cell = telling.telling
    if cell is None or not cell.values:
        return said(own.verdict, own.cause)
    text = f"{value(telling, cell)} ({telling.part.bound.text}): {telling.part.what}"
    return f"{text}; {cell.title}" if cell.title else text


def runs(own: ClaimVerdict) -> str:
    """Return which runs a claim was looked at in: ``120 of l4s-tests/s6``."""
    counts = Counter(run.scenario.experiment for run in own.runs)
    return ", ".join(f"{count} of {name}" for name, count in counts.items())


def value(part: PartVerdict, cell: CellVerdict) -> str:
    """Return a cell's median and its interval in the bound's unit."""
    bound = part.part.bound
    unit = f" {bound.unit}" if bound.unit else ""
    if not cell.values:
        return "no run"
    if math.isnan(cell.low):
        return f"{bound.show(cell.ours)}{unit}"
    return f"{bound.show(cell.ours)} [{bound.show(cell.low)}, {bound.show(cell.high)}]{unit}"


def details(own: ClaimVerdict) -> Iterator[str]:
    """Yield a line for each part, and one for each of its cells."""
    yield f"{own.claim.id}: {said(own.verdict, own.cause)}"
    for part in own.parts:
        yield f"  {part.part.what} ({part.part.bound.text}): {said(part.verdict, part.cause)}"
        for cell in part.cells:
            yield f"    {cell.title or 'the cell'}: {value(part, cell)}, {said(cell.verdict, cell.cause)}"


def said(verdict: Verdict, cause: Cause) -> str:
    """Return a verdict in words, with its cause: ``inconclusive: spans the bound``."""
    return f"{verdict}: {cause}" if cause else str(verdict)


def totals(verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
    """Yield how many claims are reproduced: of all, and of those that nobody else was measured not to reproduce."""
    counts = {verdict: sum(own.verdict is verdict for own in verdicts) for verdict in Verdict}
    reproduced, witnesses = counts[Verdict.REPRODUCED], len(witnessed(verdicts))
    yield f"{', '.join(f'{count} {verdict}' for verdict, count in counts.items())} of {len(verdicts)} claims"
    if witnesses:
        rest = len(verdicts) - witnesses
        yield (
            f"without the {witnesses} that others do not reproduce either: {reproduced} of {rest} reproduced, "
            f"{_percent(reproduced, rest)}"
        )


def _percent(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "none"


def summary(verdicts: Sequence[ClaimVerdict]) -> Iterator[str]:
    """Yield what is left to say below the table."""
    yield from totals(verdicts)
    texts = {
        (Verdict.NOT_RUN, Cause.NONE): "not run",
        (Verdict.NOT_RUN, Cause.FEW_SEEDS): "too few seeds are run",
        (Verdict.INCONCLUSIVE, Cause.SPANS): "the interval spans the bound; the next look may tell",
        (Verdict.INCONCLUSIVE, Cause.NO_VALUE): "a run gives no value",
        (Verdict.INCONCLUSIVE, Cause.NOT_MET): "the condition of the claim is met in no cell",
    }
    for (verdict, cause), text in texts.items():
        these = [own for own in verdicts if own.verdict is verdict and own.cause is cause]
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
        yield f"{own.claim.id} is not reproduced by others either: {own.claim.witness} [{own.claim.witness_data}]"


def regressions(verdicts: Sequence[ClaimVerdict], expected: Mapping[str, int]) -> list[str]:
    """Return the claims that were expected to be reproduced and are not, or no longer tell.

    That runs are missing is no regression, nor that an interval spans the bound at fewer seeds than the claim takes.

    Args:
        verdicts: the verdicts on the claims.
        expected: the claims that are to be reproduced, each with the seeds that it takes.
    """
    return [
        own.claim.id
        for own in verdicts
        if own.claim.id in expected
        and own.verdict in {Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE}
        and not (own.cause is Cause.SPANS and own.seeds < expected[own.claim.id])
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
    plan = looks()
    head = _HEAD.format(
        first=SEEDS,
        later=", ".join(str(look.seeds) for look in plan[1:]),
        last=f"{100 * plan[-1].confidence:g} %",
    )
    first, *rest = totals(verdicts)
    lines = [head, f"**{first}**" + "".join(f"; {line}" for line in rest) + ".", ""]
    lines += [*_elsewhere(verdicts), *_missing(verdicts)]
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
    return [
        "| not reproduced by others either | who was measured | look again |",
        "|---|---|---|",
        *(f"| {own.claim.id} | {own.claim.witness} | `{own.claim.witness_data}` |" for own in these),
        "",
    ]


def _missing(verdicts: Sequence[ClaimVerdict]) -> list[str]:
    rows = [
        (own.claim.id, own.claim.missing.mechanism, own.claim.missing.seen, own.claim.missing.settle)
        for own in verdicts
        if own.verdict is not Verdict.REPRODUCED and own.claim.missing
    ]
    if not rows:
        return []
    return [
        "| not reproduced, and no witness | mechanism that is missing | what shows it | what would settle it |",
        "|---|---|---|---|",
        *("| " + " | ".join(map(_cell, row)) + " |" for row in rows),
        "",
    ]


def _row(own: ClaimVerdict) -> list[str]:
    bold = own.verdict is not Verdict.REPRODUCED
    verdict = f"**{said(own.verdict, own.cause)}**" if bold else str(own.verdict)
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
            lines += [f"**{own.claim.id}**, {own.claim.finding}: {said(own.verdict, own.cause)}.", ""]
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
        "| claim | what | bound | cells | reproduced | least | greatest | seeds | verdict |",
        "|---|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for own in verdicts:
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in part_rows(own)]
    return [*lines, ""]


def part_rows(own: ClaimVerdict) -> Iterator[list[str]]:
    """Yield a row for each part of a claim: claim, what, bound, cells, reproduced, least, greatest, seeds, verdict."""
    for part in own.parts:
        known = [cell.ours for cell in part.cells if not math.isnan(cell.ours)]
        bound = part.part.bound
        unit = f" {bound.unit}" if bound.unit else ""
        yield [
            own.claim.id,
            part.part.what,
            bound.text,
            str(len(part.cells)),
            str(sum(cell.verdict is Verdict.REPRODUCED for cell in part.cells)),
            f"{bound.show(min(known))}{unit}" if known else "",
            f"{bound.show(max(known))}{unit}" if known else "",
            str(own.seeds),
            said(part.verdict, part.cause),
        ]
