"""Two engines compared, cell by cell and metric by metric.

Both engines run the same scenarios with the same seeds, hence the same start times; both answer the same
metrics, computed by the same code. Each has a spread over its seeds. They agree where the spreads overlap, or
where the means differ by no more than the metric's tolerance; :data:`METRICS` states the tolerances, and
:data:`HEADLINES` those on which the verdict on the whole rests.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.core import describe
from sojourn.core.cells import Cell, group, paired
from sojourn.core.run import Run
from sojourn.core.spread import Spread
from sojourn.evidence.parity.engines import USUAL, Engines

ENOUGH: Final = 0.9
"""The share of cells in which a headline metric must agree."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What is compared."""

    key: str
    unit: str
    expression: str
    """``{flow}`` and ``{queue}`` stand for a flow's name and the bottleneck's path."""
    scale: float = 1.0
    absolute: float = 0.0
    """Means agree that differ by no more than this, in the metric's unit."""
    relative: float = 0.0
    """Means agree that differ by no more than this share of the second engine's."""
    several: bool = False
    """Whether it says something only of more flows than one."""

    @property
    def of_flow(self) -> bool:
        """Whether there is a value for each flow."""
        return "{flow}" in self.expression


METRICS: Final = (
    Metric("share", "", "share(goodput, {flow})", absolute=0.03, several=True),
    Metric("sum", "Mbit/s", "sum(goodput)", 1e-6, relative=0.01),
    Metric("rtt_mean", "ms", "mean(srtt, {flow})", 1e3, relative=0.05),
    Metric("rtt_p99", "ms", "p99(srtt, {flow})", 1e3, relative=0.1),
    Metric("queue_delay_mean", "ms", "mean(queue_delay, {queue})", 1e3, relative=0.15),
    Metric("queue_delay_p99", "ms", "p99(queue_delay, {queue})", 1e3, relative=0.15),
    Metric("ce_fraction", "%", "ce_fraction({flow})", 100, absolute=0.005, relative=0.15),
    Metric("drops", "packets", "drops({queue})", absolute=3, relative=0.15),
    Metric("retransmits", "packets", "retransmits({flow})", absolute=3, relative=0.15),
)
"""Every metric, in the order of the tables."""

