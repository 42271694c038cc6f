"""The verdict on a case: each run by itself, then all of them together.

A case passes if every run passes in which the precondition came about. It deviates if this subject is known to fail
each of the expectations that fail in any run. A deviation that is known and that no run shows is a failure, too: the
case file is wrong.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sojourn.core.run import Run
from sojourn.evidence.conformance.document import Case, Document, Expectation
from sojourn.evidence.conformance.judge import COMPUTED, judge
from sojourn.evidence.conformance.reaction import signals
from sojourn.evidence.conformance.steps import reported, steps
from sojourn.evidence.conformance.subject import FLOW, Subject
from sojourn.evidence.conformance.verdicts import CaseVerdict, Outcome, Verdict
from sojourn.evidence.judging import worst


def of_runs(
    document: Document, case: Case, subject: Subject, runs: Sequence[Run], silent: Mapping[str, int]
) -> CaseVerdict:
    """Return the verdict over all runs of a case.

    Args:
        document: the document of the case.
        case: the case.
        subject: who was put to the test.
        runs: of every cell and seed.
        silent: the signals that the subject never answers, by kind; what such a run shows is its own fault alone.
    """
    each = [_skipped(case, subject, run, silent) or _of_run(document, case, subject, run) for run in runs]
    decides = min(each, key=_rank)
    first = [run for run, own in zip(runs, each, strict=True) if own is decides]
    found = replace(
        decides,
        by_run=Counter(own.verdict for own in each),
        runs=[*first, *(run for run in runs if run not in first)],
    )
    return found if found.is_unexpected else _still_known(found, each)


def _rank(own: CaseVerdict) -> int:
    """Return how much a run weighs: what nobody knew of comes first."""
    return -1 if own.is_unexpected else _RUNS.index(own.verdict)


_RUNS = (Verdict.FAILED, Verdict.PASSED, Verdict.NOT_OBSERVABLE, Verdict.SKIPPED)
"""Of several runs: the first of these that came decides."""


def _still_known(found: CaseVerdict, each: Sequence[CaseVerdict]) -> CaseVerdict:
    """Return the verdict, or a failure if a deviation is known that none of the runs shows."""
    judged = [own.outcomes for own in each if own.verdict in {Verdict.PASSED, Verdict.FAILED}]
    for number, one in enumerate(found.case.expectations):
        if not judged or not one.known_of(found.subject):
            continue
        if all(outcomes[number].verdict is Verdict.PASSED for outcomes in judged):
            reason = f"a deviation is known of {found.subject.name} that is not there any more: {one.says}"
            return replace(found, verdict=Verdict.FAILED, known="", reason=reason, by_run={Verdict.FAILED: len(each)})
    return found


def _skipped(case: Case, subject: Subject, run: Run, silent: Mapping[str, int]) -> CaseVerdict | None:
    kind = next((own.kind for own in signals(run) if own.kind in silent), "") if silent else ""
    if not kind:
        return None
    reason = f"{subject.name} does not reduce its window, so that what its {kind} lead to shows nothing more"
    return CaseVerdict(case, subject, Verdict.SKIPPED, reason=reason)


_ORDER = (Verdict.FAILED, Verdict.SKIPPED, Verdict.NOT_OBSERVABLE, Verdict.PASSED)
"""Of what is expected of one run: the first of these that came decides."""


def _of_run(document: Document, case: Case, subject: Subject, run: Run) -> CaseVerdict:
    derived = document.derived.get(subject.name, {})
    waited = _waited_for(run)
    needed = {name for one in case.expectations for name in _names(one)} | waited
    rounds = {"round"} if "rounds" in needed else set()
    found, missing = steps(run, (needed - COMPUTED) | rounds, derived)
    if "round" in missing & rounds:
        missing |= {"rounds"}
    # A column that is made of others is none that an event could wait for.
    if lacking := sorted(waited & (missing | set(derived))):
        reason = f"the stimulus waits for {', '.join(lacking)}, which {subject.name} does not tell"
        return CaseVerdict(case, subject, Verdict.NOT_OBSERVABLE, reason=reason)
    outcomes = []
    for one in case.expectations:
        if lacking := sorted(_names(one) & missing):
            reason = f"{subject.name} does not tell {', '.join(lacking)}"
            outcome = Outcome(one, Verdict.NOT_OBSERVABLE, 0, reason=reason)
        else:
            outcome = judge(one, run, found, document.constants, reported(run))
        outcomes.append(outcome)
        if one.precondition and outcome.verdict is not Verdict.PASSED:
            seen = f": {outcome.deviation.seen}" if outcome.deviation else f": {outcome.reason}"
            unseen = outcome.verdict is Verdict.NOT_OBSERVABLE
            reason = outcome.reason if unseen else f"the precondition did not come about: {one.says}{seen}"
            return CaseVerdict(case, subject, Verdict.NOT_OBSERVABLE if unseen else Verdict.SKIPPED, outcomes, reason)
    verdict = worst(outcomes, _ORDER, Verdict.NOT_OBSERVABLE)
    return CaseVerdict(case, subject, verdict, outcomes, _reason(verdict, outcomes, subject), _known(outcomes, subject))


def _known(outcomes: Sequence[Outcome], subject: Subject) -> str:
    """Return why it fails, if all that fails is known to."""
    whys = [own.expectation.known_of(subject) for own in outcomes if own.verdict is Verdict.FAILED]
    return "; ".join(dict.fromkeys(whys)) if all(whys) else ""


def _reason(verdict: Verdict, outcomes: Sequence[Outcome], subject: Subject) -> str:
    if verdict is Verdict.PASSED:
        return ""
    # What nobody knew of is the news.
    first = min(
        (own for own in outcomes if own.verdict is verdict), key=lambda own: bool(own.expectation.known_of(subject))
    )
    if first.deviation is None:
        return first.reason
    at = "" if math.isnan(first.deviation.at_s) else f" at {first.deviation.at_s:.3f} s"
    return f"{first.expectation.says} (§{first.expectation.section}){at}: {first.deviation.seen}"


def _names(one: Expectation) -> set[str]:
    words = [one.words, one.where, *(moment.words for moment in (one.start, one.end) if moment)]
    names = {name for own in words if own for name in own.names}
    return names | ({one.of} if one.passes else set())


def _waited_for(run: Run) -> set[str]:
    """Return the subject's numbers that events of the scenario wait for."""
    found = set()
    for event in run.scenario["events"]:
        state = event["when"].get("state") if isinstance(event["when"], dict) else None
        gauge = state["gauge"].get("flow") if state else None
        if gauge and gauge["flow"] == FLOW and gauge["name"] != "cwnd":
            found.add(gauge["name"])
    return found
