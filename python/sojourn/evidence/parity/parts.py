"""Parity by part: whether the queue or the senders make a difference between the kernel and Sojourn.

An experiment of this kind runs each cell three times, by its axis ``by``: with queue and hosts by the kernel, with our
queue round the kernel's hosts, and with our queue round our hosts. The first two differ in the queue alone, the last
two in the senders alone. Both differences have the interval and the margin of :mod:`.equivalence`, and their sum is
the difference of the whole.
"""

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sojourn.core.cells import Cell, group
from sojourn.core.run import Run
from sojourn.core.scenario import Labels
from sojourn.core.spread import Spread
from sojourn.errors import UsageError
from sojourn.evidence.parity.engines import Engines
from sojourn.evidence.parity.equivalence import EQUIVALENCE, Verdict
from sojourn.evidence.parity.pairs import HEADLINES, Comparison, Line, Pair, compare, difference, named, summary

AXIS: Final = "by"
"""The axis that says by whom a run's queue and hosts are."""

KERNEL, MIXED, SOJOURN = "kernel/kernel", "sojourn/kernel", "sojourn/sojourn"
"""Its labels: the queue's, then the hosts'."""
WAYS: Final = (KERNEL, MIXED, SOJOURN)


class Part(enum.StrEnum):
    """What two of the three ways differ in."""

    QUEUE = "queue"
    SENDERS = "senders"
    WHOLE = "whole"


_COMPARED: Final = {Part.QUEUE: (MIXED, KERNEL), Part.SENDERS: (SOJOURN, MIXED), Part.WHOLE: (SOJOURN, KERNEL)}
"""Differences are the first way's less the second's."""


class Maker(enum.StrEnum):
    """Which part makes a difference."""

    QUEUE = "queue"
    SENDERS = "senders"
    BOTH = "both"
    NEITHER = "neither"
    """Both parts are equivalent, and neither's difference is beyond chance."""
    NOT_DECIDED = "not decided"
    NONE = "none"
    """No run has a value."""


@dataclass(frozen=True, slots=True)
class Division:
    """One metric of one cell, divided."""

    queue: Comparison
    senders: Comparison
    whole: Comparison

    @property
    def ways(self) -> tuple[Spread, Spread, Spread]:
        """The values of :data:`WAYS`."""
        return self.queue.second, self.queue.first, self.senders.first

    @property
    def maker(self) -> Maker:
        """The part with a difference beyond chance, however small that is: the verdicts say whether it matters."""
        parts = (self.queue, self.senders)
        if all(part.verdict is Verdict.NONE for part in parts):
            return Maker.NONE
        # A part in which one way alone has a value differs, and no interval says so.
        queue, senders = (part.estimate.significant or part.verdict is Verdict.DIFFERENT for part in parts)
        if queue or senders:
            return Maker.BOTH if queue and senders else Maker.QUEUE if queue else Maker.SENDERS
        known = all(part.verdict in {Verdict.EQUIVALENT, Verdict.NONE} for part in parts)
        return Maker.NEITHER if known else Maker.NOT_DECIDED


@dataclass(frozen=True, slots=True)
class Divided:
    """A cell that ran in all three ways."""

    queue: Pair
    senders: Pair
    whole: Pair

    @property
    def title(self) -> str:
        """Its labels without the way."""
        return self.queue.title

    @property
    def divisions(self) -> list[Division]:
        """Every metric."""
        parts = (self.queue.comparisons, self.senders.comparisons, self.whole.comparisons)
        return [Division(*three) for three in zip(*parts, strict=True)]


def divide(runs: Iterable[Run]) -> list[Divided]:
    """Return every cell of these runs that ran in all three ways.

    Raises:
        UsageError: if there is none.
    """
    places: dict[tuple[str, Labels], dict[str, Cell]] = {}
    ways: dict[str, None] = {}
    for cell in group(runs):
        way = dict(cell.labels).get(AXIS, "")
        ways[way] = None
        places.setdefault((cell.experiment, _rest(cell.labels)), {})[way] = cell
    found = [_divided(labels, own) for (_, labels), own in places.items() if own.keys() >= set(WAYS)]
    if not found:
        there = ", ".join(way for way in ways if way) or "no such axis"
        raise UsageError(
            f'no cell has runs with queue and hosts by each of {", ".join(WAYS)}: the axis "{AXIS}" has {there}',
            help=f"run parity/queues-by with all three labels, or give your experiment an [axis.{AXIS}] with them",
        )
    return found


