"""Runs the cases of a document on subjects, and judges them."""

import fnmatch
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import ExperimentError, Refused, SojournError
from sojourn.evidence.conformance.document import Case, Document, Expectation
from sojourn.evidence.conformance.judge import COMPUTED, judge
from sojourn.evidence.conformance.steps import steps
from sojourn.evidence.conformance.subject import FLOW, Subject
from sojourn.evidence.conformance.verdicts import CaseVerdict, Outcome, Verdict
from sojourn.experiments.experiment import parse
from sojourn.runner import refuse

Make = Callable[[Sequence[RunKey]], Sequence[Run]]
"""Makes runs; the results in the order of the keys."""


@dataclass(frozen=True, slots=True)
class Examination:
    """A document, and what came of its cases on each subject."""

    document: Document
    verdicts: Sequence[CaseVerdict]
    """Case by case, the subjects of each in the order in which they were asked for."""
    subjects: Sequence[Subject] = field(default=())

    @property
    def is_passed(self) -> bool:
        """Whether something was shown, and nothing failed that was not known to."""
        shown = any(own.verdict is Verdict.PASSED for own in self.verdicts)
        return shown and not any(own.is_unexpected for own in self.verdicts)


def examine(
    document: Document,
    subjects: Sequence[Subject],
    make: Make,
    *,
    engine: str = "sim",
    settings: Sequence[str] = (),
    seeds: int | None = None,
    plugins: Sequence[str] = (),
) -> Examination:
    """Run every case of a document on each of these subjects.

    Args:
        document: with its cases.
        subjects: who is put to the test.
        make: makes the runs, and may keep them.
        engine: what runs them.
        settings: changes of the experiments, as ``path=value``.
        seeds: so many seeds of each case, instead of the file's.
        plugins: shared libraries with words of one's own.

    Raises:
        SojournError: if none of the cases can be put to a subject: the name is wrong, or a setting.
    """
    planned: list[tuple[Case, Subject, Sequence[RunKey], CaseVerdict | None]] = []
    for subject in subjects:
        reasons: list[SojournError] = []
        own = []
        for case in document.cases:
            keys: Sequence[RunKey] = ()
            verdict = _not_applicable(case, subject)
            if verdict is None:
                try:
                    keys = parse(
                        case.experiment,
                        str(case.file),
                        settings=[*subject.settings(case.flows), *settings],
                        seeds=seeds,
                        engine=engine,
                        plugins=plugins,
                        # A file that the subject names is seen from where the user is.
                        folder="" if subject.name.startswith("python:") else case.file.parent,
                    ).run_keys
                    refuse(keys, engine=engine)
                except (ExperimentError, Refused) as error:
                    reasons.append(error)
                    # Of what an engine lacks the first is enough.
                    told = " ".join("".join(error.message.split("\n")[:2]).split())
                    verdict = CaseVerdict(case, subject, Verdict.NOT_OBSERVABLE, reason=told)
                    keys = ()
            own.append((case, subject, keys, verdict))
        if reasons and len(reasons) == len(document.cases):
            raise reasons[0]
        planned += own
    unique = {key.digest: key for _, _, keys, _ in planned for key in keys}
    made = dict(zip(unique, make(list(unique.values())), strict=True))
    verdicts = [
        verdict or _judged(document, case, subject, [made[key.digest] for key in keys])
        for case, subject, keys, verdict in planned
    ]
    order = {case.name: number for number, case in enumerate(document.cases)}
    return Examination(document, sorted(verdicts, key=lambda one: order[one.case.name]), subjects)


def _not_applicable(case: Case, subject: Subject) -> CaseVerdict | None:
    for pattern, reason in case.not_applicable.items():
        if fnmatch.fnmatchcase(subject.name, pattern):
            return CaseVerdict(case, subject, Verdict.NOT_APPLICABLE, reason=reason)
    return None


def _judged(document: Document, case: Case, subject: Subject, runs: Sequence[Run]) -> CaseVerdict:
    """Return the verdict over all seeds: the first that fails decides; then those whose precondition came about."""
    each = [_of_run(document, case, subject, run) for run in runs]
    worst = min(each, key=lambda own: _SEEDS.index(own.verdict))
    known = next((text for pattern, text in case.known.items() if fnmatch.fnmatchcase(subject.name, pattern)), "")
    first = [run for run, own in zip(runs, each, strict=True) if own is worst]
    others = [run for run in runs if run not in first]
    return replace(worst, known=known, runs=[*first, *others])


_ORDER = (Verdict.FAILED, Verdict.SKIPPED, Verdict.NOT_OBSERVABLE, Verdict.PASSED)
"""Of what is expected of one run: the first of these that came decides."""
_SEEDS = (Verdict.FAILED, Verdict.PASSED, Verdict.NOT_OBSERVABLE, Verdict.SKIPPED)
"""Of the runs of several seeds."""


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
            outcome = judge(one, run, found, document.constants)
        outcomes.append(outcome)
        if one.precondition and outcome.verdict is not Verdict.PASSED:
            seen = f": {outcome.deviation.seen}" if outcome.deviation else f": {outcome.reason}"
            unseen = outcome.verdict is Verdict.NOT_OBSERVABLE
            reason = outcome.reason if unseen else f"the precondition did not come about: {one.says}{seen}"
            return CaseVerdict(case, subject, Verdict.NOT_OBSERVABLE if unseen else Verdict.SKIPPED, outcomes, reason)
    verdict = min((own.verdict for own in outcomes), key=_ORDER.index)
    return CaseVerdict(case, subject, verdict, outcomes, _reason(verdict, outcomes))


def _reason(verdict: Verdict, outcomes: Sequence[Outcome]) -> str:
    if verdict is Verdict.PASSED:
        return ""
    first = next(own for own in outcomes if own.verdict is verdict)
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
