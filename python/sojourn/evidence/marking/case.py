"""What a case is, and what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sojourn.evidence.conformance import Verdict
from sojourn.evidence.marking.observed import Observed
from sojourn.evidence.marking.stimuli import Stimulus
from sojourn.evidence.marking.words import Parameters


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was compared, over all seeds."""

    what: str
    expected: str
    seen: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A stimulus, and what the law promises of its answer."""

    name: str
    about: str
    source: str
    """The section of the text."""
    stimulus: Callable[[Parameters], Stimulus]
    judge: Callable[[Parameters, Sequence[Observed]], list[Finding]]
    applies: Callable[[Parameters], bool] = lambda _: True
    """Whether the words ask for it: marks are not looked for where ``ecn`` is not set."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case."""

    case: Case
    verdict: Verdict
    findings: Sequence[Finding]
    runs: Sequence[Observed] = ()
    reason: str = ""
