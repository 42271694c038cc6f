"""Claims looked at in the runs of a results folder.

A run counts if it is the suite's own: a scenario that was changed with ``--set``, or is of an older suite, is not the
one that the claim speaks of. Real TCP (:mod:`sojourn.experiments.hosts`) changes who carries out a flow, and not the
experiment. Where a part compares cells, their runs are paired by seed.

Seeds are counted from 1, and their number is fixed beforehand (:func:`.interval.looks`), whatever more a folder has:
each further look takes twice as many, only where the one before gave no verdict.
"""

import math
import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from statistics import median
from typing import Final

from sojourn import _core
from sojourn.core.cells import distinguished
from sojourn.core.run import Run
from sojourn.core.scenario import Labels, Scenario
from sojourn.errors import SojournError, StoreError, UsageError
from sojourn.evidence.claims.registry import Claim, Measure, Part
from sojourn.evidence.claims.verdicts import WORST_FIRST, Cause, CellVerdict, ClaimVerdict, PartVerdict, Verdict
from sojourn.evidence.interval import FEWEST, SEEDS, Look, fewest, looks, median_interval
from sojourn.evidence.judging import Ruling, worst
from sojourn.experiments import library
from sojourn.experiments.experiment import load
from sojourn.experiments.hosts import same_experiment

_Place = tuple[str, Labels]
"""(experiment, cell)"""


@dataclass(frozen=True, slots=True)
class _Suite:
    """The cells of a scenario as the package has it."""

    name: str
    """The experiment's own name: runs know it by that."""
    cells: Mapping[Labels, Scenario]

    def chosen(self, measure: Measure) -> list[Labels]:
        """Return the cells that a measure is of."""
        axes: dict[str, dict[str, None]] = defaultdict(dict)
        for cell in self.cells:
            for axis, label in cell:
                axes[axis][label] = None
        for axis, labels in measure.at.items():
            if axis not in axes:
                raise UsageError.unknown(f"axis of {measure.experiment}", axis, list(axes))
            for label in labels:
                if label not in axes[axis]:
                    raise UsageError.unknown(f"label of {measure.experiment}'s axis {axis}", label, list(axes[axis]))
        return [c for c in self.cells if all(label in measure.at.get(axis, (label,)) for axis, label in c)]


@cache
def _suite(name: str) -> _Suite:
    """Return a scenario of the package, one seed a cell."""
    (named,) = library.resolve(name)
    experiment = load(named.file, seeds=1)
    return _Suite(experiment.name, {key.scenario.labels: key.scenario for key in experiment.run_keys})


def evaluate(
    claims: Sequence[Claim],
    runs: Iterable[Run],
    *,
    engine: str = "sim",
    seeds: int = SEEDS,
    threads: int | None = None,
    watcher: Callable[[int, int], None] | None = None,
    same: Callable[[Scenario, Scenario], bool] | None = None,
) -> list[ClaimVerdict]:
    """Return the verdict on each claim.

    Args:
        claims: which.
        runs: the runs of a results folder.
        engine: runs of other engines do not count.
        seeds: seeds 1 to n of each cell are read at the first look; n is six at the least.
        threads: how many runs are read at a time.
        watcher: called with the number of runs read and the number of all.
        same: whether a run's scenario is that of the suite's cell (default: they differ at most in seed, checks, source
            and who carries them out).

    Raises:
        StoreError: if a claim names axes, labels or metrics that its experiment does not have.
        UsageError: if there are too few seeds for any verdict.
    """
    plan = looks(seeds)
    least = fewest(plan[0].confidence)
    if seeds < least:
        raise UsageError(f"no verdict is possible with {seeds} seeds", help=f"{least} are the least")
    values = _Values(_needed(claims), _places(runs, engine), threads or os.cpu_count() or 1, watcher, same or _same)
    verdicts: dict[str, ClaimVerdict] = {}
    undecided = list(claims)
    for look, following in pairwise([*plan, None]):
        assert look is not None  # noqa: S101 - the last alone is followed by none
        values.read(undecided, look.seeds)
        for claim in undecided:
            own = _claim(claim, values, look, following)
            # At a later look what is missing says nothing: the verdict of the look before stays.
            if claim.id not in verdicts or own.verdict is not Verdict.NOT_RUN:
                verdicts[claim.id] = own
        spanning = {own.claim.id for own in verdicts.values() if own.cause is Cause.SPANS and own.seeds == look.seeds}
        undecided = [claim for claim in undecided if claim.id in spanning]
    return [verdicts[claim.id] for claim in claims]


