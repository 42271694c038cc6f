"""Verdicts: each published value next to ours. The arithmetic is the metrics' own, in the extension module."""

import json
import math
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.evidence.validation.noise import Noise
from sojourn.evidence.validation.ours import Cell, Cells
from sojourn.evidence.validation.rows import Figure, Row, Sender
from sojourn.views.results import results

ENOUGH_SEEDS: Final = 10
"""Below this many seeds a range is too narrow to judge by."""

_NORMAL_95: Final = 1.96
CLOSE: Final = 0.01
"""Sums are asked to be within this of the published ones."""


@dataclass(frozen=True, slots=True)
class Value:
    """A published figure next to ours, in its unit."""

    figure: Figure
    sender: Sender
    ours: float
    """The median over our seeds."""
    low: float
    """Our central 95 %."""
    high: float
    noise: float
    """By which the range is widened on both sides."""
    agrees: bool
    bias: float
    """Ours less published: of a rate as a fraction of the row's published sum, else of the published value."""

    @property
    def published(self) -> float:
        """The published value."""
        return self.figure.published


@dataclass(frozen=True, slots=True)
class Judged:
    """A published row next to our runs of it."""

    row: Row
    values: Sequence[Value]
    seeds: int
    noise_known: bool
    """Whether the replicate noise of such a row is known; if not, only the figures' own is taken."""
    sum_errors: dict[str, float]
    """By quantity, of rates: our median sum less the published one, as a fraction of it."""
    share_error: float | None
    """Of the first flow's share of its first rate: our median less the published; None if it has the link to itself."""

    @property
    def agrees(self) -> bool:
        """Whether the row agrees: every value of it."""
        return all(value.agrees for value in self.values)

    @property
    def rates_agree(self) -> bool:
        """Whether every rate of it agrees."""
        return all(value.agrees for value in self.values if value.figure.is_rate)

    @property
    def sum_error(self) -> float:
        """Of its rates; NaN if it has none."""
        return next(iter(self.sum_errors.values()), math.nan)


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A published row with a value that our runs lack."""

    row: Row
    asked: Sequence[str]
    """The metrics that no run has a value of."""
    why: UsageError | None
    """Why the first of them has none, and what to do, if it is that it was not recorded."""

    def __str__(self) -> str:
        """Return the row with what it lacks."""
        more = f" and {len(self.asked) - 1} more" if len(self.asked) > 1 else ""
        return f"line {self.row.line}: {self.row}: no value of {self.asked[0]}{more}"


class Compared(NamedTuple):
    """Published rows compared with a results folder."""

    judged: list[Judged]
    not_run: list[Row]
    unmeasured: list[Unmeasured]
    """Rows that were run, with a published value that the runs lack."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A group of published rows, and of their figures of one quantity.

    Errors of rates are fractions of the published sum of each row, others of the published value.
    """

    quantity: str
    by: str
    """``all``, ``queue`` or ``sender``."""
    group: str
    rows: int
    coverage: float
    """The share of the rows in which all figures agree."""
    median_bias: float
    """Of each row's first flow; in a sender's group, of its first flow."""
    median_abs_error: float
    p90_abs_error: float
    sums_within_1_percent: float
    """The share of the rows with a sum within 1 % of the published one; NaN without sums."""


def against(rows: Sequence[Row], folder: Path, noise: Noise, experiments: Collection[str] | None = None) -> Compared:
    """Return the published rows that a results folder has runs of, judged, and the others.

    Args:
        rows: the published rows.
        folder: our results.
        noise: the published replicate noise.
        experiments: only runs of these count, where the folder has others that are as like a row; all if not given.

    Raises:
        StoreError: if the folder is none, or a file in it is damaged.
    """
    cells = Cells()
    for run in results(folder):
        if experiments is None or run.scenario.experiment in experiments:
            cells.add(run)
    found = Compared([], [], [])
    for row in rows:
        cell = cells.match(row)
        if cell is None:
            found.not_run.append(row)
            continue
        runs = cell.values(row.figures)
        lacking = [place for place in range(len(row.figures)) if all(math.isnan(run[place]) for run in runs)]
        if lacking:
            asked = [cell.asked(row.figures[place]) for place in lacking]
            found.unmeasured.append(Unmeasured(row, asked, cell.runs[0][0].not_recorded(asked[0])))
        else:
            found.judged.append(_judged(row, runs, noise))
    return found


def judge(row: Row, cell: Cell, noise: Noise) -> Judged:
    """Compare a published row with our runs of it.

    Args:
        row: the published row.
        cell: our runs.
        noise: the published replicate noise.
    """
    return _judged(row, cell.values(row.figures), noise)


def _judged(row: Row, runs: Sequence[tuple[float, ...]], noise: Noise) -> Judged:
    deviation = noise.share(row) if len(row.senders) > 1 else None
    values = []
    for place, figure in enumerate(row.figures):
        # Rates are compared as fractions of the row's sum, the unit in which the replicate noise is known.
        unit = row.sum_of(figure.quantity) if figure.is_rate else 1.0
        widening = figure.noise / unit + (_NORMAL_95 * (deviation or 0.0) if figure.is_rate else 0.0)
        found = json.loads(_core.agreement(figure.published / unit, widening, [run[place] / unit for run in runs]))
        values.append(
            Value(
                figure=figure,
                sender=row.senders[figure.flow],
                ours=found["ours"] * unit,
                low=found["low"] * unit,
                high=found["high"] * unit,
                noise=widening * unit,
                agrees=found["agrees"],
                bias=found["bias"] if figure.is_rate else _relative(found["bias"], figure.published),
            )
        )
    return Judged(
        row,
        values,
        len(runs),
        noise_known=deviation is not None,
        sum_errors=_sum_errors(row, runs),
        share_error=_share_error(row, runs),
    )


def _relative(difference: float, published: float) -> float:
    return difference / published if published else math.nan


def _rates(row: Row) -> dict[str, list[int]]:
    """Return the places of a row's rates among its figures, by quantity."""
    places: dict[str, list[int]] = {}
    for place, figure in enumerate(row.figures):
        if figure.is_rate:
            places.setdefault(figure.quantity, []).append(place)
    return places


