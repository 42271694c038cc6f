"""A run from a measuring tool's output: flows with their samples, on an unknown path.

The output of iperf3, ``ss``, irtt and Mahimahi says nothing of the bottleneck. So the scenario has a hop without a
queue or a delay, unless the tool was the hop itself; values that a tool cannot know are not made up, and named in
``scenario.json``.

The tool's host is the client, as Flent's is: the data that it sends goes up.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from sojourn.errors import DataFileError, UsageError
from sojourn.interop import blank
from sojourn.interop.flent.grid import on_steps
from sojourn.interop.frames import COLUMNS, frames
from sojourn.interop.incoming import UNKNOWN, Incoming
from sojourn.interop.packed import read_file, unpacked

MOST_BYTES: Final = 1 << 28
"""Of a file, packed or not."""

_TOO_LARGE: Final = "no measurement that Sojourn can hold is so long: cut it into parts"


@dataclass
class Flow:
    """A stream that a tool measured."""

    name: str
    kind: blank.Kind
    direction: Literal["up", "down"]
    cc: str = UNKNOWN
    """Of TCP."""
    samples: list[dict[str, Any]] = field(default_factory=list)
    """``t`` in s, ``val`` in bit/s since the one before, ``dur`` of the first in s; and columns of `flows`."""
    pings: list[dict[str, Any]] = field(default_factory=list)
    """Rows of `pings` without the flow."""


@dataclass
class Measurement:
    """The content of a file."""

    tool: str
    """The name of the run's engine."""
    version: str
    flows: Sequence[Flow]
    step_us: int
    """How far apart its samples are, µs."""
    name: str
    """Of the experiment."""
    about: Mapping[str, Any]
    left_out: Sequence[str] = ()
    rate: int | None = None
    """Of the hop, bit/s, where the tool was the hop."""
    queues: Sequence[Mapping[str, Any]] = ()
    """Rows of `queues`, where it was."""


def content_of(path: Path, kind: str) -> tuple[bytes, str]:
    """Return the unpacked content of a file, and the SHA-256 of its bytes as stored.

    Raises:
        DataFileError: if it cannot be read, is too large, or cannot be unpacked.
    """
    packed = read_file(path, MOST_BYTES, kind=kind, too_large=_TOO_LARGE)
    content, _ = unpacked(path, packed, MOST_BYTES, too_large=_TOO_LARGE)
    return content, hashlib.sha256(packed).hexdigest()


def as_incoming(path: Path, digest: str, read: Measurement) -> Incoming:
    """Return a measurement as the input of a run in a results folder.

    Raises:
        DataFileError: if its samples are too many.
    """
    try:
        rows = {flow.name: on_steps(flow.samples, read.step_us) for flow in read.flows if flow.samples}
    except UsageError as error:
        raise DataFileError(path, error.message) from error
    ends = [row["t"] for own in rows.values() for row in own[-1:]]
    ends += [ping["t_s"] for flow in read.flows for ping in flow.pings[-1:]]
    ends += [row["t_s"] for row in read.queues[-1:]]
    duration = max(ends, default=0.0)
    if not 0 < duration < _LONGEST:
        raise DataFileError(path, "it has no samples", help="measure for longer than one interval")
    columns, missing = _flow_rows(read.flows, rows)
    return Incoming(
        path=path,
        digest=digest,
        engine=read.tool,
        version=read.version,
        scenario=_scenario(path, read, duration),
        measured=["duration", "source", "start", "direction", "sample_interval"],
        about=read.about,
        tables=lambda _: (_tables(read, columns), missing),
        left_out=read.left_out,
    )


_LONGEST: Final = 1e6


def _scenario(path: Path, read: Measurement, duration: float) -> dict[str, Any]:
    scenario = blank.scenario()
    made = []
    for flow in read.flows:
        begins = min(
            [s["t"] - s.get("dur", 0.0) for s in flow.samples[:1]] + [p["t_s"] for p in flow.pings[:1]] or [0.0]
        )
        own = blank.flow(flow.kind, name=flow.name, direction=flow.direction, start_us=begins * 1e6)
        if flow.kind == "tcp":
            own["traffic"]["cc"] = flow.cc
        made.append(own)
    hop = scenario["hops"][0]
    for side in ("down", "up"):
        is_it = read.rate is not None and any(str(row["queue"]) == f"path.{side}.qdisc" for row in read.queues)
        queue = [e | {"rate": f"{read.rate}bit", "qdisc": UNKNOWN} for e in hop[side] if e["kind"] == "queue"]
        hop[side] = queue if is_it else []
    return scenario | {
        "experiment": blank.name_of(read.name, read.tool),
        "source": f"{path.name}, {read.tool} {read.version}".strip(),
        "cell": [["file", path.name]],
        "sample_interval": f"{read.step_us}us",
        "duration": f"{max(1, math.ceil(duration * 1e3))}ms",
        "flows": made,
    }


def _flow_rows(
    flows: Sequence[Flow], stepped: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of `flows`, and the columns that no flow has anything for."""
    made: list[dict[str, Any]] = []
    found = {"t_s", "flow"}
    for flow in flows:
        counters: dict[str, int] = {}
        for row in stepped.get(flow.name, ()):
            own: dict[str, Any] = {"t_s": row["t"], "flow": flow.name}
            values = {"goodput_bps": row.get("val"), **{k: row[k] for k in row if k in COLUMNS["flows"]}}
            for column, value in values.items():
                if value is None:
                    continue
                found.add(column)
                if COLUMNS["flows"][column] == "u64":
                    counters[column] = own[column] = max(0, round(value))
                else:
                    own[column] = value
            made.append(counters | own)
    return sorted(made, key=lambda row: row["t_s"]), [c for c in COLUMNS["flows"] if made and c not in found]


def _tables(read: Measurement, rows: Sequence[Mapping[str, Any]]) -> dict[str, pl.DataFrame]:
    pings = sorted(
        ({"flow": flow.name, **ping} for flow in read.flows for ping in flow.pings), key=lambda row: row["t_s"]
    )
    happened: list[dict[str, Any]] = []
    for flow in read.flows:
        times = [row["t_s"] for row in (*rows, *pings) if row["flow"] == flow.name]
        happened += [
            {"t_s": at, "what": what, "subject": f"flow {flow.name}", "detail": ""}
            for what, at in (("start", min(times, default=0.0)), ("end", max(times, default=0.0)))
        ]
    return frames(
        {
            "flows": rows,
            "pings": pings,
            "events": sorted(happened, key=lambda row: float(row["t_s"])),
            "queues": read.queues,
        }
    )


def number(value: object, *, least: float = 0.0) -> float | None:
    """Return a number of JSON that is finite and at least this; None if it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > _LARGEST:
        return None
    return float(value) if value >= least else None


_LARGEST: Final = 1e18
"""Of a measured number; NaN is not within it either."""
