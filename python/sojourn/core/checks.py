"""What came of the experiments' checks over many runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sojourn.core.run import Run


@dataclass(slots=True)
class Tally:
    """One check of one experiment over its runs."""

    experiment: str
    name: str
    held: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    """(run, what came out) where it does not hold or has no value."""

    @property
    def runs(self) -> int:
        """How many runs it was asked of."""
        return self.held + len(self.failed)

    def __str__(self) -> str:
        """Return it in one line."""
        text = f"check {self.name}: holds in {self.held} of {self.runs} runs"
        return f"{text}; not in {self.failed[0][0]} ({self.failed[0][1]})" if self.failed else text


def tally(runs: Iterable[Run]) -> list[Tally]:
    """Return every check with the runs in which it holds, in the order of the experiments."""
    found: dict[tuple[str, str], Tally] = {}
    for run in runs:
        experiment = run.scenario["experiment"]
        for check in run.checks():
            own = found.setdefault((experiment, check.name), Tally(experiment, check.name))
            if check.passed:
                own.held += 1
            else:
                own.failed.append((run.label, check.said))
    return list(found.values())