def _sum_errors(row: Row, runs: Sequence[tuple[float, ...]]) -> dict[str, float]:
    return {
        quantity: statistics.median(sum(run[place] for place in own) for run in runs) / row.sum_of(quantity) - 1
        for quantity, own in _rates(row).items()
    }


def _share_error(row: Row, runs: Sequence[tuple[float, ...]]) -> float | None:
    for quantity, own in _rates(row).items():
        if len(own) > 1:
            ours = statistics.median(run[own[0]] / sum(run[place] for place in own) for run in runs)
            return ours - row.figures[own[0]].published / row.sum_of(quantity)
    return None


def summarise(judged: Sequence[Judged]) -> list[Summary]:
    """Summarise, for each quantity, all rows, those of each queue, and those in which each sender takes part."""
    found = []
    for quantity in dict.fromkeys(value.figure.quantity for j in judged for value in j.values):
        own = [(j, [v for v in j.values if v.figure.quantity == quantity]) for j in judged]
        own = [(j, values) for j, values in own if values]
        groups = {("all", "all"): own}
        for queue in sorted({j.row.queue for j, _ in own}):
            groups["queue", queue] = [(j, values) for j, values in own if j.row.queue == queue]
        for cc in sorted({value.sender.cc for _, values in own for value in values}):
            picked = [(j, [value for value in values if value.sender.cc == cc]) for j, values in own]
            groups["sender", cc] = [(j, values) for j, values in picked if values]
        found += [_summary(quantity, by, group, members) for (by, group), members in groups.items()]
    return found


def _summary(quantity: str, by: str, group: str, members: Sequence[tuple[Judged, Sequence[Value]]]) -> Summary:
    agreed = [all(value.agrees for value in values) for _, values in members]
    # What was published as nothing has no relative error.
    entries = [(group, True, values[0].bias) for _, values in members if not math.isnan(values[0].bias)]
    nothing = dict.fromkeys(("median_bias", "median_abs_error", "p90_abs_error"), math.nan)
    found = json.loads(_core.summarise(entries))[0] if entries else nothing
    found |= {"group": group, "rows": len(agreed), "coverage": sum(agreed) / len(agreed)}
    errors = [j.sum_errors[quantity] for j, _ in members if quantity in j.sum_errors]
    close = sum(abs(error) <= CLOSE for error in errors) / len(errors) if errors else math.nan
    return Summary(quantity=quantity, by=by, sums_within_1_percent=close, **found)
