"""Runs grouped: those of one cell differ by their seeds, the cells of one scenario by the labels of its axes.

Runs are seeds of one cell only if everything else is equal: the scenario as it is stored, the engine and its build.
A results folder may hold more than one experiment of a name: one that was run again with ``--set``, from an edited
file, or by another build. Their runs lie in cells apart, which have a label more for each thing that differs:
``rate=10mbit``. Tables, figures, reports, checks, claims, validation and comparisons all ask here.

What was measured of an imported run (:attr:`sojourn.core.store.RunKey.measured`) does not tell it from another.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, TypeVar

from sojourn.core.run import Run
from sojourn.core.scenario import Labels, Scenario
from sojourn.core.store import RunKey


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one combination of an experiment's axes, by seed."""

    experiment: str
    labels: Labels
    """Those of the file, in its order, then those of :attr:`apart`."""
    engine: str
    runs: Sequence[Run]

    title: str
    """The labels of the axes that vary among the cells that it was grouped with; all of them if none does."""
    apart: Labels = ()
    """What differs from other runs of the same name and labels, other than the seed; empty where there are none."""

    @property
    def scenario(self) -> Scenario:
        """The scenario of its first run."""
        return self.runs[0].scenario

    @property
    def key(self) -> str:
        """What tells it from any other cell, whatever it was grouped with and whichever of its seeds are meant."""
        key = self.runs[0].key
        return json.dumps([key.asked, self.engine, _build(key.version)], sort_keys=True)

    @property
    def name(self) -> str:
        """All labels, in words: ``fq_codel, 20ms, rate=10mbit``."""
        return ", ".join(_words(self.labels, self.apart))


class HasScenario(Protocol):
    """A run to distinguish from others, made or yet to be made."""

    @property
    def scenario(self) -> Scenario:
        """The whole scenario."""
        ...

    @property
    def engine(self) -> str:
        """The engine's name."""
        ...


Distinguished = TypeVar("Distinguished", bound=HasScenario)


def group(runs: Iterable[Run]) -> list[Cell]:
    """Return the cells of these runs, experiments and cells in the order in which they first occur."""
    found = [(_place(own[0]), apart, own) for apart, own in distinguished(runs)]
    varied: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for (experiment, labels, _), _, _ in found:
        for axis, label in labels:
            varied[experiment][axis].add(label)
    cells = []
    for (experiment, labels, engine), apart, own in found:
        telling = tuple((axis, label) for axis, label in labels if len(varied[experiment][axis]) > 1) + apart
        title = ", ".join(_words(telling or labels, apart)) or "single cell"
        ranked = sorted(own, key=lambda r: r.seed)
        cells.append(Cell(experiment, labels + apart, engine, ranked, title, apart))
    return cells


def distinguished(runs: Iterable[Distinguished]) -> list[tuple[Labels, list[Distinguished]]]:
    """Return the runs by cell, each with labels that set it apart from the same experiment, labels and engine."""
    places: dict[tuple[str, Labels, str], list[Distinguished]] = defaultdict(list)
    for run in runs:
        places[_place(run)].append(run)
    found: list[tuple[Labels, list[Distinguished]]] = []
    for (_, labels, _), own in places.items():
        variants: list[list[Distinguished]] = []
        for run in own:
            fitting = (variant for variant in variants if seeds_of_one(variant[0], run))
            variant = next(fitting, None)
            if variant is None:
                variants.append([run])
            else:
                variant.append(run)
        taken = {axis for axis, _ in labels}
        found += zip(_differences([variant[0] for variant in variants], taken), variants, strict=True)
    return found


def seeds_of_one(first: HasScenario, second: HasScenario) -> bool:
    """Return whether two runs differ in nothing but their seed."""
    one, other = _key_of(first), _key_of(second)
    return (first.engine, _build(one.version)) == (second.engine, _build(other.version)) and one.is_seed_of(other)


