"""The labs, read from their files."""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from sojourn.errors import UsageError
from sojourn.evidence.judging import Bound

ORDER: Final = (
    "bufferbloat",
    "buffer-size",
    "bbr-and-cubic",
    "rtt-unfairness",
    "aqm-under-load",
    "l4s-and-classic",
    "pacing",
    "cellular",
)
"""The labs in the order of a course."""

AXIS: Final = "case"
"""The axis that every lab's experiment has: a label for each configuration that the student submits."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A metric that a case must bring within a bound."""

    case: str
    what: str
    """What the metric measures, in words."""
    value: str
    """The metric."""
    bound: Bound
    points: int
    hint: str
    """What to change if a solution misses the bound."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a case must use, whatever its parameters."""

    case: str
    settings: Mapping[str, str]
    """The required ``qdisc``, ``cc`` or ``host_qdisc``; ``none`` for a host without one."""


@dataclass(frozen=True, slots=True)
class Lab:
    """An exercise."""

    name: str
    """Of its files, and of the experiment in a student's file."""
    title: str
    summary: str
    text: str
    """The background, in Markdown."""
    task: str
    questions: Sequence[str]
    read: Sequence[str]
    """What to read first: RFCs and papers."""
    free: Sequence[str]
    """The settings that a student may change, by their paths in the experiment."""
    figure: Sequence[str]
    """The figure that shows the effect, as ``sojourn plot`` takes it."""
    goals: Sequence[Goal]
    kinds: Sequence[Kind]
    start: str
    """The experiment to begin with."""

    @property
    def cases(self) -> list[str]:
        """The labels of its axis."""
        return list(tomllib.loads(self.start)["axis"][AXIS])


@functools.cache
def labs() -> Mapping[str, Lab]:
    """Return every lab by name, in the order of a course."""
    return {name: _read(name) for name in ORDER}


def lab(name: str) -> Lab:
    """Return one lab.

    Raises:
        UsageError: if there is none of this name; the message has the nearest.
    """
    if name not in labs():
        raise UsageError.unknown("lab", name, list(labs()))
    return labs()[name]


def _read(name: str) -> Lab:
    folder = files("sojourn.evidence.labs")
    tree = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    goals = [Goal(**{**own, "bound": Bound.parse(own["bound"])}) for own in tree.pop("goal")]
    kinds = [Kind(own.pop("case"), own) for own in tree.pop("kind", [])]
    texts = {key: tree.pop(key).strip() for key in ("text", "task")}
    start = (folder / f"{name}.start.toml").read_text(encoding="utf-8")
    return Lab(name=name, goals=goals, kinds=kinds, start=start, **texts, **tree)