def seeds_there(runs: Iterable[Run], *, engine: str = "sim") -> int:
    """Return the seeds of a first look that a page about these runs takes: seeds 1 to n that each cell has.

    A folder made with ``--seeds 6`` is judged at six, as ``sojourn claims --seeds 6`` judges it, and not as one that
    lacks four. Cells with too few seeds for any verdict do not count; more than :data:`SEEDS` are not needed.
    """
    counts = []
    for own in _places(runs, engine).values():
        seeds = {run.seed for run in own}
        counts.append(next(n for n in range(SEEDS + 1) if n == SEEDS or n + 1 not in seeds))
    return min((count for count in counts if count >= FEWEST), default=SEEDS)


def _places(runs: Iterable[Run], engine: str) -> dict[_Place, list[Run]]:
    places: dict[_Place, list[Run]] = defaultdict(list)
    for run in runs:
        if run.engine == engine:
            places[run.scenario.experiment, run.scenario.labels].append(run)
    return places


def _needed(claims: Sequence[Claim]) -> dict[_Place, list[str]]:
    """Return the metrics that are asked of each cell."""
    needed: dict[_Place, dict[str, None]] = defaultdict(dict)
    for claim in claims:
        for part in claim.parts:
            for measure in part.measures.values():
                try:
                    cells = _suite(measure.experiment).chosen(measure)
                except UsageError as error:
                    raise StoreError(f'claim {claim.id}, "{part.what}": {error.message}', help=error.help) from error
                for cell in cells:
                    needed[measure.experiment, cell][measure.metric] = None
    return {place: list(metrics) for place, metrics in needed.items()}


def _by_seed(runs: Sequence[Run]) -> dict[int, Run]:
    """Return the runs of one cell by seed.

    Raises:
        UsageError: if they are of several builds, or of files that differ in checks or sources.
    """
    variants = distinguished(runs)
    if len(variants) > 1:
        of = "; ".join(", ".join(f"{axis}={label}" for axis, label in apart) for apart, _ in variants)
        raise UsageError(
            f"a claim needs one experiment, and there are several called {runs[0].label.rpartition('#')[0]}: {of}",
            help="keep each in a folder of its own",
        )
    return {run.seed: run for run in runs}


def _same(scenario: Scenario, theirs: Scenario) -> bool:
    """Return whether two scenarios differ at most in seed, checks, source and who carries them out."""
    aside = ("seed", "checks", "source")
    return same_experiment({**scenario, **dict.fromkeys(aside)}, {**theirs, **dict.fromkeys(aside)})


