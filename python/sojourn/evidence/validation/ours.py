"""Our runs, grouped by what a published row can be matched with."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn import _core
from sojourn.core.cells import distinguished
from sojourn.core.run import Run
from sojourn.core.scenario import Scenario, rate_mbit
from sojourn.errors import UsageError
from sojourn.evidence.validation.rows import Figure, Row, Sender

_MOST_FLOWS: Final = 4
"""Of a published row."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is compared of a run: everything that a published row states of it."""

    rate_mbit: float
    qdisc: tuple[str, ...]
    """tc's words."""
    senders: tuple[Sender, ...]
    """In a fixed order."""
    besides: tuple[str, ...]

    @classmethod
    def of_row(cls, row: Row) -> "Key":
        """Return the key of a published row."""
        return cls(row.rate_mbit, tuple(row.qdisc.lower().split()), tuple(sorted(row.senders)), row.besides)


@dataclass(frozen=True, slots=True)
class Cell:
    """Our runs of one cell, each with its flow for each place of the row."""

    runs: Sequence[tuple[Run, tuple[int, ...]]]

    def values(self, figures: Sequence[Figure]) -> list[tuple[float, ...]]:
        """Return ours of the figures, in their units: one tuple a run."""
        return [_measured(run, order, figures) for run, order in self.runs]

    def asked(self, figure: Figure) -> str:
        """Return the metric that a figure is compared with, as the first run calls things."""
        return _asked(*self.runs[0], [figure])[0]


def _asked(run: Run, order: tuple[int, ...], figures: Sequence[Figure]) -> list[str]:
    flows = [flow["name"] for flow in run.scenario.loads]
    queue = run.scenario.bottleneck
    named = {"first": flows[order[0]], **({"queue": queue[0]} if queue else {})}
    return [figure.ask.format(flow=flows[order[figure.flow]], **named) for figure in figures]


def _measured(run: Run, order: tuple[int, ...], figures: Sequence[Figure]) -> tuple[float, ...]:
    asked = _asked(run, order, figures)
    found = run.measure(asked)
    return tuple(value * figure.scale for value, figure in zip(found, figures, strict=True))


class Cells:
    """All cells of a results folder."""

    def __init__(self) -> None:
        self._runs: dict[tuple[Key, float], list[tuple[tuple[Sender, ...], Run]]] = defaultdict(list)

    def add(self, run: Run) -> None:
        """Add a run, unless it is of a kind that no row of a few endless flows can be matched with."""
        found = _senders(run.scenario)
        queue = run.scenario.bottleneck
        rate = rate_mbit(queue[1]) if queue else None
        if found is None or queue is None or rate is None:
            return
        words = tuple(queue[1]["qdisc"].lower().split())
        key = Key(rate, words, tuple(sorted(found)), besides(run.scenario))
        self._runs[key, run.scenario.seconds].append((found, run))

    def match(self, row: Row) -> Cell | None:
        """Return our runs of a published row; None if there are none.

        Raises:
            UsageError: if they are of several experiments of one name, or by several engines or builds.
        """
        key = Key.of_row(row)
        for (own, seconds), runs in self._runs.items():
            if own == key and (row.length_s is None or abs(seconds - row.length_s) < 1):
                _one_experiment(runs, row)
                return Cell([(run, _order(senders, row.senders)) for senders, run in runs])
        return None


def _one_experiment(runs: Sequence[tuple[tuple[Sender, ...], Run]], row: Row) -> None:
    """Make sure that no run differs from others of its name in more than its seed: a range over both says nothing.

    In which order a file names its flows is no such difference.
    """
    orders = dict.fromkeys(senders for senders, _ in runs)
    found = [variant for order in orders for variant in distinguished(run for senders, run in runs if senders == order)]
    engines = sorted({run.engine for _, run in runs})
    of = [
        f"{own[0].scenario.label.rpartition('#')[0]} with " + ", ".join(f"{a}={label}" for a, label in apart)
        for apart, own in found
        if apart
    ]
    if len(engines) > 1:
        of = [f"runs by {engine}" for engine in engines]
    if of:
        raise UsageError(
            f"several experiments are as like row {row.line} of {row.scenario}: {'; '.join(of)}",
            help="run each into a folder of its own, and validate that",
        )


