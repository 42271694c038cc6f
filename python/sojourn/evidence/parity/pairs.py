"""Two engines compared, cell by cell and metric by metric.

Both engines run the same scenarios with the same seeds, hence the same start times; both answer the same
metrics, computed by the same code. Each has a value for each seed; :mod:`.equivalence` says what their difference
tells of the metric's margin. :data:`METRICS` states the margins, and :data:`HEADLINES` the metrics on which the
verdict on the whole rests.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sojourn.core.cells import Cell, group, paired
from sojourn.core.run import Run
from sojourn.core.spread import Spread
from sojourn.evidence.parity.engines import USUAL, Engines
from sojourn.evidence.parity.equivalence import DIFFERENCE, EQUIVALENCE, Estimate, Verdict, estimate, mean_of

ENOUGH: Final = 0.9
"""The share of the decided cells in which the engines must be equivalent in a headline metric."""

DECIDED: Final = 0.5
"""The share of the cells in which a headline metric must be decided."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What is compared."""

    key: str
    unit: str
    expression: str
    """``{flow}`` and ``{queue}`` stand for a flow's name and the bottleneck's path."""
    scale: float = 1.0
    absolute: float = 0.0
    """The margin of equivalence in the metric's unit; the larger of the two margins counts."""
    relative: float = 0.0
    """The margin of equivalence as a share of the second engine's mean."""
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
    Metric("queue_delay_mean", "ms", "mean(queue_delay, {queue})", 1e3, relative=0.1),
    Metric("queue_delay_p99", "ms", "p99(queue_delay, {queue})", 1e3, relative=0.1),
    Metric("ce_fraction", "%", "ce_fraction({flow})", 100, absolute=0.005, relative=0.1),
    Metric("drops", "packets", "drops({queue})", absolute=3, relative=0.15),
    Metric("retransmits", "packets", "retransmits({flow})", absolute=3, relative=0.15),
)
"""Every metric, in the order of the tables."""

HEADLINES: Final = ("share", "sum", "queue_delay_mean")
"""On these the verdict on the whole rests."""


