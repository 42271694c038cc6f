"""The simplest scenario that still shows it.

As property-based testers do: one thing at a time is left out, moved to the file's own value or to its default, or made
a round number; a change is kept if the scenario still shows the find, until nothing more can go. A scenario shows the
find if the median of the objective over :data:`SEEDS` seeds is as extreme as the bound.

Flows, events, tunnels, phases and elements may go. Of settings those that the search varies may change, and no
others: the file's fixed values are the question. (Otherwise, bursts of a tenth of a link become a flood: it stops TCP,
too, but is another scenario.)
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from statistics import median
from typing import Any, Final

from sojourn.search.objective import Objective
from sojourn.search.trials import Subject, measure
from sojourn.search.written import Tree, get, leaves, split, text_of, with_value, without, written

SEEDS: Final = 3
_AT_ONCE: Final = 4
"""Candidates that are run together; the first of them in their order that shows it is taken."""

_MOST: Final = 600
"""Candidates in all."""

_GIVEN_UP: Final = 0.2
"""How much of the way from the file's value to the find's may be lost, unless a bound is given."""

_LISTS: Final = ("flow", "event", "tunnel", "phase", "element")
_QUANTITY: Final = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z%]*)")


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The simplified scenario, and the steps to it."""

    tree: Tree
    text: str
    value: float
    """The median over the seeds."""
    bound: float
    steps: list[str]
    """The simplifications, in order."""
    tried: int
    """Candidates that were run."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    tree: Tree
    said: str


def bound_of(start: float, found: float) -> float:
    """Return what still counts as the find, where no bound is given.

    >>> round(bound_of(0.5, 0.0), 9)
    0.1
    """
    return found + _GIVEN_UP * (start - found)


def shrink(
    subject: Subject,
    objective: Objective,
    settings: tuple[str, ...],
    *,
    bound: float,
    seed: int,
    threads: int,
    report: Callable[[str], None] = lambda _: None,
) -> Shrunk:
    """Make a find simpler.

    Args:
        subject: the experiment.
        objective: the metric of the search, and its direction.
        settings: of the find.
        bound: the value that the median over the seeds must reach to be the find still.
        seed: the search's; the ones behind it are used, too.
        threads: runs at a time.
        report: hears of each step.
    """
    tree = written(subject.text, [*subject.settings, *settings])
    judge = _Judge(subject, objective, range(seed, seed + SEEDS), threads)
    (value,) = judge.values([tree])
    if value is None:
        return Shrunk(tree, text_of(tree), math.nan, bound, [], judge.tried)
    # The median need not reach one seed's find: then the median itself is the bound.
    judge.bound = bound if objective.reaches(value, bound) else value
    file = written(subject.text, subject.settings)
    steps: list[str] = []
    again = True
    while again:
        again = False
        for make in (_own_values, _dropped, _fewer, _rounded):
            while (taken := judge.first(make(tree, file, settings))) is not None:
                candidate, value = taken
                tree = candidate.tree
                steps.append(f"{candidate.said}: {objective.metric} = {value:.4g}")
                report(steps[-1])
                again = True
    return Shrunk(tree, text_of(tree), value, judge.bound, steps, judge.tried)


@dataclass(slots=True)
class _Judge:
    """Whether a scenario still shows the find. Each is asked once."""

    subject: Subject
    objective: Objective
    seeds: Sequence[int]
    threads: int
    bound: float = math.nan
    asked: set[str] = field(default_factory=set)

    @property
    def tried(self) -> int:
        return len(self.asked)

    def values(self, trees: Sequence[Tree]) -> list[float | None]:
        """Return the median of each, None where it cannot be."""
        texts = [text_of(tree) for tree in trees]
        self.asked.update(texts)
        asked = [(replace(self.subject, text=text, settings=()), (), self.seeds) for text in texts]
        results = measure(asked, [self.objective.metric], threads=self.threads)
        return [median([one[0] for one in result.values]) if result.values else None for result in results]

    def first(self, candidates: Iterable[_Candidate]) -> tuple[_Candidate, float] | None:
        """Return the first of these that shows it, with its median."""
        new = iter([own for own in candidates if text_of(own.tree) not in self.asked])
        while self.tried < _MOST and (batch := list(islice(new, _AT_ONCE))):
            results = self.values([own.tree for own in batch])
            for candidate, value in zip(batch, results, strict=True):
                if value is not None and self.objective.reaches(value, self.bound):
                    return candidate, value
        return None


def _own_values(tree: Tree, file: Tree, settings: tuple[str, ...]) -> Iterator[_Candidate]:
    """Move settings back to the file's values."""
    for setting in settings:
        keys, _ = split(setting)
        before, now = get(file, keys), get(tree, keys)
        way = _way(tree, keys)
        if way is None or now is None or before == now:
            continue
        if before is None:
            yield _Candidate(without(tree, way), f"{'.'.join(keys)} is not set")
        else:
            yield _Candidate(with_value(tree, way, before), f"{'.'.join(keys)} = {before}, as in the file")


