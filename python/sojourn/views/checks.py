"""Results of the experiments' checks over many runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sojourn.core.cells import distinguished
from sojourn.core.run import Run, Span
from sojourn.views.window import span_said


@dataclass(slots=True)
class Tally:
    """One check of one experiment over its runs."""

    experiment: str
    name: str
    of: str = ""
    """Which of several experiments of that name, by what differs."""
    held: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    """(run, value) where it does not hold or has no value."""
    windows: list[Span] = field(default_factory=list)
    """Where it looks, s: each place once."""

    @property
    def runs(self) -> int:
        """How many runs it was asked of."""
        return self.held + len(self.failed)

    def __str__(self) -> str:
        """Return it in one line."""
        which = f" ({self.of})" if self.of else ""
        where = f" ({' or '.join(map(span_said, self.windows))})" if self.windows else ""
        text = f"check {self.name}{which}{where}: holds in {self.held} of {self.runs} runs"
        return f"{text}; not in {self.failed[0][0]} ({self.failed[0][1]})" if self.failed else text


def tally(runs: Iterable[Run]) -> list[Tally]:
    """Return every check with the runs in which it holds, in the order of the experiments."""
    found: dict[tuple[str, str, str], Tally] = {}
    for apart, own in distinguished(runs):
        of = ", ".join(f"{axis}={label}" for axis, label in apart)
        for run in own:
            experiment = run.scenario.experiment
            for check in run.checks():
                one = found.setdefault((experiment, check.name, of), Tally(experiment, check.name, of))
                one.windows = list(dict.fromkeys([*one.windows, *check.windows]))
                if check.passed:
                    one.held += 1
                else:
                    one.failed.append((run.label, check.said))
    return list(found.values())