@dataclass(frozen=True)
class Comparison:
    """One metric of one cell, or of one flow of it."""

    metric: Metric
    flow: str
    """Empty for what is of the cell."""
    ours: Mapping[int, float]
    """The first engine's values by seed; NaN where a run has none."""
    theirs: Mapping[int, float]
    """The second engine's."""
    paired: bool = True
    """Whether one seed means the same to both engines."""

    @cached_property
    def first(self) -> Spread:
        """The first engine's mean, least and greatest."""
        return Spread.of(list(self.ours.values()))

    @cached_property
    def second(self) -> Spread:
        """The second engine's."""
        return Spread.of(list(self.theirs.values()))

    @cached_property
    def estimate(self) -> Estimate:
        """The difference of the means, the first less the second."""
        return estimate(_there(self.ours), _there(self.theirs), paired=self.paired)

    @property
    def difference(self) -> float:
        """The first engine's mean less the second's."""
        return self.first.mean - self.second.mean

    @property
    def relative(self) -> float:
        """The difference as a share of the second engine's mean."""
        return self.difference / abs(self.second.mean) if self.second.mean else math.nan

    @property
    def shown(self) -> float:
        """The difference as tables have it: of shares as it is, of others as a share of the second engine's mean."""
        return self.difference if self.metric.several else self.relative

    @property
    def margin(self) -> float:
        """The margin of equivalence, in the metric's unit."""
        return max(self.metric.absolute, self.metric.relative * abs(self.second.mean))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the engines do the same. What one of them alone has differs."""
        if not self.first.seeds or not self.second.seeds:
            return Verdict.DIFFERENT if self.first.seeds or self.second.seeds else Verdict.NONE
        return self.estimate.verdict(self.margin)


def _there(values: Mapping[int, float]) -> dict[int, float]:
    return {seed: value for seed, value in values.items() if not math.isnan(value)}


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
    """Return every cell that both engines ran. Runs that are not valid do not count."""
    ours, theirs = (group(run for run in runs if run.valid) for runs in (first, second))
    return paired(ours, theirs)


def compare(
    cells: Iterable[tuple[Cell, Cell]], engines: Engines = USUAL, metrics: Sequence[Metric] = METRICS
) -> list[Pair]:
    """Compare two engines in each of these cells."""
    return [_pair(cell, other, engines, metrics) for cell, other in cells]


def _pair(cell: Cell, other: Cell, engines: Engines, metrics: Sequence[Metric]) -> Pair:
    scenario = cell.scenario
    bottleneck = scenario.bottleneck
    flows = [flow["name"] for flow in scenario.loads]
    asked = [
        (metric, flow)
        for metric in metrics
        for flow in (flows if metric.of_flow else [""])
        if not (metric.several and (len(flows) < 2 or flow != flows[0]))  # noqa: PLR2004 - shares of two add up to one
        and not ("{queue}" in metric.expression and bottleneck is None)
    ]
    path = bottleneck[0] if bottleneck else ""
    expressions = [metric.expression.format(flow=flow, queue=path) for metric, flow in asked]
    ours, theirs = ({run.seed: run.measure(expressions) for run in own.runs} for own in (cell, other))

    def values(own: Mapping[int, Sequence[float]], place: int, metric: Metric) -> dict[int, float]:
        return {seed: run[place] * metric.scale for seed, run in own.items()}

    comparisons = [
        Comparison(metric, flow, values(ours, i, metric), values(theirs, i, metric), engines.paired)
        for i, (metric, flow) in enumerate(asked)
    ]
    senders = "-".join(flow.sender for flow in scenario.loads)
    words = bottleneck[1]["qdisc"] if bottleneck else "none"
    return Pair(cell.experiment, cell.labels, words, senders, (len(cell.runs), len(other.runs)), comparisons, engines)


@dataclass(frozen=True, slots=True)
class Line:
    """How a metric went over a group of cells. Differences are relative, but for shares."""

    by: str
    """``all``, ``qdisc`` or ``cc``."""
    name: str
    metric: str
    count: int
    """Cells; of a metric of each flow, flows."""
    equivalent: int
    different: int
    significant: int
    """The number with zero outside of the 95 % interval of the difference, however small it is: chance gives 5 %."""
    mean: float
    """The mean difference over the cells."""
    low: float
    """The 95 % interval of that mean, each cell being one value; NaN of fewer than two."""
    high: float
    median: float
    worst: float
    """The largest difference, either way."""

    @property
    def undecided(self) -> int:
        """In how many nothing is decided."""
        return self.count - self.equivalent - self.different

    @property
    def holds(self) -> bool:
        """Whether half of the cells are decided, and the engines equivalent in nine of ten of those."""
        decided = self.equivalent + self.different
        return decided >= DECIDED * self.count and self.equivalent >= ENOUGH * decided


def summary(pairs: Sequence[Pair]) -> list[Line]:
    """Return every metric over all cells, then by discipline and by senders."""
    groups: dict[tuple[str, str, str], list[Comparison]] = defaultdict(list)
    for pair in pairs:
        for c in pair.comparisons:
            if c.verdict is Verdict.NONE:
                continue
            for by, name in (("all", "all"), ("qdisc", pair.queue.split(" limit ")[0]), ("cc", pair.senders)):
                groups[by, name, c.metric.key].append(c)
    order = {"all": 0, "qdisc": 1, "cc": 2}
    ordered = sorted(groups.items(), key=lambda item: order[item[0][0]])
    return [_line(*place, own) for place, own in ordered]


def _line(by: str, name: str, metric: str, own: Sequence[Comparison]) -> Line:
    there = sorted(c.shown for c in own if not math.isnan(c.shown))
    whole = mean_of(there)
    low, high = whole.interval(DIFFERENCE)
    return Line(
        by=by,
        name=name,
        metric=metric,
        count=len(own),
        equivalent=sum(c.verdict is Verdict.EQUIVALENT for c in own),
        different=sum(c.verdict is Verdict.DIFFERENT for c in own),
        significant=sum(c.estimate.significant for c in own),
        mean=whole.difference,
        low=low,
        high=high,
        median=there[len(there) // 2] if there else math.nan,
        worst=max(there, key=abs, default=math.nan),
    )


def holds(lines: Sequence[Line]) -> bool:
    """Whether every headline metric holds over all cells. Nothing holds without a cell."""
    headlines = [line for line in lines if line.by == "all" and line.metric in HEADLINES]
    return bool(headlines) and all(line.holds for line in headlines)


def as_json(pairs: Sequence[Pair], lines: Sequence[Line]) -> Mapping[str, Any]:
    """Return everything, with keys that name their units."""
    return {
        "summary": [
            {
                "by": line.by,
                "group": line.name,
                "metric": line.metric,
                "cells": line.count,
                "equivalent": line.equivalent,
                "different": line.different,
                "not_decided": line.undecided,
                "significant": line.significant,
                "mean_difference": line.mean,
                "mean_difference_low": line.low,
                "mean_difference_high": line.high,
                "median_difference": line.median,
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
                "interval": c.estimate.interval(EQUIVALENCE),
                "margin": c.margin,
                "paired": c.estimate.paired,
                "relative": c.relative,
                "verdict": c.verdict.value,
            }
            for pair in pairs
            for c in pair.comparisons
        ],
    }


HEADINGS: Final = (
    "by",
    "group",
    "metric",
    "cells",
    "equivalent",
    "different",
    "not decided",
    "beyond chance",
    "mean difference",
    "its 95 % interval",
    "worst",
)
"""Of the table of lines, wherever it is shown."""


def cells_of(line: Line) -> tuple[str, ...]:
    """Return a line as the table of lines has it."""
    mean, worst = (difference(line.metric, x) for x in (line.mean, line.worst))
    counts = (line.count, line.equivalent, line.different, line.undecided, line.significant)
    return (line.by, line.name, line.metric, *map(str, counts), mean, interval(line), worst)


def interval(line: Line) -> str:
    """Return the interval of a line's mean as tables show it; a dash for none."""
    if math.isnan(line.low):
        return "–"
    return f"{difference(line.metric, line.low)} to {difference(line.metric, line.high)}"