class _Values:
    """What was measured on each run, read when a look asks for it."""

    def __init__(
        self,
        needed: Mapping[_Place, Sequence[str]],
        found: Mapping[_Place, Sequence[Run]],
        threads: int,
        watcher: Callable[[int, int], None] | None,
        same: Callable[[Scenario, Scenario], bool],
    ) -> None:
        self._needed = needed
        self._threads = threads
        self._watcher = watcher
        self._values: dict[tuple[_Place, int], Mapping[str, float]] = {}
        self.runs: dict[_Place, dict[int, Run]] = {}
        for place in needed:
            suite = _suite(place[0])
            theirs = suite.cells[place[1]]
            own = found.get((suite.name, place[1]), ())
            self.runs[place] = _by_seed([run for run in own if same(run.scenario, theirs)])

    def seeds(self, place: _Place, most: int) -> list[int]:
        """Return the seeds that a cell was run with, up to the last that counts."""
        return sorted(seed for seed in self.runs[place] if 1 <= seed <= most)

    def of(self, place: _Place, seed: int, metric: str) -> float:
        """Return what was measured."""
        return self._values[place, seed][metric]

    def read(self, claims: Sequence[Claim], most: int) -> None:
        """Measure what these claims need of the seeds up to ``most``, as far as there are runs."""
        places = dict.fromkeys(place for claim in claims for part in claim.parts for place in _cells_of(part))
        asked = [(p, seed) for p in places for seed in self.seeds(p, most) if (p, seed) not in self._values]
        with ThreadPoolExecutor(self._threads) as pool:
            jobs = [pool.submit(self._measure, place, self.runs[place][seed]) for place, seed in asked]
            for done, (at, job) in enumerate(zip(asked, jobs, strict=True), start=1):
                self._values[at] = job.result()
                if self._watcher is not None:
                    self._watcher(done, len(asked))

    def _measure(self, place: _Place, run: Run) -> dict[str, float]:
        metrics = self._needed[place]
        try:
            return dict(zip(metrics, run.measure(metrics), strict=True))
        except UsageError as error:
            raise StoreError(f"a claim on {place[0]}: {error.message}", help=error.help) from error


def _claim(claim: Claim, values: _Values, look: Look, following: Look | None) -> ClaimVerdict:
    parts = [_part(part, values, look) for part in claim.parts]
    places = dict.fromkeys(place for part in claim.parts for place in _cells_of(part))
    runs = [values.runs[place][seed] for place in places for seed in values.seeds(place, look.seeds)]
    verdict, cause = _joined(parts)
    wanted = look if verdict is Verdict.NOT_RUN else following if cause is Cause.SPANS else None
    advice = _advice(places, values, wanted) if wanted else ""
    return ClaimVerdict(claim, parts, verdict, cause, look.seeds, runs, advice)


def places_of(claim: Claim) -> set[_Place]:
    """Return the cells that a claim speaks of: experiment and labels."""
    return {place for part in claim.parts for place in _cells_of(part)}


def _cells_of(part: Part) -> list[_Place]:
    return [(m.experiment, cell) for m in part.measures.values() for cell in _suite(m.experiment).chosen(m)]


def _joined(parts: Sequence[PartVerdict | CellVerdict]) -> tuple[Verdict, Cause]:
    """Return the verdict on what must all hold."""
    verdict = worst(parts, WORST_FIRST, Verdict.NOT_RUN)
    causes = [part.cause for part in parts if part.verdict is verdict]
    return verdict, next(cause for cause in Cause if cause in causes)


def _part(part: Part, values: _Values, look: Look) -> PartVerdict:
    """Group the cells of a part's measures by what they share, and judge each group."""
    fixed = frozenset[str]().union(*(measure.fixed for measure in part.measures.values()))
    groups: dict[Labels, dict[str, _Place]] = defaultdict(dict)
    for name, measure in part.measures.items():
        for cell in _suite(measure.experiment).chosen(measure):
            shared = tuple(pair for pair in cell if pair[0] not in fixed)
            groups[shared][name] = (measure.experiment, cell)
    whole = {shared: places for shared, places in groups.items() if places.keys() == part.measures.keys()}
    if not whole:
        raise StoreError(f'"{part.what}": the cells that it compares have no labels in common')
    varied = {axis for axis in _axes(whole) if len({dict(shared).get(axis) for shared in whole}) > 1}
    judged = [
        _cell(part, tuple(p for p in shared if p[0] in varied), dict(shared), places, values, look)
        for shared, places in whole.items()
    ]
    cells = [cell for cell in judged if cell is not None]
    if not cells:
        return PartVerdict(part, cells, Verdict.INCONCLUSIVE, Cause.NOT_MET)
    verdict, cause = _joined(cells)
    return PartVerdict(part, cells, verdict, cause)


