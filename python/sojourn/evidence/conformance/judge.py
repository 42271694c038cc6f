"""The judge: whether what is expected holds of a run's steps, and which step deviates first.

It knows no document and no control. A *visit* is a run of steps in which a predicate holds; its first step is where the
run *enters* it, its last, if the run goes on, where the run *leaves* it.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import polars as pl

from sojourn.core.run import Run
from sojourn.evidence.conformance.document import Expectation, Moment
from sojourn.evidence.conformance.verdicts import Deviation, Outcome, Verdict
from sojourn.evidence.conformance.words import VISIT, T, Words

COMPUTED: Final = frozenset({T, "age", "elapsed", "rounds"})
"""Columns that the judge adds: time and round trips since the visit began, time since the window did."""

_SHOWN: Final = 6
"""How many numbers are shown of a step that deviates."""


def judge(
    expectation: Expectation,
    run: Run,
    steps: pl.DataFrame,
    words: Mapping[str, float],
    reported: Collection[str] = (),
) -> Outcome:
    """Return what came of one expectation.

    A predicate with a number that has no value at a step is not observable there, unless the control reports that
    number itself: then the missing value is an answer.

    Args:
        expectation: the expectation to judge.
        run: the run that the steps are of.
        steps: with every column that is asked about.
        words: the words that the document defines, to name values by.
        reported: the numbers that the control reports itself, a missing value included.
    """
    if expectation.check:
        return _checked(expectation, run)
    begin, end = -math.inf, math.inf
    if expectation.start is not None:
        found = _when(expectation.start, run, steps, after=-math.inf)
        if found is None:
            return _never_came(expectation, expectation.start)
        begin = found
    if expectation.end is not None:
        found = _when(expectation.end, run, steps, after=begin)
        if found is None and expectation.end.event:
            return _never_came(expectation, expectation.end)
        end = math.inf if found is None else found
    if expectation.for_s is not None:
        end = max(begin, 0.0) + expectation.for_s
    window = (pl.col(T) >= begin) & (pl.col(T) < end)
    first = max(begin, float(steps[T][0])) if begin == -math.inf else begin
    if expectation.kind == "passes":
        return _passed(expectation, steps.filter(window), words)
    frame = _visits(expectation, steps, window).with_columns(elapsed=pl.col(T) - first)
    if expectation.kind == "happens":
        return _happened(expectation, frame, window, first, words, reported)
    return _held(expectation, frame, words, reported)


def _when(moment: Moment, run: Run, steps: pl.DataFrame, *, after: float) -> float | None:
    """Return when a moment is, s; None if it never came."""
    if moment.at_s is not None:
        return moment.at_s
    if moment.event:
        found = run.events.filter(pl.col("subject").cast(pl.String) == f"event {moment.event}")["t_s"]
        at = None if found.is_empty() else float(found[0])
    else:
        first = steps.lazy().with_columns(_holds=_words(moment.words)).filter(pl.col("_holds") & (pl.col(T) > after))
        rows = first.select(T).head(1).collect()
        at = None if rows.is_empty() else float(rows[T][0])
    return None if at is None else at + moment.later_s


def _words(words: Words | None) -> pl.Expr:
    return pl.lit(value=True) if words is None else words.expression


def _never_came(expectation: Expectation, moment: Moment) -> Outcome:
    text = moment.text
    if moment.event:
        # The stimulus never reached the subject.
        return Outcome(expectation, Verdict.SKIPPED, 0, reason=f"{text} never came")
    return _failed(expectation, 0, Deviation(math.nan, expectation.text, f"{text} never came"))


def _visits(expectation: Expectation, steps: pl.DataFrame, window: pl.Expr) -> pl.DataFrame:
    """Return the steps with their visits, and with ``_chosen``: those that are looked at."""
    condition = expectation.where.expression if expectation.where else pl.lit(value=True)
    inside = (condition & window).fill_null(value=False)
    frame = steps.with_columns(_in=inside).with_columns(
        (pl.col("_in") != pl.col("_in").shift(1)).fill_null(value=True).cum_sum().alias(VISIT)
    )
    last = pl.col(VISIT) != pl.col(VISIT).shift(-1)
    chosen = pl.col("_in")
    if expectation.steps == "entering":
        chosen &= (pl.col(VISIT) != pl.col(VISIT).shift(1)).fill_null(value=True) & pl.col(T).is_not_null()
        # What was so when the window began was not entered in it.
        chosen &= ~condition.shift(1).fill_null(value=False) | (pl.col(T) == pl.col(T).first())
    elif expectation.steps == "leaving":
        chosen &= last.fill_null(value=False) & ~condition.shift(-1).fill_null(value=True)
    frame = frame.with_columns(_chosen=chosen, age=pl.col(T) - pl.col(T).first().over(VISIT))
    if "round" in frame.columns:
        frame = frame.with_columns(rounds=pl.col("round") - pl.col("round").first().over(VISIT))
    return frame


def _held(
    expectation: Expectation, frame: pl.DataFrame, words: Mapping[str, float], reported: Collection[str]
) -> Outcome:
    wanted = expectation.kind == "that"
    judged = frame.with_columns(_holds=_words(expectation.words)).filter("_chosen")
    if judged.is_empty() and wanted:
        where = f"{expectation.steps} {expectation.where.text}" if expectation.where else "between these moments"
        return _failed(expectation, 0, Deviation(math.nan, expectation.text, f"there was no step {where}"))
    off = judged.filter(pl.col("_holds").is_null() | (pl.col("_holds") != wanted) if wanted else pl.col("_holds"))
    if off.is_empty():
        return Outcome(expectation, Verdict.PASSED, judged.height)
    if off["_holds"].is_null().all() and (lacking := _lacking(expectation, off, reported)):
        return _unseen(expectation, judged.height, lacking, float(off[T][0]))
    return _failed(expectation, judged.height, _at(expectation, off, words))


def _lacking(expectation: Expectation, rows: pl.DataFrame, reported: Collection[str]) -> str:
    """Return the first number of a predicate that none of these steps has, and that nobody says has none."""
    names = expectation.words.names if expectation.words else ()
    return next((name for name in names if name not in reported and rows[name].is_null().all()), "")


def _unseen(expectation: Expectation, steps: int, name: str, at_s: float) -> Outcome:
    return Outcome(expectation, Verdict.NOT_OBSERVABLE, steps, reason=f"{name} has no value at {at_s:.3f} s")


def _happened(
    expectation: Expectation,
    frame: pl.DataFrame,
    window: pl.Expr,
    begin: float,
    words: Mapping[str, float],
    reported: Collection[str],
) -> Outcome:
    # What was before the window is seen by the functions that look back.
    judged = frame.with_columns(_holds=_words(expectation.words)).filter(window)
    if expectation.within_s is not None:
        judged = judged.filter(pl.col(T) <= begin + expectation.within_s)
    if judged.filter("_holds").height:
        return Outcome(expectation, Verdict.PASSED, judged.height)
    if judged.is_empty():
        return _failed(expectation, 0, Deviation(math.nan, expectation.text, "the run ended before"))
    if judged["_holds"].is_null().all() and (lacking := _lacking(expectation, judged, reported)):
        return _unseen(expectation, judged.height, lacking, float(judged[T][0]))
    # It could have come until the last of these steps.
    return _failed(expectation, judged.height, _at(expectation, judged.tail(1), words))


def _passed(expectation: Expectation, frame: pl.DataFrame, words: Mapping[str, float]) -> Outcome:
    column = pl.col(expectation.of)
    changes = frame.filter(column.is_not_null()).filter((column != column.shift(1)).fill_null(value=True))
    times, seen = changes[T].to_list(), changes[expectation.of].to_list()
    number = 0
    for name, value, may_be_short in expectation.passes:
        if number < len(seen) and seen[number] == value:
            number += 1
        elif may_be_short:
            continue
        elif number < len(seen):
            shown = f"{expectation.of} = {_named(seen[number], expectation.of, words)}"
            return _failed(expectation, number, Deviation(float(times[number]), f"{expectation.of} = {name}", shown))
        else:
            stays = f"it stays {_named(seen[-1], expectation.of, words)}" if seen else "there is none"
            return _failed(expectation, number, Deviation(math.nan, f"{expectation.of} = {name}", stays))
    return Outcome(expectation, Verdict.PASSED, number)


def _checked(expectation: Expectation, run: Run) -> Outcome:
    check = next((one for one in run.checks() if one.name == expectation.check), None)
    if check is None or check.passed is None:
        return Outcome(expectation, Verdict.NOT_OBSERVABLE, 0, reason=f"check {expectation.check} has no value")
    if check.passed:
        return Outcome(expectation, Verdict.PASSED, 1)
    at = check.windows[0][0] if check.windows else math.nan
    return _failed(expectation, 1, Deviation(at, expectation.text, check.said))


def _failed(expectation: Expectation, steps: int, deviation: Deviation) -> Outcome:
    return Outcome(expectation, Verdict.FAILED, steps, deviation)


def _at(expectation: Expectation, rows: pl.DataFrame, words: Mapping[str, float]) -> Deviation:
    """Return what is seen at the first of these steps: every number that the predicate names."""
    asked: Sequence[Words] = [own for own in (expectation.words, expectation.where) if own]
    names = list(dict.fromkeys(name for own in asked for name in own.names))[:_SHOWN]
    row = rows.head(1).to_dicts()[0]
    seen = ", ".join(f"{name} = {_named(row.get(name), name, words)}" for name in names)
    return Deviation(float(row[T]), expectation.text, seen)


def _named(value: object, column: str, words: Mapping[str, float]) -> str:
    """Return a value as people read it.

    >>> _named(5.0, "state", {"UP": 5.0}), _named(5.0, "cwnd", {"UP": 5.0}), _named(None, "x", {})
    ('UP', '5', 'none')
    """
    if value is None:
        return "none"
    if column.rpartition(".")[2] == "state":
        return next((name for name, own in words.items() if own == value), str(value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
