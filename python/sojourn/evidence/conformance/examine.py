"""Runs the cases of a document on subjects, and judges them."""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import ExperimentError, Refused, SojournError
from sojourn.evidence.conformance.document import Case, Document
from sojourn.evidence.conformance.over_runs import of_runs
from sojourn.evidence.conformance.reaction import unanswered
from sojourn.evidence.conformance.subject import Subject
from sojourn.evidence.conformance.verdicts import CaseVerdict, Verdict
from sojourn.experiments.experiment import parse
from sojourn.runner import refuse

SEEDS: Final = 5
"""How many seeds of a case are run on the simulator, unless somebody asks for another number or the case for more."""

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
        seeds: the number of seeds of each case; if None the file's, on the simulator :data:`SEEDS` at least.
        plugins: shared libraries with words of one's own.

    Raises:
        SojournError: if none of the cases can be put to a subject: the name is wrong, or a setting.
    """
    planned: list[_Planned] = []
    for subject in subjects:
        own = [_plan(case, subject, engine, settings, seeds, plugins) for case in document.cases]
        refused = [one.refused for one in own if one.refused is not None]
        if refused and len(refused) == len(document.cases):
            raise refused[0]
        planned += own
    unique = {key.digest: key for one in planned for key in one.keys}
    made = dict(zip(unique, make(list(unique.values())), strict=True))
    verdicts = []
    for subject in subjects:
        own = [one for one in planned if one.subject == subject]
        runs = [made[key.digest] for one in own for key in one.keys]
        silent = unanswered(runs) if document.kind == "sender" else {}
        if silent:
            verdicts.append(_without_reaction(document, subject, silent, runs))
        verdicts += [
            one.verdict or of_runs(document, one.case, subject, [made[key.digest] for key in one.keys], silent)
            for one in own
        ]
    order = {case.name: number for number, case in enumerate(document.cases)}
    return Examination(document, sorted(verdicts, key=lambda one: order.get(one.case.name, -1)), subjects)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A case on a subject: its runs, or why there are none."""

    case: Case
    subject: Subject
    keys: Sequence[RunKey] = ()
    verdict: CaseVerdict | None = None
    refused: SojournError | None = None


def _plan(
    case: Case, subject: Subject, engine: str, settings: Sequence[str], seeds: int | None, plugins: Sequence[str]
) -> _Planned:
    if reason := _not_applicable(case, subject):
        return _Planned(case, subject, verdict=CaseVerdict(case, subject, Verdict.NOT_APPLICABLE, reason=reason))

    def keys(seeds: int | None) -> Sequence[RunKey]:
        return parse(
            case.experiment,
            str(case.file),
            settings=[*subject.settings(case.flows), *settings],
            seeds=seeds,
            engine=engine,
            plugins=plugins,
            # A file that the subject names is seen from where the user is.
            folder="" if subject.name.startswith("python:") else case.file.parent,
        ).run_keys

    try:
        found = keys(seeds)
        # The kernel takes the time that a case says: there, only who asks for more seeds gets them.
        if seeds is None and engine == "sim" and len({key.scenario.seed for key in found}) < SEEDS:
            found = keys(SEEDS)
        refuse(found, engine=engine)
    except (ExperimentError, Refused) as error:
        # Of what an engine lacks the first is enough.
        reported = " ".join("".join(error.message.split("\n")[:2]).split())
        verdict = CaseVerdict(case, subject, Verdict.NOT_OBSERVABLE, reason=reported)
        return _Planned(case, subject, verdict=verdict, refused=error)
    return _Planned(case, subject, found)


def _not_applicable(case: Case, subject: Subject) -> str:
    return next((why for name, why in case.not_applicable.items() if fnmatch.fnmatchcase(subject.name, name)), "")


def _without_reaction(
    document: Document, subject: Subject, silent: Mapping[str, int], runs: Sequence[Run]
) -> CaseVerdict:
    """Return the one verdict that says that a sender does not reduce its window."""
    reported = " and ".join(f"{count} {kind}" for kind, count in silent.items())
    reason = f"its window was not reduced after {reported} in the runs of this document"
    case = Case(
        name=f"{document.name}/reaction",
        title=f"The window is reduced by {' and by '.join(silent)}",
        section=document.cases[0].section,
        precondition="something is lost or marked",
        stimulus="those of all cases",
        expected="the window is reduced in one of them at least",
        experiment="",
        file=document.cases[0].file,
        expectations=(),
        not_applicable={},
    )
    return CaseVerdict(case, subject, Verdict.FAILED, reason=reason, by_run={Verdict.FAILED: len(runs)})
