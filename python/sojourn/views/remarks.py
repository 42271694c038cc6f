"""Facts that the numbers of runs hide.

Who was limited by something else than queue and congestion control, and which rates swing more slowly than the
measuring window can see.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sojourn.core.run import Run


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know before the numbers of a run are believed."""

    about: str
    """Its subject: ``machine``, which disturbed the run; ``cwnd``, which is many times the path's; a setting,
    ``receive_window``, ``send_buffer``, ``app_rate``, ``max_pacing_rate``; ``window``, which holds too few periods; or
    ``slow start``, which the window holds."""
    flows: tuple[str, ...]
    message: str
    help: str
    enough: float | None = None
    """Of ``window``: the length that would do, s."""

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.message} ({self.help})"

    def json(self) -> Mapping[str, Any]:
        """Return it for programs, and as it is stored with its run."""
        return {**asdict(self), "flows": list(self.flows)}


@dataclass(frozen=True, slots=True)
class SharedRemark:
    """A remark that is true of several runs, as it is of the first."""

    remark: Remark
    runs: int
    first: str
    """The first run's label."""

    def __str__(self) -> str:
        """Return it in one line with the runs."""
        others = f" and {self.runs - 1} more" if self.runs > 1 else ""
        return f"{self.first}{others}: {self.remark}"

    def json(self) -> Mapping[str, Any]:
        """Return it for programs."""
        return {**self.remark.json(), "runs": self.runs, "first": self.first}


def remarks(run: Run) -> list[Remark]:
    """Return the remarks on a run."""
    return [
        Remark(str(r["about"]), tuple(r["flows"]), str(r["message"]), str(r["help"]), r["enough"])
        for r in json.loads(run.answers.remarks)
    ]


def shared_remarks(runs: Iterable[Run]) -> list[SharedRemark]:
    """Return the remarks on many runs: each once for the same flows and the same setting.

    If windows hold too few periods, an experiment gets one remark, from the run that needs the longest window.
    """
    found: dict[tuple[str, str, tuple[str, ...]], SharedRemark] = {}
    for run in runs:
        for remark in remarks(run):
            of_window = remark.about == "window"
            key = (run.scenario.experiment, remark.about, () if of_window else remark.flows)
            known = found.get(key)
            if known is None:
                found[key] = SharedRemark(remark, 1, run.label)
            elif of_window and (remark.enough or 0.0) > (known.remark.enough or 0.0):
                found[key] = SharedRemark(remark, known.runs + 1, run.label)
            else:
                found[key] = SharedRemark(known.remark, known.runs + 1, known.first)
    return list(found.values())
