"""What came of a case."""

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sojourn.core.run import Run
from sojourn.evidence.conformance.document import Case, Expectation
from sojourn.evidence.conformance.subject import Subject


class Verdict(enum.StrEnum):
    """Whether a subject does what a text promises."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_OBSERVABLE = "not observable"
    """The subject does not tell what the case asks for."""
    SKIPPED = "skipped"
    """The precondition did not come about, so that nothing was shown."""
    NOT_APPLICABLE = "not applicable"
    """The text does not speak of such a subject."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """The first step that deviates."""

    at_s: float
    """When, from the run's origin; NaN where something never came."""
    expected: str
    seen: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one thing that is required or expected."""

    expectation: Expectation
    verdict: Verdict
    steps: int
    """How many steps it was looked for at."""
    deviation: Deviation | None = None
    reason: str = ""
    """Why there is no verdict."""


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What came of a case on a subject."""

    case: Case
    subject: Subject
    verdict: Verdict
    outcomes: Sequence[Outcome] = ()
    """What was expected, in the order of the file; of the first seed that failed, else of the first."""
    reason: str = ""
    """Why it is not a pass, in a line; empty if it is one."""
    known: str = ""
    """Why it fails, if every expectation that fails is known to fail with this subject; empty otherwise."""
    by_run: Mapping["Verdict", int] = field(default_factory=dict, compare=False)
    """How many runs came out how."""
    runs: Sequence[Run] = field(default=(), repr=False, compare=False)
    """Of every seed, the one that decides first."""

    @property
    def deviation(self) -> Deviation | None:
        """The first step that deviates."""
        found = [own.deviation for own in self.outcomes if own.deviation is not None]
        return min(found, key=lambda own: math.inf if math.isnan(own.at_s) else own.at_s, default=None)

    @property
    def is_unexpected(self) -> bool:
        """Whether it failed, and nobody said that it would."""
        return self.verdict is Verdict.FAILED and not self.known

    @property
    def failing(self) -> Sequence[Outcome]:
        """The expectations that fail."""
        return [own for own in self.outcomes if own.verdict is Verdict.FAILED]

    @property
    def share(self) -> str:
        """Return in how many of the runs it came out as the verdict says: ``3 of 5``; empty where nothing was run."""
        count = sum(self.by_run.values())
        return f"{self.by_run.get(self.verdict, 0)} of {count}" if count else ""

    @property
    def held(self) -> int:
        """How many of the expectations hold."""
        return sum(own.verdict is Verdict.PASSED for own in self.outcomes)
