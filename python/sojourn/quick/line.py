"""The line between a program's two hosts, as an experiment before the run and after it."""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from sojourn.core.scenario import Scenario
from sojourn.experiments import document
from sojourn.quick.asked import HOP

_INTERVAL: Final = "100ms"
"""Between two rows of the tables."""


class Way(ABC):
    """The line between the two hosts. All values are the user's text; Sojourn checks them like those of a file."""

    name: ClassVar[str] = "shell"
    """The experiment's name."""
    longest: str
    """When the run ends at the latest."""

    @abstractmethod
    def hops(self) -> list[dict[str, object]]:
        """Return the tables of the hops, in the order in which packets to the client pass them."""

    @abstractmethod
    def command(self, program: Sequence[str]) -> str:
        """Return the command that runs a program on it."""

    def toml(self) -> str:
        """Return its experiment, with a flow that gives way to those of the program."""
        return self._experiment(self.longest, [{"name": "program", "cc": "cubic"}])

    def of_run(self, scenario: Scenario, changes: Sequence[tuple[float, str]]) -> str:
        """Return an experiment like the run: each flow sends as much at the same time, under the same changes.

        Args:
            scenario: the run's.
            changes: the changes of the path, as the table ``events`` has them: time (s), and action in words.
        """
        # A connection that was refused has sent nothing.
        sent = [flow for flow in scenario["flows"] if flow["traffic"].get("bytes", 2) > 1]
        flows = [_flow(flow) for flow in sent or scenario["flows"][:1]]
        events = [
            {"name": f"change-{number}", "at": f"{at * 1e3:.0f}ms", "hop": HOP, **action}
            for number, (at, action) in enumerate(_events(changes), 1)
        ]
        return self._experiment(str(scenario["duration"]), flows, events)

    def _experiment(
        self, duration: str, flows: Sequence[Mapping[str, object]], events: Sequence[Mapping[str, object]] = ()
    ) -> str:
        return document.toml(
            name=self.name,
            duration=duration,
            warmup="0s",
            sample_interval=_INTERVAL,
            ping=False,
            hop=self.hops(),
            flow=list(flows),
            event=list(events) or None,
        )


@dataclass(frozen=True, slots=True)
class Line(Way):
    """A bottleneck with a base RTT."""

    rate: str
    rtt: str
    qdisc: str
    up: str | None = None
    """The rate of the way up; the same as down if None."""
    up_qdisc: str | None = None
    """The queue of the way up; the same as down if None."""
    longest: str = "21600s"

    def hops(self) -> list[dict[str, object]]:
        """Return the bottleneck."""
        down = {"rate": self.rate, "qdisc": self.qdisc}
        up = {"rate": self.up or self.rate, "qdisc": self.up_qdisc or self.qdisc}
        return [{"name": HOP, "down": down, "up": up, "rtt": self.rtt}]

    @property
    def words(self) -> list[str]:
        """The options that ask for it."""
        words = ["--rate", self.rate]
        words += ["--up", self.up] if self.up is not None else []
        words += ["--rtt", self.rtt, "--qdisc", self.qdisc]
        words += ["--up-qdisc", self.up_qdisc] if self.up_qdisc is not None else []
        return words

    def command(self, program: Sequence[str]) -> str:
        """Return the command that runs a program on it."""
        return shlex.join(["sojourn", "shell", *self.words, "--", *program])


def _flow(flow: Mapping[str, Any]) -> dict[str, object]:
    """Return the table of a flow that was seen."""
    traffic = dict(flow["traffic"])
    kind = traffic.pop("kind")
    table: dict[str, object] = {"name": flow["name"], "direction": flow["direction"], "start": flow["start"]["at"]}
    if "stop" in flow:
        table["stop"] = flow["stop"]
    if kind == "tcp":
        table |= {"cc": traffic["cc"], "ecn": traffic["ecn"]}
        table |= {"bytes": f"{traffic['bytes']}b"} if "bytes" in traffic else {}
    elif kind == "udp":
        table["udp"] = {"rate": traffic["rate"], "payload": traffic["payload"]}
    else:
        table["ping"] = {"interval": traffic["interval"]}
    return table


_CHANGE: Final = re.compile(rf"{HOP}\.(?P<side>down|up)\.\w+: (?P<what>rate|replace|delay) (?P<value>.+)")


def _events(changes: Sequence[tuple[float, str]]) -> Iterator[tuple[float, dict[str, object]]]:
    """Yield the settings of an event for each change; a new delay on both sides is one new RTT."""
    for at, detail in changes:
        found = _CHANGE.fullmatch(detail)
        if found is None:
            continue
        side, what, value = found["side"], found["what"], found["value"]
        if what != "delay":
            yield at, {"side": side, what: value}
        elif side == "down":
            yield at, {"rtt": _twice(value)}


def _twice(span: str) -> str:
    """Return twice a time.

    >>> _twice("7.5ms"), _twice("1s")
    ('15ms', '2s')
    """
    found = re.fullmatch(r"([0-9.]+)([a-z]+)", span)
    return f"{2 * float(found[1]):g}{found[2]}" if found else span
