"""Logs of Mahimahi's ``mm-link --uplink-log`` and ``--downlink-log``: the link is the bottleneck, its queue is seen.

Lines are ``TIME SIGN REST``, times in ms: ``#`` an opportunity with its bytes, ``+`` an arriving packet, ``-`` a
leaving one with its delay, ``d`` a drop with its packets and bytes. Lines that begin with ``#`` have the trace, the
command, the queue, and the time that the others begin at. The log does not distinguish flows: all packets that left
are one flow.
"""

import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final, Literal

from sojourn.errors import DataFileError
from sojourn.interop.incoming import UNKNOWN, Incoming
from sojourn.interop.measured_by import Flow, Measurement, as_incoming, content_of

_KIND: Final = "what mm-link's --uplink-log or --downlink-log writes"
_HEAD: Final = re.compile(
    r"^# (mahimahi mm-link \((\w+)\).*|command line: .*|queue: .*|init timestamp: \d{1,18}|base timestamp: \d{1,18})$"
)
_STEP_MS: Final = 50
_MOST_MS: Final = 100_000_000


def takes(content: bytes) -> bool:
    """Return whether a file's beginning looks like Mahimahi's."""
    return content.startswith(b"# mahimahi")


def incoming(path: Path) -> Incoming:
    """Read a log of mm-link's.

    Raises:
        DataFileError: if it is none, or a line of it is none, with its number.
    """
    content, digest = content_of(path, _KIND)
    about, way, steps = _read(path, content.decode(errors="replace"))
    if not steps:
        raise DataFileError(path, "it has no packets", help=f"give {_KIND}")
    direction: Literal["up", "down"] = "down" if way == "downlink" else "up"
    last = max(steps)
    flow = Flow("link", "udp", direction)
    rows: list[dict[str, Any]] = []
    held_packets = held_bytes = sent_packets = sent_bytes = drops = 0
    for index in range(last + 1):
        step = steps.get(index) or _Step()
        held_packets = max(0, held_packets + step.came - step.left - step.dropped)
        held_bytes = max(0, held_bytes + step.came_bytes - step.left_bytes - step.dropped_bytes)
        sent_packets += step.left
        sent_bytes += step.left_bytes
        drops += step.dropped
        t = (index + 1) * _STEP_MS / 1e3
        flow.samples.append({"t": t, "dur": _STEP_MS / 1e3, "val": step.left_bytes * 8e3 / _STEP_MS})
        row: dict[str, Any] = {
            "t_s": t,
            "queue": f"path.{direction}.qdisc",
            "packets": held_packets,
            "bytes": held_bytes,
        }
        if step.left:
            waits = {"min": step.least, "mean": step.waited / step.left, "max": step.most}
            row |= {f"sojourn_{name}_s": wait / 1e3 for name, wait in waits.items()}
        rows.append(row | {"sent_packets": sent_packets, "sent_bytes": sent_bytes, "drops": drops, "marks": 0})
    offered = sum(step.offered for step in steps.values())
    capacity = offered * 8e3 / ((last + 1) * _STEP_MS)
    return as_incoming(
        path,
        digest,
        Measurement(
            tool="mahimahi",
            version=UNKNOWN,
            flows=[flow],
            step_us=_STEP_MS * 1000,
            name="mahimahi",
            about={**about, "capacity_bps": capacity, "rate_is": "the mean of all opportunities"},
            rate=max(1000, round(capacity)),
            queues=rows,
        ),
    )


def _read(path: Path, text: str) -> tuple[dict[str, str], str, "dict[int, _Step]"]:
    """Return a log's header, its direction, and its events by step."""
    about: dict[str, str] = {}
    way, base = "uplink", 0
    steps: dict[int, _Step] = defaultdict(_Step)
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# "):
            if found := _HEAD.match(line):
                key, _, value = ("mm-link", "", line[2:]) if found[2] else line[2:].partition(": ")
                about[key] = value
                way = found[2] or way
                base = int(value) if key == "base timestamp" else base
            continue
        if not _taken(line, base, steps):
            raise DataFileError(path, f"line {number}: {line[:60]!r} is not a line of mm-link", help=f"give {_KIND}")
    return about, way, steps


def _taken(line: str, base: int, steps: "dict[int, _Step]") -> bool:
    """Count a line; return whether it is one."""
    try:
        time, sign, *rest = line.split()
        values = [int(word) for word in rest]
        at = int(time) - base
    except ValueError:
        return False
    fits = 0 <= at <= _MOST_MS and all(0 <= value <= _MOST_MS for value in values)
    return fits and steps[at // _STEP_MS].take(sign, values)


class _Step:
    """What happened in one step."""

    def __init__(self) -> None:
        self.came = self.came_bytes = self.left = self.left_bytes = self.dropped = self.dropped_bytes = 0
        self.offered = self.waited = self.most = 0
        self.least = math.inf

    def take(self, sign: str, values: list[int]) -> bool:
        """Count a line; return whether it is one."""
        match sign, values:
            case "#", [size]:
                self.offered += size
            case "+", [size]:
                self.came += 1
                self.came_bytes += size
            case "-", [size, wait]:
                self.left += 1
                self.left_bytes += size
                self.waited += wait
                self.least, self.most = min(self.least, wait), max(self.most, wait)
            case "d", [packets, size]:
                self.dropped += packets
                self.dropped_bytes += size
            case _:
                return False
        return True