def markdown(pairs: Sequence[Pair], lines: Sequence[Line]) -> str:
    """Return the summary, every cell's headline metrics and all that is different, as Markdown tables."""
    text = [_row(HEADINGS), _row(["---"] * 3 + ["---:"] * (len(HEADINGS) - 3))]
    text += [_row(cells_of(line)) for line in lines if line.by == "all" or line.metric in HEADLINES]
    first, second = (pairs[0].engines if pairs else USUAL).heads
    headings = ("cell", "metric", first, "range", second, "range", "difference, 90 %", "margin", "verdict")
    text += ["", _row(headings), _row(["---", "---", "---:", "---", "---:", "---", "---", "---:", "---"])]
    for pair in pairs:
        for c in pair.comparisons:
            if c.metric.key in HEADLINES or c.verdict is Verdict.DIFFERENT:
                ours, theirs = c.first, c.second
                low, high = c.estimate.interval(EQUIVALENCE)
                text.append(
                    _row(
                        (
                            pair.title,
                            named(c),
                            f"{ours.mean:.3f}",
                            f"{ours.low:.3f}–{ours.high:.3f}",
                            f"{theirs.mean:.3f}",
                            f"{theirs.low:.3f}–{theirs.high:.3f}",
                            "–" if math.isnan(low) else f"{low:+.3f} to {high:+.3f}",
                            f"± {c.margin:.3f}",
                            c.verdict,
                        )
                    )
                )
    return "\n".join(text) + "\n"


def named(c: Comparison) -> str:
    """Return what is compared: ``rtt_mean first, ms``."""
    return f"{c.metric.key} {c.flow}".strip() + (f", {c.metric.unit}" if c.metric.unit else "")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def difference(metric: str, value: float) -> str:
    """Return a difference as tables show it: of shares as it is, of others in percent; a dash for none."""
    if math.isnan(value):
        return "–"
    return f"{value:+.3f}" if metric == "share" else f"{100 * value:+.1f} %"
