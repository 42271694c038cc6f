"""What to try next: CMA-ES where the best is, and variations of the best of each kind.

Half of each generation is asked of CatCMA with margin (Hamano et al. 2025), the CMA-ES of the library ``cmaes`` for
settings that are continuous, have steps, or are choices. The other half varies what the archive holds, so that the
search does not end at one find: a point moves along the line to another elite and a little besides (Vassiliades and
Mouret 2018, their Iso+LineDD). The first two generations are Latin hypercubes. A CMA-ES that has converged starts
again at an elite.

Generations have a fixed size, and a generation depends on the seed and on the results of those before alone: neither
the number of threads nor the time that runs take has a part in it.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from cmaes import CatCMAwM

from sojourn.search.archive import Archive

SIZE: Final = 24
"""Points of a generation."""

_FIRST: Final = 2
_PATIENCE: Final = 10
"""Generations without anything better after which CMA-ES starts again."""

_SPREAD: Final = 0.25
_ISO: Final = 0.05
_LINE: Final = 0.3
_SWITCH: Final = 0.15
"""The probability that a variation draws a choice again."""

_MOST_STEPS: Final = 64
"""A setting with more steps than this is as good as continuous."""

Point: TypeAlias = tuple[float, ...]


class Optimiser:
    """Points of the unit cube, one dimension a setting, in generations.

    >>> def ask(seed):
    ...     return Optimiser([(None, False), (3, True)], seed).ask(Archive(None, []))
    >>> len(ask(1)), ask(1) == ask(1), ask(1) == ask(2)
    (24, True, False)
    """

    def __init__(self, dimensions: Sequence[tuple[int | None, bool]], seed: int, size: int = SIZE) -> None:
        """Begin; a dimension has a number of values, None where it is continuous, and may be a choice."""
        self._sizes = [size if choice or (size or math.inf) <= _MOST_STEPS else None for size, choice in dimensions]
        # CMA-ES takes a setting with two values for a choice.
        self._choice = [choice or size == 2 for size, (_, choice) in zip(self._sizes, dimensions, strict=True)]  # noqa: PLR2004
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._size = size
        self._generation = 0
        self._cma: CatCMAwM | None = None
        self._asked: list[CatCMAwM.Solution] = []
        self._best = math.inf
        self._stale = 0

    def ask(self, archive: Archive) -> list[Point]:
        """Return the points of the next generation."""
        self._generation += 1
        self._asked = []
        if self._generation <= _FIRST or not archive.best:
            return self._hypercube(self._size)
        if self._cma is None:
            self._cma = self._begin(archive)
        self._asked = [self._cma.ask() for _ in range(self._cma.population_size)]
        own = [self._point(solution) for solution in self._asked]
        return own + [self._varied(archive) for _ in range(self._size - len(own))]

    def tell(self, scores: Sequence[float]) -> None:
        """Take the scores of the points that were asked for, in their order; small is good."""
        if self._cma is None or not self._asked:
            return
        own = list(scores[: len(self._asked)])
        finite = [score for score in own if math.isfinite(score)]
        # CMA-ES works with differences of scores: a missing one counts as finite, and worse than all others.
        worst = max(finite, default=0.0) + 1.0
        ranked = [
            (point, score if math.isfinite(score) else worst) for point, score in zip(self._asked, own, strict=True)
        ]
        best = min(score for _, score in ranked)
        self._stale = 0 if best < self._best else self._stale + 1
        self._best = min(best, self._best)
        self._cma.tell(ranked)
        with warnings.catch_warnings():
            # It warns where all settings are choices: then patience alone decides.
            warnings.simplefilter("ignore")
            stop = self._cma.should_stop()
        if stop or self._stale >= _PATIENCE:
            self._cma, self._best, self._stale = None, math.inf, 0

    def _hypercube(self, count: int) -> list[Point]:
        columns = [(self._random.permutation(count) + self._random.random(count)) / count for _ in self._sizes]
        return [tuple(float(x) for x in row) for row in np.column_stack(columns)]

    def _begin(self, archive: Archive) -> CatCMAwM:
        """Begin at the best the first time, later at any elite."""
        ranked = [archive.best[kind][1] for kind, _ in archive.ranked]
        start = ranked[0] if self._generation == _FIRST + 1 else ranked[int(self._random.integers(len(ranked)))]
        continuous = [n for n, size in enumerate(self._sizes) if size is None]
        stepped = [n for n, size in enumerate(self._sizes) if size is not None and not self._choice[n]]
        chosen = [n for n, size in enumerate(self._sizes) if size is not None and self._choice[n]]
        mean = [start[n] for n in continuous] + [float(self._index(n, start[n])) for n in stepped]
        # One step size for all: the covariance has the scale of those that count in steps.
        scale = [1.0] * len(continuous) + [float((self._sizes[n] or 2) - 1) for n in stepped]
        return CatCMAwM(
            x_space=[[0.0, 1.0] for _ in continuous] or None,
            z_space=[list(range(self._sizes[n] or 1)) for n in stepped] or None,
            c_space=[self._sizes[n] or 1 for n in chosen] or None,
            population_size=self._size // 2,
            mean=np.array(mean) if mean else None,
            sigma=_SPREAD if mean else None,
            cov=np.diag(np.square(scale)) if mean else None,
            seed=int(self._random.integers(2**31)),
        )

    def _point(self, solution: CatCMAwM.Solution) -> Point:
        x = iter(() if solution.x is None else solution.x)
        z = iter(() if solution.z is None else solution.z)
        c = iter(() if solution.c is None else solution.c)
        point = []
        for size, choice in zip(self._sizes, self._choice, strict=True):
            if size is None:
                point.append(float(next(x)))
            else:
                index = int(np.argmax(next(c))) if choice else round(float(next(z)))
                point.append((index + 0.5) / size)
        return tuple(point)

    def _index(self, dimension: int, at: float) -> int:
        size = self._sizes[dimension] or 1
        return min(int(at * size), size - 1)

    def _varied(self, archive: Archive) -> Point:
        elites = [point for _, point in archive.best.values()]
        one, two = (elites[int(n)] for n in self._random.integers(len(elites), size=2))
        along = float(self._random.normal()) * _LINE
        point = []
        for n, (a, b) in enumerate(zip(one, two, strict=True)):
            size = self._sizes[n]
            if size is not None and self._choice[n]:
                fresh = self._random.random() < _SWITCH
                point.append((int(self._random.integers(size)) + 0.5) / size if fresh else a)
                continue
            moved = a + along * (b - a) + float(self._random.normal()) * _ISO
            if size is not None and self._random.random() < _SWITCH:
                moved += (1.0 if self._random.random() < 0.5 else -1.0) / size  # noqa: PLR2004 - either way
            point.append(min(max(moved, 0.0), 1.0))
        return tuple(point)
