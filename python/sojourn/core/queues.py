"""Which queues matter in runs, and what each is called: by what it is, in both directions.

A queue matters if at least :data:`SHARE` of the packets that came to it waited for more than a millisecond, were
dropped or were marked. Where none does, the bottleneck stands for the path.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.core.run import Run, queue_facts
from sojourn.core.scenario import QUEUES, Scenario

SHARE: Final = 0.001
"""Of the packets that came to a queue, from which on what became of them matters."""

WAYS: Final = {"down": "download", "up": "upload"}
"""What a direction is called, by the side of a hop."""

SIDES: Final = {way: side for side, way in WAYS.items()}
"""The side of a hop, by what its direction is called."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of a path."""

    path: str
    """``bottleneck.down.qdisc``: as metrics name it."""
    hop: str
    way: str
    """``download`` or ``upload``: the data that passes it."""
    words: str
    """The discipline in tc's words; of a radio its kind."""

    @classmethod
    def of(cls, path: str, element: Mapping[str, Any]) -> "Queue":
        """Return the queue of this element."""
        hop, side, _ = path.split(".", 2)
        return cls(path, hop, WAYS[side], str(element.get("qdisc") or element["kind"].replace("_", " ")))

    def named(self, among: Iterable["Queue"]) -> str:
        """Return its name others these: the direction, with the hop where there are several, else its path.

        >>> down, up = Queue("a.down.qdisc", "a", "download", "pie"), Queue("a.up.qdisc", "a", "upload", "pie")
        >>> radio = Queue("b.up.link", "b", "upload", "wifi")
        >>> police = Queue("a.down.x", "a", "download", "fq")
        >>> down.named([down, up]), radio.named([down, radio]), down.named([down, police])
        ('download', 'b upload', 'a.down.qdisc')
        """
        others = [queue for queue in among if queue.path != self.path]
        if any((queue.hop, queue.way) == (self.hop, self.way) for queue in others):
            return self.path
        return f"{self.hop} {self.way}" if any(queue.hop != self.hop for queue in others) else self.way


def on_path(scenario: Scenario) -> list[Queue]:
    """Return every queue of a run, as downloads pass them, then as uploads do."""
    return [
        Queue.of(path, element)
        for side in WAYS
        for path, element in scenario.elements(side)
        if element["kind"] in QUEUES
    ]


def bottleneck(scenario: Scenario) -> Queue | None:
    """Return the bottleneck, by the rule of :attr:`.Scenario.bottleneck`; None if there is no queue."""
    found = scenario.bottleneck
    return Queue.of(*found) if found else None


def candidates(scenario: Scenario) -> list[Queue]:
    """Return the queues that data passes: results say which of them they are of, if there are several."""
    ways = {WAYS[str(flow["direction"])] for flow in scenario.loads}
    return [queue for queue in on_path(scenario) if queue.way in ways]


def names(scenario: Scenario, of: Sequence[Queue]) -> list[str]:
    """Return the name of each of these queues of a run; empty names if the run has a single queue to show."""
    others = [*of, *candidates(scenario)]
    plain = len({queue.path for queue in others}) <= 1
    return ["" if plain else queue.named(others) for queue in of]


def that_matter(runs: Sequence[Run]) -> list[Queue]:
    """Return the queues that matter in these runs together: the one that packets wait longest in, then along the path.

    Args:
        runs: of one cell, or of all cells of one table.
    """
    known: dict[str, Queue] = {}
    usual: dict[str, Queue] = {}
    last: Run | None = None
    for run in runs:
        if last is None or not run.key.resolved.shares_cell(last.key.resolved):
            known = {queue.path: queue for queue in on_path(run.scenario)} | known
            main = bottleneck(run.scenario)
            if main is not None:
                usual.setdefault(main.path, main)
        last = run
    seen = {path: _Seen(*facts) for path, facts in queue_facts(runs)}
    found = [queue for queue in known.values() if queue.path in seen and seen[queue.path].matters]
    if not found:
        return list(usual.values())
    worst = max(found, key=lambda queue: seen[queue.path].mean_s)
    return [worst, *(queue for queue in found if queue is not worst)]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What became of the packets that came to a queue."""

    came: float
    signalled: float
    """Dropped or marked."""
    left: float
    waited: float
    """Of those that left, for more than a millisecond."""
    total_s: float
    """Time that those that left were in it, together."""

    @property
    def matters(self) -> bool:
        return 0 < self.signalled >= SHARE * self.came or 0 < self.waited >= SHARE * self.left

    @property
    def mean_s(self) -> float:
        return self.total_s / self.left if self.left else 0.0
