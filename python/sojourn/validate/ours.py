"""Our runs, grouped by what a published row can be matched with."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import describe
from sojourn.run import Run
from sojourn.validate.published import Row, Sender


@dataclass(frozen=True, slots=True)
class Key:
    """What is compared of a run: everything that a published row states of it."""

    rate_mbit: float
    qdisc: tuple[str, ...]
    """tc's words."""
    senders: tuple[Sender, ...]

    @classmethod
    def of_row(cls, row: Row) -> "Key":
        """Return the key of a published row, its senders in a fixed order."""
        return cls(row.rate_mbit, tuple(row.qdisc.lower().split()), tuple(sorted(row.senders)))


@dataclass(frozen=True, slots=True)
class Cell:
    """Our runs of one cell."""

    runs: Sequence[Run]
    order: tuple[int, ...]
    """Which of a run's flows stands at each place of the row."""

    def rates_mbps(self, window_s: float) -> list[tuple[float, ...]]:
        """Return each run's mean delivery rates over the last ``window_s``, ending 1 s before the last sample."""
        return [self._rates_of(run, window_s) for run in self.runs]

    def _rates_of(self, run: Run, window_s: float) -> tuple[float, ...]:
        flows = [flow["name"] for flow in describe.loads(run.scenario)]
        asked = [f"delivery_rate({flows[index]}) over last {window_s:g}s before 1s" for index in self.order]
        return tuple(value / 1e6 for value in run.measure(asked, ("flows",)))


class Cells:
    """All cells of a results folder."""

    def __init__(self) -> None:
        self._runs: dict[tuple[Key, float], list[tuple[tuple[Sender, ...], Run]]] = defaultdict(list)

    def add(self, run: Run) -> None:
        """Add a run, unless it is of a kind that no row of one or two steady flows can be matched with."""
        found = _senders(run.scenario)
        queue = describe.bottleneck(run.scenario)
        rate = describe.rate_mbit(queue[1]) if queue else None
        if found is None or queue is None or rate is None:
            return
        key = Key(rate, tuple(queue[1]["qdisc"].lower().split()), tuple(sorted(found)))
        self._runs[key, describe.seconds(run.scenario)].append((found, run))

    def match(self, row: Row) -> Cell | None:
        """Return our runs of a published row; None if there are none."""
        key = Key.of_row(row)
        for (own, seconds), runs in self._runs.items():
            if own == key and (row.length_s is None or abs(seconds - row.length_s) < 1):
                # Which of two flows is named first is the file's business: the cell is the same.
                senders = runs[0][0]
                order = (0, 1) if len(senders) > 1 else (0,)
                if senders != row.senders:
                    order = order[::-1]
                return Cell([run for _, run in runs], order)
        return None


def _senders(scenario: describe.Scenario) -> tuple[Sender, ...] | None:
    """Return the senders of one or two unlimited TCP flows; None if the run is something else."""
    if scenario["events"] or not 1 <= len(describe.loads(scenario)) <= 2:  # noqa: PLR2004 - a row has two
        return None
    bleached: set[str] = set()
    for side in ("down", "up"):
        for _, element in describe.elements(scenario, side):
            if element["kind"] == "rewrite" and element["rule"] == "bleach_ecn":
                bleached |= _selected(element["select"], scenario)
            elif element["kind"] not in {"netem", "queue"}:
                return None
    senders = []
    for flow in describe.loads(scenario):
        traffic = flow["traffic"]
        limited = any(key in traffic for key in ("bytes", "pacing_cap", "app_rate"))
        if traffic["kind"] != "tcp" or limited or flow.get("stop", scenario["duration"]) != scenario["duration"]:
            return None
        senders.append(Sender(traffic["cc"], describe.base_rtt_ms(scenario, flow), bleached=flow["name"] in bleached))
    return tuple(senders)


def _selected(select: object, scenario: describe.Scenario) -> set[str]:
    """Return the names of the flows that a rewriter's selector is for."""
    match select:
        case "all":
            return {flow["name"] for flow in scenario["flows"]}
        case {"flows": [*names]}:
            return {str(name) for name in names}
        case {"dscp": dscp}:
            return {flow["name"] for flow in scenario["flows"] if flow["dscp"] == dscp}
        case _:
            return set()
