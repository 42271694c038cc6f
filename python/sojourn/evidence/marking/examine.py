"""The cases of a law on a queue: their runs, made with several seeds, and what came of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from sojourn import runner
from sojourn.core.store import RunKey
from sojourn.errors import UsageError
from sojourn.evidence.conformance import Verdict
from sojourn.evidence.marking import codel, dualpi2, pie, red
from sojourn.evidence.marking.case import Case, Outcome
from sojourn.evidence.marking.observed import QUEUE, observed
from sojourn.evidence.marking.stimuli import Load, Stimulus, is_kernel
from sojourn.evidence.marking.words import Parameters, parameters
from sojourn.experiments.experiment import Experiment
from sojourn.linux.kernels import named
from sojourn.views.run import Run

LAWS: Final[Mapping[str, Sequence[Case]]] = {
    "red": red.CASES,
    "codel": codel.CASES,
    "fq_codel": codel.ONE_FLOW,
    "pie": pie.CASES,
    "dualpi2": dualpi2.CASES,
}
"""The laws that there are, by the name of the discipline that follows each."""

SEEDS: Final = 3

UNASKED: Final = (
    "a kernel's shapers do not ask an empty queue for packets (htb_dequeue_tree in net/sched/sch_htb.c), so it does "
    "not learn that it is idle; it works with --engine sim"
)

Make = Callable[[Sequence[RunKey]], Sequence[Run]]


@dataclass(frozen=True, slots=True)
class Examination:
    """What came of a queue."""

    qdisc: str
    law: str
    """The words that name the law of the judgement."""
    parameters: Parameters
    outcomes: Sequence[Outcome]

    @property
    def is_passed(self) -> bool:
        """Whether nothing failed, and something passed."""
        verdicts = [own.verdict for own in self.outcomes]
        return Verdict.FAILED not in verdicts and Verdict.PASSED in verdicts


def examine(
    qdisc: str,
    make: Make,
    *,
    law: str | None = None,
    names: Sequence[str] = (),
    engine: str = "sim",
    seeds: int | None = None,
    plugins: Sequence[str] = (),
) -> Examination:
    """Judge a queue.

    Args:
        qdisc: the queue, in tc's words.
        make: makes runs.
        law: the words of the discipline that follows the expected law (default: the queue's own).
        names: the cases (default: all of the law).
        engine: what runs it. On ``linux`` and ``linux:NAME`` it is the kernel's own queue.
        seeds: runs a case.
        plugins: shared libraries with the queue.

    Raises:
        UsageError: if there is no law of this discipline, or no such case.
        ExperimentError: if the words are wrong.
        Refused: if the engine lacks the queue.
    """
    stated = law or qdisc
    discipline = stated.split()[0] if stated.split() else ""
    if discipline not in LAWS:
        raise UsageError.unknown("queue with a marking law", discipline, list(LAWS))
    cases = LAWS[discipline]
    known = [case.name for case in cases]
    for name in names:
        if name not in known:
            raise UsageError.unknown("case", name, known)
    on_kernel = is_kernel(engine)
    own = _parameters(stated, None if law or on_kernel else make, engine, plugins)
    wanted = [case for case in cases if case.name in (names or known)]
    without: dict[str, Outcome] = {}
    keys: list[RunKey] = []
    by_case: dict[str, Sequence[RunKey]] = {}
    for case in wanted:
        if not case.applies(own):
            without[case.name] = Outcome(case, Verdict.NOT_APPLICABLE, (), reason="the words do not ask for it")
            continue
        stimulus = case.stimulus(own)
        if on_kernel and stimulus.is_asked_when_empty:
            without[case.name] = Outcome(case, Verdict.NOT_OBSERVABLE, (), reason=UNASKED)
            continue
        experiment = Experiment.build(
            name=f"marking/{discipline}-{case.name}",
            engine=engine,
            seeds=seeds or SEEDS,
            plugins=list(plugins) or None,
            stack=_stack(engine),
            **stimulus.said(qdisc, engine),
        )
        by_case[case.name] = experiment.run_keys
        keys += experiment.run_keys
    runner.refuse(keys, engine=engine)
    runs = dict(zip([key.digest for key in keys], make(keys), strict=True))
    outcomes = []
    for case in wanted:
        if case.name in without:
            outcomes.append(without[case.name])
            continue
        seen = [observed(runs[key.digest], on_kernel=on_kernel) for key in by_case[case.name]]
        findings = case.judge(own, seen)
        if not findings:
            outcomes.append(Outcome(case, Verdict.SKIPPED, (), seen, "too few signals to compare"))
            continue
        verdict = Verdict.PASSED if all(one.holds for one in findings) else Verdict.FAILED
        outcomes.append(Outcome(case, verdict, findings, seen))
    return Examination(qdisc, stated, own, outcomes)


def _stack(engine: str) -> str | None:
    """Return the stack of a kernel by name; None for the default."""
    name = engine.partition(":")[2]
    return named(name).stack if name else None


def _parameters(words: str, make: Make | None, engine: str, plugins: Sequence[str]) -> Parameters:
    """Run the queue for an instant, and read what it says of its configuration.

    Without a maker the simulator's discipline of these words does: a kernel's run has no such table.
    """
    said = Stimulus([Load("load", 0.1)], 0.05).said(words)
    engine = engine if make is not None else "sim"
    probe = Experiment.build(name="marking/words", engine=engine, plugins=list(plugins) or None, **said)
    run = make(probe.run_keys)[0] if make is not None else next(iter(probe.run(quiet=True)))
    table = pl.DataFrame(run.table("tc"))
    line = table.filter((pl.col("subject").cast(pl.String) == QUEUE) & (pl.col("when").cast(pl.String) == "setup"))
    return parameters(str(line["text"][0]))