def _axes(groups: Iterable[Labels]) -> set[str]:
    return {axis for shared in groups for axis, _ in shared}


def _cell(
    part: Part,
    labels: Labels,
    shared: Mapping[str, str],
    places: Mapping[str, _Place],
    values: _Values,
    look: Look,
) -> CellVerdict | None:
    """Judge a cell; return None where too few of its runs meet the part's condition for it to count."""
    names = part.formula.names | (part.where.names if part.where else frozenset())
    constants = {axis: _quantity(label) for axis, label in shared.items() if axis in names}
    seeds = sorted(set.intersection(*(set(values.seeds(place, look.seeds)) for place in places.values())))
    found = []
    for seed in seeds:
        measured = {name: values.of(place, seed, part.measures[name].metric) for name, place in places.items()}
        filled = {**constants, **{name: part.if_none if math.isnan(v) else v for name, v in measured.items()}}
        if part.where is None or part.where(filled):
            found.append(part.formula(filled))
    whole = len(seeds) == look.seeds
    if whole and len(found) < fewest(look.confidence):
        return None
    verdict, cause, low, high = _judge(part, found, look.confidence) if whole else _missing(seeds)
    known = [value for value in found if not math.isnan(value)]
    return CellVerdict(labels, found, median(known) if known else math.nan, low, high, verdict, cause)


def _missing(seeds: Sequence[int]) -> tuple[Verdict, Cause, float, float]:
    return Verdict.NOT_RUN, Cause.FEW_SEEDS if seeds else Cause.NONE, math.nan, math.nan


def _judge(part: Part, found: Sequence[float], confidence: float) -> tuple[Verdict, Cause, float, float]:
    interval = median_interval(found, confidence)
    if interval is None or any(math.isnan(value) for value in found):
        return Verdict.INCONCLUSIVE, Cause.NO_VALUE, math.nan, math.nan
    low, high = interval
    return *_RULINGS[part.bound.ruling(low, high)], low, high


_RULINGS: Final = {
    Ruling.HOLDS: (Verdict.REPRODUCED, Cause.NONE),
    Ruling.FAILS: (Verdict.NOT_REPRODUCED, Cause.NONE),
    Ruling.OPEN: (Verdict.INCONCLUSIVE, Cause.SPANS),
}


def _quantity(label: str) -> float:
    """Return what a label stands for: ``32``, ``20mbit``, ``80ms``."""
    for reader in (float, _core.parse_rate, _core.parse_span):
        try:
            return float(reader(label))
        except (ValueError, SojournError):
            continue
    raise StoreError(f'the label "{label}" is not a number, a rate or a time')


def _advice(places: Iterable[_Place], values: _Values, look: Look) -> str:
    """Return the command that makes what a look lacks."""
    wanting: dict[str, list[Labels]] = defaultdict(list)
    for name, cell in places:
        if len(values.seeds((name, cell), look.seeds)) < look.seeds:
            wanting[name].append(cell)
    commands = (
        f"sojourn run {name}{_only(name, cells)} --seeds {look.seeds} -o DIR" for name, cells in wanting.items()
    )
    return "; ".join(commands)


def _only(name: str, cells: Sequence[Labels]) -> str:
    """Return the words that select these cells and no others; nothing where that would be as many words as cells."""
    everything = list(_suite(name).cells)
    axes = [axis for axis, _ in everything[0]] if everything else []
    own = {axis: list(dict.fromkeys(dict(cell)[axis] for cell in cells)) for axis in axes}
    selected = [c for c in everything if c in set(map(tuple, _product(own)))]
    words = ""
    for axis in axes:
        if len(own[axis]) < len({dict(cell)[axis] for cell in everything}) and len(selected) < len(everything):
            words += "".join(f" --only {shlex.quote(f'{axis}={label}')}" for label in own[axis])
    return words


def _product(own: Mapping[str, Sequence[str]]) -> Iterable[Labels]:
    for labels in product(*own.values()):
        yield tuple(zip(own, labels, strict=True))
