"""Verdicts: a subject's values against a document's rules.

A cell passes if its rule holds with every seed, fails if with none, and is inconclusive in between. Where the worst
seed is to decide, it fails in between, too. A figure, and a row, is as its worst cell. A missing value makes the
verdict inconclusive, or a failure where the worst seed decides; without any value it is "no value".
"""

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sojourn.evidence.evaluation.document import Document, Figure, Pair, Row
from sojourn.evidence.evaluation.values import Cell, Values
from sojourn.evidence.judging import Bound, telling, worst


class Verdict(enum.StrEnum):
    """What became of a rule; the worse comes first."""

    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NO_VALUE = "no value"
    PASS = "pass"  # noqa: S105 - a verdict
    REPORTED = "reported"


@dataclass(frozen=True, slots=True)
class JudgedCell:
    """A figure in one cell."""

    cell: Cell
    verdict: Verdict
    value: float
    """The median over the seeds."""
    low: float
    high: float
    limit: float
    """The median of the limits of a pair; NaN of any other rule."""

    @property
    def title(self) -> str:
        """Its labels."""
        return ", ".join(label for _, label in self.cell)


@dataclass(frozen=True, slots=True)
class JudgedFigure:
    """A figure in all cells that it means."""

    figure: Figure
    cells: Sequence[JudgedCell]

    @property
    def verdict(self) -> Verdict:
        """That of the worst cell."""
        return worst(self.cells, list(Verdict), Verdict.NO_VALUE)

    @property
    def telling(self) -> JudgedCell | None:
        """The cell that decides: the furthest beyond its limit or, where none is, the nearest to it."""
        return telling(self.cells, list(Verdict), self._room)

    def _room(self, cell: JudgedCell) -> float:
        rule = self.figure.rule
        if isinstance(rule, Bound):
            return rule.margin(cell.value)
        if isinstance(rule, Pair):
            room = cell.limit - cell.value if rule.better == "less" else cell.value - cell.limit
            return room / (abs(cell.limit) or 1.0)
        return 0.0

    def count(self, verdict: Verdict) -> int:
        """Return how many cells have this verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A criterion's figures."""

    row: Row
    figures: Sequence[JudgedFigure]
    refused: str = ""
    """Why the subject cannot run the row's suite; empty where it can."""

    @property
    def verdict(self) -> Verdict:
        """That of the worst figure; figures without a rule count only where there are no others."""
        return worst(self.figures, list(Verdict), Verdict.NO_VALUE)

    @property
    def telling(self) -> JudgedFigure | None:
        """The figure that decides."""
        return telling(self.figures, list(Verdict), lambda _: 0.0)


def judge(
    document: Document, subject: Values, incumbents: Sequence[Values], refused: Mapping[str, str]
) -> list[JudgedRow]:
    """Return a verdict for each row.

    Args:
        document: the document.
        subject: the values of the subject.
        incumbents: the values of those that it is compared with.
        refused: why suites were not run, by suite.
    """
    judged = []
    for row in document.rows:
        if row.suite in refused:
            judged.append(JudgedRow(row, (), refused[row.suite]))
            continue
        figures = []
        for figure in row.figures:
            cells = [cell for cell in subject.cells(row.suite) if figure.means(dict(cell))]
            if not cells:
                continue  # of a part of the cells alone, such as the Linux engine's
            own = [_judged(row.suite, figure, cell, subject, incumbents) for cell in cells]
            figures.append(JudgedFigure(figure, own))
        judged.append(JudgedRow(row, figures))
    return judged


def _judged(suite: str, figure: Figure, cell: Cell, subject: Values, incumbents: Sequence[Values]) -> JudgedCell:
    values = subject.least(suite, cell, figure.metrics)
    others = [incumbent.least(suite, cell, figure.metrics) for incumbent in incumbents]
    known = {seed: value for seed, value in values.items() if not math.isnan(value)}
    if not known and not (figure.worst and values):
        return JudgedCell(cell, Verdict.NO_VALUE, math.nan, math.nan, math.nan, math.nan)
    limits: list[float] = []
    holds: list[bool] = []
    for seed, value in known.items():
        match figure.rule:
            case Bound() as bound:
                holds.append(bound.holds(value))
            case Pair() as pair:
                theirs = [other[seed] for other in others if not math.isnan(other.get(seed, math.nan))]
                if theirs:
                    most = subject.most(suite, cell, figure.metrics[0], seed) if pair.of_full else math.inf
                    limits.append(pair.limit(theirs, most))
                    holds.append(pair.holds(value, limits[-1]))
            case None:
                pass
    verdict = _verdict(figure, holds, missing=len(values) - len(known))
    of = list(known.values()) or [math.nan]
    return JudgedCell(cell, verdict, median(of), min(of), max(of), median(limits) if limits else math.nan)


def _verdict(figure: Figure, holds: Sequence[bool], *, missing: int) -> Verdict:
    if figure.rule is None:
        return Verdict.REPORTED
    if figure.worst:
        return Verdict.PASS if holds and all(holds) and not missing else Verdict.FAIL
    if not holds:
        return Verdict.NO_VALUE
    if missing or any(holds) != all(holds):
        return Verdict.INCONCLUSIVE
    return Verdict.PASS if all(holds) else Verdict.FAIL