def _dropped(tree: Tree, _file: Tree, _settings: tuple[str, ...]) -> Iterator[_Candidate]:
    """Leave out flows, events, tunnels, phases, elements."""
    for way, value in leaves(tree):
        if isinstance(way[-1], int) and way[-2] in _LISTS and isinstance(value, dict):
            yield _Candidate(without(tree, way), f"without {way[-2]} {value.get('name', way[-1])}")


def _fewer(tree: Tree, _file: Tree, _settings: tuple[str, ...]) -> Iterator[_Candidate]:
    """Reduce counts."""
    for way, value in leaves(tree):
        if way[-1] == "count" and isinstance(value, int) and value > 1:
            for fewer in dict.fromkeys((1, value // 2, value - 1)):
                yield _Candidate(with_value(tree, way, fewer), f"{_said(tree, way)} = {fewer}")


def _rounded(tree: Tree, _file: Tree, settings: tuple[str, ...]) -> Iterator[_Candidate]:
    """Round the searched settings."""
    for setting in settings:
        keys, _ = split(setting)
        way, value = _way(tree, keys), get(tree, keys)
        if way is None or value is None or isinstance(value, bool):
            continue
        for rounder in _rounder(value):
            yield _Candidate(with_value(tree, way, rounder), f"{'.'.join(keys)} = {rounder}")


def _rounder(value: Any) -> list[Any]:  # noqa: ANN401 - what TOML can say
    """Return rounder values, the roundest first.

    >>> _rounder("37.4mbit"), _rounder(0.173), _rounder("20ms"), _rounder("pie")
    (['40mbit', '37mbit'], [0.2, 0.17], [], [])
    """
    text = value if isinstance(value, str) else f"{value}"
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return []
    found: list[Any] = []
    for digits in (1, 2):
        number = f"{float(f'{float(match[1]):.{digits - 1}e}'):g}"
        rounder: Any = f"{number}{match[2]}"
        if "e" in number or float(number) == float(match[1]):
            continue
        if not isinstance(value, str):
            rounder = type(value)(float(number))
        if rounder not in found:
            found.append(rounder)
    return found


def _way(tree: Tree, keys: list[str]) -> tuple[str | int, ...] | None:
    """Return a path with places in lists instead of names; None if it leads nowhere."""
    way: list[str | int] = []
    place: Any = tree
    for key in keys:
        if isinstance(place, list):
            index = next((n for n, item in enumerate(place) if item.get("name") == key), None)
            if index is None:
                return None
            way.append(index)
            place = place[index]
        elif isinstance(place, dict) and key in place:
            way.append(key)
            place = place[key]
        else:
            return None
    return tuple(way)


def _said(tree: Tree, way: tuple[str | int, ...]) -> str:
    """Return a way in the file's words: names for places in lists."""
    words = []
    place: Any = tree
    for key in way:
        place = place[key]
        words.append(str(place.get("name", key)) if isinstance(key, int) and isinstance(place, dict) else str(key))
    return ".".join(words)