def _rest(labels: Labels) -> Labels:
    return tuple((axis, label) for axis, label in labels if axis != AXIS)


def _divided(labels: Labels, ways: Mapping[str, Cell]) -> Divided:
    def part(which: Part) -> Pair:
        first, second = _COMPARED[which]
        (pair,) = compare([(ways[first], ways[second])], Engines(first, second))
        return replace(pair, labels=labels)

    return Divided(part(Part.QUEUE), part(Part.SENDERS), part(Part.WHOLE))


def lines_of(cells: Sequence[Divided]) -> dict[Part, list[Line]]:
    """Return for each part every metric over all cells, then by discipline."""
    pairs = {
        Part.QUEUE: [cell.queue for cell in cells],
        Part.SENDERS: [cell.senders for cell in cells],
        Part.WHOLE: [cell.whole for cell in cells],
    }
    return {part: summary(own) for part, own in pairs.items()}


DIVIDED: Final = ("cell", "metric", *WAYS, "by the queue", "verdict", "by the senders", "verdict", "made by")
"""Headings of :func:`divided_rows`."""


def divided_rows(cells: Sequence[Divided], *, headlines: bool = False) -> list[tuple[str, ...]]:
    """Return the table of :data:`DIVIDED`: all metrics, or the headlines and what a part changes beyond chance."""
    found = []
    for cell in cells:
        for division in cell.divisions:
            maker = division.maker
            shown = maker in {Maker.QUEUE, Maker.SENDERS, Maker.BOTH} or division.queue.metric.key in HEADLINES
            if maker is Maker.NONE or (headlines and not shown):
                continue
            ways = (f"{own.mean:.3f} ({own.low:.3f}–{own.high:.3f})" for own in division.ways)
            parts = (text for part in (division.queue, division.senders) for text in _shown(part))
            found.append((cell.title, named(division.queue), *ways, *parts, maker.value))
    return found


def _shown(part: Comparison) -> tuple[str, str]:
    low, high = part.estimate.interval(EQUIVALENCE)
    scale = 1.0 if part.metric.several else abs(part.second.mean)
    if not scale or math.isnan(low):
        return f"{part.difference:+.3f}", part.verdict.value
    shown = (difference(part.metric.key, value) for value in (part.shown, low / scale, high / scale))
    mean, least, most = shown
    return f"{mean} ({least} to {most})", part.verdict.value


def divided_markdown(cells: Sequence[Divided]) -> str:
    """Return the headline metrics and what a part changes beyond chance, as a Markdown table."""
    table = [DIVIDED, ["---"] * len(DIVIDED), *divided_rows(cells, headlines=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in table) + "\n"


def divided_json(cells: Sequence[Divided]) -> list[Mapping[str, Any]]:
    """Return every metric of every cell, with keys that name their units."""
    found: list[Mapping[str, Any]] = []
    for cell in cells:
        for division in cell.divisions:
            metric = division.queue.metric
            parts = {Part.QUEUE: division.queue, Part.SENDERS: division.senders, Part.WHOLE: division.whole}
            found.append(
                {
                    "experiment": cell.queue.experiment,
                    "cell": dict(cell.queue.labels),
                    "qdisc": cell.queue.queue,
                    "seeds": cell.queue.seeds[0],
                    "metric": metric.key,
                    "unit": metric.unit,
                    "flow": division.queue.flow or None,
                    "ways": {
                        way: {"mean": own.mean, "low": own.low, "high": own.high}
                        for way, own in zip(WAYS, division.ways, strict=True)
                    },
                    **{
                        part.value: {
                            "difference": c.difference,
                            "interval": c.estimate.interval(EQUIVALENCE),
                            "margin": c.margin,
                            "significant": c.estimate.significant,
                            "verdict": c.verdict.value,
                        }
                        for part, c in parts.items()
                    },
                    "made_by": division.maker.value,
                }
            )
    return found