def paired(first: Sequence[Cell], second: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
    """Return the cells of two sets that belong together, in the order of the first.

    Those of equal scenarios, whatever ran them; of the rest, those of the same experiment and labels of its file, as
    long as each set has but one such.
    """
    ours, theirs = (_by_place(cells) for cells in (first, second))
    partners: dict[str, Cell] = {}
    for place, own in ours.items():
        left = list(theirs.get(place, ()))
        alone = []
        for cell in own:
            key = cell.runs[0].key
            same = next((other for other in left if key.is_seed_of(other.runs[0].key)), None)
            if same is None:
                alone.append(cell)
            else:
                partners[cell.key] = same
                left.remove(same)
        if len(alone) == len(left) == 1:
            partners[alone[0].key] = left[0]
    return [(cell, partners[cell.key]) for cell in first if cell.key in partners]


def _by_place(cells: Sequence[Cell]) -> dict[tuple[str, Labels], list[Cell]]:
    places: dict[tuple[str, Labels], list[Cell]] = defaultdict(list)
    for cell in cells:
        places[_place(cell.runs[0])[:2]].append(cell)
    return places


def _words(labels: Labels, apart: Labels) -> list[str]:
    return [f"{axis}={label}" if (axis, label) in apart else label for axis, label in labels]


def _place(run: HasScenario) -> tuple[str, Labels, str]:
    scenario = run.scenario
    return scenario.experiment, scenario.labels, run.engine


def _key_of(run: object) -> RunKey:
    if isinstance(run, RunKey):
        return run
    key: RunKey = run.key  # type: ignore[attr-defined] # Run, which is the other
    return key


@cache
def _build(version: str) -> str:
    """Return the code that decided runs of a version. The plan that Linux's runs name after it has their seed in it."""
    return re.sub(r", plan [0-9a-f]+(?=,|$)", "", version)


# --- what differs, in words ------------------------------------------------------------------------------------------

_MOST_NAMED: Final = 3
"""Things that differ and are named; a number tells apart what more would have to."""

_LONGEST: Final = 40

_ABSENT: Final = "none"


def _differences(keys: Sequence[HasScenario], taken: set[str]) -> list[Labels]:
    """Return for each variant of an experiment what it has otherwise than one of the others; nothing for one alone."""
    if len(keys) == 1:
        return [()]
    found = [_key_of(key) for key in keys]
    leaves = [{**_leaves(key.asked), ("build",): _build(key.version)} for key in found]
    paths = [p for p in dict.fromkeys(p for own in leaves for p in own) if len({own.get(p) for own in leaves}) > 1]
    columns = {path: tuple(_shown(own.get(path)) for own in leaves) for path in paths}
    named: dict[str, tuple[str, ...]] = {}
    for path, column in sorted(columns.items(), key=lambda item: len(item[0])):
        if column in named.values():
            # One setting that is written out in several places: the rate of both directions.
            continue
        names = (".".join(path[-length:]) for length in range(1, len(path) + 1))
        free = (name for name in names if name not in named and name not in taken)
        named[next(free, f"{'.'.join(path)} ")] = column
        if len(named) == _MOST_NAMED:
            break
    labels = [tuple((name, column[index]) for name, column in named.items()) for index in range(len(found))]
    if len(set(labels)) < len(labels):
        labels = [(*own, ("variant", str(number))) for number, own in enumerate(labels, 1)]
    return labels


def _leaves(value: object, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """Return every word and number in a scenario by its path; parts of lists go by their names."""
    found: dict[tuple[str, ...], str] = {}
    if isinstance(value, Mapping):
        for key, own in value.items():
            found |= _leaves(own, (*path, str(key)))
    elif isinstance(value, list):
        for index, own in enumerate(value):
            name = own.get("name") if isinstance(own, Mapping) else None
            found |= _leaves(own, (*path, str(index if name is None else name)))
        found[*path, "count"] = str(len(value))
    else:
        found[path] = str(value)
    return found


def _shown(value: str | None) -> str:
    text = _ABSENT if value is None else value
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def ordered(labels: Iterable[str]) -> list[str]:
    """Return each label once, as people count; what stands for nothing comes first.

    >>> ordered(["prague", "80ms", "none", "160ms"])
    ['none', '80ms', '160ms', 'prague']
    """
    return sorted(dict.fromkeys(labels), key=lambda label: (label not in _NOTHING, natural(label)))


_NOTHING: Final = frozenset({"none", "alone", "off", "no", "without", "clean"})


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key that puts ``s2`` before ``s10``.

    >>> sorted(["80ms", "160ms", "20ms"], key=natural)
    ['20ms', '80ms', '160ms']
    """
    return [(int(part or 0), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]