def _order(ours: tuple[Sender, ...], row: tuple[Sender, ...]) -> tuple[int, ...]:
    """Return which of our flows is which of the row's: which one a file names first is its business."""
    left = list(range(len(ours)))
    order = []
    for sender in row:
        place = next(place for place in left if ours[place] == sender)
        left.remove(place)
        order.append(place)
    return tuple(order)


def besides(scenario: Scenario) -> tuple[str, ...]:
    """Return the elements on the way of data, and the events, besides one delay and one queue.

    In tc's words where they are tc's: ``netem delay 2ms 1ms 10%``, ``rate 40mbit``, ``replace pie noecn``,
    ``ect0_to_ect1 of 2`` (the second flow).
    """
    found: list[str] = []
    names = [flow["name"] for flow in scenario.loads]
    side = scenario.data_side
    for _, element in scenario.elements(side):
        if not element["enabled"] or element["kind"] == "queue":
            continue
        if element["kind"] == "netem":
            found += [f"netem {words}" for words in element["chain"][1:]]
        elif element["kind"] == "rewrite":
            # A bleached flow is a sender of its own kind.
            if element["rule"] != "bleach_ecn":
                to = f" {element['ecn']}" if "ecn" in element else ""
                places = sorted(names.index(name) + 1 for name in _selected(element["select"], scenario) & {*names})
                found.append(f"{element['rule']}{to} of {', '.join(str(place) for place in places)}")
        else:
            found.append(element["kind"])
    other = "up" if side == "down" else "down"
    for event in scenario["events"]:
        found += [_said(action) for action in event["actions"] if f".{other}." not in action.get("element", "")]
    return tuple(found)


def _said(action: Mapping[str, Any]) -> str:
    match action["do"]:
        case "rate":
            return f"rate {_core.parse_rate(action['rate']) / 1e6:g}mbit"
        case "replace_qdisc":
            return f"replace {action['qdisc']}"
        case other:
            return str(other)


def _senders(scenario: Scenario) -> tuple[Sender, ...] | None:
    """Return the senders of a few endless TCP flows; None if the run is something else."""
    if not 1 <= len(scenario.loads) <= _MOST_FLOWS:
        return None
    bleached: set[str] = set()
    for side in ("down", "up"):
        for _, element in scenario.elements(side):
            if element["enabled"] and element["kind"] == "rewrite" and element["rule"] == "bleach_ecn":
                bleached |= _selected(element["select"], scenario)
    senders = []
    for flow in scenario.loads:
        traffic = flow["traffic"]
        limited = any(traffic.get(key) for key in ("bytes", "app_rate", "ignore_ce"))
        start = flow["start"].get("at")
        if traffic["kind"] != "tcp" or limited or start is None:
            return None
        if flow.get("stop", scenario["duration"]) != scenario["duration"]:
            return None
        cap = traffic.get("max_pacing_rate")
        senders.append(
            Sender(
                traffic["cc"],
                flow.base_rtt_ms(jitter=False),
                bleached=flow["name"] in bleached,
                start_s=_core.parse_span(start),
                cap_mbps=_core.parse_rate(cap) / 1e6 if cap else 0.0,
                scaling=traffic.get("rtt_scaling") or "",
            )
        )
    return tuple(senders)


def _selected(select: object, scenario: Scenario) -> set[str]:
    """Return the names of the flows that a rewriter's selector is for."""
    match select:
        case "all":
            return {flow["name"] for flow in scenario.flows}
        case {"flows": [*names]}:
            return {str(name) for name in names}
        case {"dscp": dscp}:
            return {flow["name"] for flow in scenario.flows if flow["dscp"] == dscp}
        case _:
            return set()
