"""Metrics of many runs, which come as they are measured.

A run takes some milliseconds: its tables are read, their checksums verified, and the extension module asked. Values are
kept, so that another arrangement of the same numbers takes no reading. Invariant: a number here is that of
``sojourn table`` for the same run and expression, since the same function measures it.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.core.cells import group
from sojourn.core.run import columns
from sojourn.errors import SojournError
from sojourn.explore.catalogue import Catalogue, Revision
from sojourn.plotting import labels as naming
from sojourn.views.run import Run
from sojourn.views.summary_table import Asked

_MOST_KEPT: Final = 32
"""The number of expressions with kept values: of 10 000 runs about four megabytes each."""

_TOGETHER: Final = 64
"""Runs that are measured at a time: the page waits for that many."""

_PAUSE_S: Final = 0.15
"""The pause between two messages to a page."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a metric in a run."""

    of: Sequence[tuple[str, float | None]]
    """A value, or one for each flow with its name; None where there is none."""
    wrong: str = ""
    """Why it could not be measured."""


class Measuring:
    """Metrics of a folder's runs."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._kept: OrderedDict[str, dict[str, Values]] = OrderedDict()
        self._lock = threading.Lock()

    def stream(self, revision: Revision, expression: str, wanted: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the messages to the page: the kept values first, then others as they are measured.

        Args:
            revision: the list of runs.
            expression: a metric of the language; ``{flow}`` stands for each flow, ``{queue}`` for the bottleneck.
            wanted: the runs, in the order in which they are to be measured.

        Raises:
            UsageError: if the expression is wrong.
        """
        label = naming.of_metric(expression)
        yield {"label": label.name, "unit": label.unit, "top": label.top, "total": len(wanted)}
        kept = self._of(expression)
        rows: list[tuple[int, str, float | None]] = []
        wrong: dict[str, int] = {}
        reported = time.monotonic()
        for first in range(0, len(wanted), _TOGETHER):
            part = {index: revision.name(index) for index in wanted[first : first + _TOGETHER]}
            kept |= self._measured([name for name in part.values() if name not in kept], expression, label.scale)
            for index, name in part.items():
                found = kept[name]
                if found.wrong:
                    wrong[found.wrong] = wrong.get(found.wrong, 0) + 1
                rows += [(index, of, value) for of, value in found.of]
            if time.monotonic() - reported > _PAUSE_S:
                yield {"rows": rows, "done": first + len(part)}
                rows, reported = [], time.monotonic()
        yield {"rows": rows, "done": len(wanted), "wrong": [{"why": why, "runs": n} for why, n in wrong.items()]}

    def _of(self, expression: str) -> dict[str, Values]:
        """Return the kept values of an expression; if there are too many expressions, the least recently used goes."""
        with self._lock:
            kept = self._kept.setdefault(expression, {})
            self._kept.move_to_end(expression)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return kept

    def _measured(self, names: Sequence[str], expression: str, scale: float) -> dict[str, Values]:
        """Return the values of these runs; those of a cell are measured together, unless one of them has a fault."""
        found: dict[str, Values] = {}
        try:
            runs = [Run.stored(self._catalogue.record(name)) for name in names]
            of_run = {id(run): name for run, name in zip(runs, names, strict=True)}
            for cell in group(runs):
                asked = Asked(expression, expression, names_queue=False).of(cell)
                measured = columns(cell.runs, [own for _, own in asked])
                for place, run in enumerate(cell.runs):
                    pairs = zip(asked, measured, strict=True)
                    found[of_run[id(run)]] = Values(
                        [(of, _plain(own.numbers[place] * scale)) for (of, _), own in pairs]
                    )
        except SojournError as error:
            if len(names) == 1:
                return {names[0]: Values((), error.message)}
            return {name: own for one in names for name, own in self._measured([one], expression, scale).items()}
        return found


def _plain(value: float) -> float | None:
    return float(f"{value:.9g}") if math.isfinite(value) else None