HEADLINES: Final = ("share", "sum", "queue_delay_mean")
"""On these the verdict on the whole rests."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one cell, or of one flow of it."""

    metric: Metric
    flow: str
    """Empty for what is of the cell."""
    first: Spread
    second: Spread

    @property
    def difference(self) -> float:
        """The first engine's mean less the second's."""
        return self.first.mean - self.second.mean

    @property
    def relative(self) -> float:
        """The difference as a share of the second engine's mean."""
        return self.difference / abs(self.second.mean) if self.second.mean else math.nan

    @property
    def agrees(self) -> bool | None:
        """Whether the engines agree; None where neither has a value."""
        if math.isnan(self.first.mean) and math.isnan(self.second.mean):
            return None
        room = max(self.metric.absolute, self.metric.relative * abs(self.second.mean))
        return self.first.overlaps(self.second) or abs(self.difference) <= room

    @property
    def verdict(self) -> str:
        """``same`` if the spreads overlap, ``near`` if only the means are close, else ``differs``."""
        if self.agrees is None:
            return "none"
        if not self.agrees:
            return "differs"
        return "same" if self.first.overlaps(self.second) else "near"


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell on both engines."""

    experiment: str
    labels: tuple[tuple[str, str], ...]
    queue: str
    """The bottleneck's discipline in tc's words."""
    senders: str
    """The congestion controls, ``cubic-reno``."""
    seeds: tuple[int, int]
    comparisons: Sequence[Comparison]
    engines: Engines = USUAL

    @property
    def title(self) -> str:
        """Its labels."""
        return ", ".join(label for _, label in self.labels) or self.experiment


def both(first: Iterable[Run], second: Iterable[Run]) -> list[tuple[Cell, Cell]]:
    """Return every cell that both engines ran."""
    return paired(group(first), group(second))


def compare(cells: Iterable[tuple[Cell, Cell]], engines: Engines = USUAL) -> list[Pair]:
    """Compare two engines in each of these cells."""
    return [_pair(cell, other, engines) for cell, other in cells]


def _pair(cell: Cell, other: Cell, engines: Engines) -> Pair:
    scenario = cell.scenario
    bottleneck = describe.bottleneck(scenario)
    flows = [flow["name"] for flow in describe.loads(scenario)]
    asked = [
        (metric, flow)
        for metric in METRICS
        for flow in (flows if metric.of_flow else [""])
        if not (metric.several and (len(flows) < 2 or flow != flows[0]))  # noqa: PLR2004 - shares of two add up to one
        and not ("{queue}" in metric.expression and bottleneck is None)
    ]
    path = bottleneck[0] if bottleneck else ""
    expressions = [metric.expression.format(flow=flow, queue=path) for metric, flow in asked]
    tables = ("flows", "queues", "queue_signals", "events")
    ours = [run.measure(expressions, tables) for run in cell.runs]
    kernels = [run.measure(expressions, tables) for run in other.runs]
    comparisons = [
        Comparison(
            metric,
            flow,
            Spread.of([run[i] * metric.scale for run in ours]),
            Spread.of([run[i] * metric.scale for run in kernels]),
        )
        for i, (metric, flow) in enumerate(asked)
    ]
    senders = "-".join(describe.sender(flow) for flow in describe.loads(scenario))
    words = bottleneck[1]["qdisc"] if bottleneck else "none"
    return Pair(cell.experiment, cell.labels, words, senders, (len(cell.runs), len(other.runs)), comparisons, engines)


@dataclass(frozen=True, slots=True)
class Line:
    """How a metric went over a group of cells."""

    by: str
    """``all``, ``qdisc`` or ``cc``."""
    name: str
    metric: str
    count: int
    agree: int
    median_difference: float
    """Relative, but for shares."""
    worst: float
    """The largest difference, either way."""

    @property
    def share(self) -> float:
        """The share that agrees."""
        return self.agree / self.count if self.count else math.nan


def summary(pairs: Sequence[Pair]) -> list[Line]:
    """Return every metric over all cells, then by discipline and by senders."""
    groups: dict[tuple[str, str, str], list[Comparison]] = defaultdict(list)
    for pair in pairs:
        for c in pair.comparisons:
            if c.agrees is None:
                continue
            for by, name in (("all", "all"), ("qdisc", pair.queue.split(" limit ")[0]), ("cc", pair.senders)):
                groups[by, name, c.metric.key].append(c)
    order = {"all": 0, "qdisc": 1, "cc": 2}
    lines = []
    for (by, name, key), own in sorted(groups.items(), key=lambda item: order[item[0][0]]):
        off = [c.difference if key == "share" else c.relative for c in own]
        there = sorted((x for x in off if not math.isnan(x)), key=abs)
        middle = sorted(there)[len(there) // 2] if there else math.nan
        worst = there[-1] if there else math.nan
        lines.append(Line(by, name, key, len(own), sum(c.agrees is True for c in own), middle, worst))
    return lines


def holds(lines: Sequence[Line]) -> bool:
    """Whether every headline metric agrees in enough of all cells."""
    return all(line.share >= ENOUGH for line in lines if line.by == "all" and line.metric in HEADLINES)


def as_json(pairs: Sequence[Pair], lines: Sequence[Line]) -> Mapping[str, Any]:
    """Return everything, with keys that name their units."""
    return {
        "summary": [
            {
                "by": line.by,
                "group": line.name,
                "metric": line.metric,
                "cells": line.count,
                "agree": line.agree,
                "median_difference": line.median_difference,
                "worst_difference": line.worst,
            }
            for line in lines
        ],
        "cells": [
            {
                "experiment": pair.experiment,
                "cell": dict(pair.labels),
                "qdisc": pair.queue,
                "cc": pair.senders,
                "seeds": dict(zip(pair.engines.names, pair.seeds, strict=True)),
                "metric": c.metric.key,
                "unit": c.metric.unit,
                "flow": c.flow or None,
                pair.engines.first: {"mean": c.first.mean, "low": c.first.low, "high": c.first.high},
                pair.engines.second: {"mean": c.second.mean, "low": c.second.low, "high": c.second.high},
                "difference": c.difference,
                "relative": c.relative,
                "verdict": c.verdict,
            }
            for pair in pairs
            for c in pair.comparisons
        ],
    }


def markdown(pairs: Sequence[Pair], lines: Sequence[Line]) -> str:
    """Return the summary and every cell's headline metrics as Markdown tables."""
    text = ["| by | group | metric | agree | of | median difference | worst |", "|---|---|---|---:|---:|---:|---:|"]
    for line in lines:
        if line.by == "all" or line.metric in HEADLINES:
            off = [difference(line.metric, value) for value in (line.median_difference, line.worst)]
            text.append(
                f"| {line.by} | {line.name} | {line.metric} | {line.agree} | {line.count} | {off[0]} | {off[1]} |"
            )
    first, second = (pairs[0].engines if pairs else USUAL).heads
    text += [
        "",
        f"| cell | metric | {first} | range | {second} | range | verdict |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for pair in pairs:
        for c in pair.comparisons:
            if c.metric.key in HEADLINES or c.verdict == "differs":
                name = f"{c.metric.key} {c.flow}".strip() + (f", {c.metric.unit}" if c.metric.unit else "")
                ours, theirs = c.first, c.second
                text.append(
                    f"| {pair.title} | {name} | {ours.mean:.3f} | {ours.low:.3f}–{ours.high:.3f} "
                    f"| {theirs.mean:.3f} | {theirs.low:.3f}–{theirs.high:.3f} | {c.verdict} |"
                )
    return "\n".join(text) + "\n"


def difference(metric: str, value: float) -> str:
    """Return a difference as tables show it: of shares as it is, of others in percent; a dash for none."""
    if math.isnan(value):
        return "–"
    return f"{value:+.3f}" if metric == "share" else f"{100 * value:+.1f} %"
