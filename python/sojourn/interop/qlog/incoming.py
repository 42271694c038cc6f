"""qlog files as runs: a trace is a flow, with the columns that the simulator's QUIC flows have.

A trace says nothing of the path and little of the experiment. So there are no queues and no delays in the scenario, the
congestion control is ``unknown``, and the implementation is the first word of the trace's title. The run names the
values that the file lacks, as for Flent's files.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn import _core
from sojourn.errors import DataFileError, SojournError
from sojourn.interop import blank
from sojourn.interop.frames import frames
from sojourn.interop.incoming import UNKNOWN, Incoming
from sojourn.interop.qlog.connection import Connection
from sojourn.interop.qlog.events import Reader
from sojourn.interop.qlog.records import QlogFile, Trace, read

ENGINE: Final = "qlog"
"""The engine's name in imported runs."""

MOST_ROWS: Final = 2_000_000
"""Of one flow."""

_STEPS_US: Final = (50_000, 20_000, 10_000, 5_000, 2_000, 1_000)
_ENOUGH: Final = 100
"""Steps that a short trace is to have."""

_COLUMNS: Final = (
    *("goodput_bps", "delivery_rate_bps", "rtt_s", "srtt_s", "rttvar_s", "cwnd", "ssthresh", "inflight"),
    *("retransmits", "lost", "delivered", "ce", "ece", "pacing_rate_bps", "state"),
)


@dataclass(frozen=True)
class _Own:
    """The flow of a file that Sojourn wrote."""

    flow: str
    direction: str
    traffic: Mapping[str, Any]
    step_us: int
    duration: str
    label: str


@dataclass(frozen=True)
class _Flow:
    """A trace as a flow: its rows, and its other data."""

    name: str
    trace: Trace
    connection: Connection
    rows: Sequence[Mapping[str, Any]]
    gauges: Sequence[Mapping[str, Any]]


def incoming(path: Path) -> Incoming:
    """Read a qlog file.

    Raises:
        DataFileError: if it is not qlog, or is damaged elsewhere than at its end.
    """
    file = read(path)
    own = _own(file)
    step_us = own.step_us if own else _step(file)
    names = [own.flow] if own else _names(file.traces)
    flows = [
        _added_up(file, trace, name, step_us, is_ours=own is not None)
        for trace, name in zip(file.traces, names, strict=True)
    ]
    if not any(flow.connection.used for flow in flows):
        raise DataFileError(
            path,
            "none of its events is about recovery or packets",
            help="log the events of QUIC, not of HTTP/3",
        )
    unused = sorted(
        {event.kind for flow in flows for event in flow.trace.events if event.kind not in flow.connection.used}
    )
    return Incoming(
        path=path,
        digest=file.digest,
        engine=ENGINE,
        version=_version(file),
        scenario=_scenario(file, flows, own, step_us),
        measured=["duration", "source", "start", "direction", "sample_interval"],
        about={
            "title": file.traces[0].title,
            "format": file.version,
            "traces": [
                {"flow": flow.name, "vantage_point": flow.trace.vantage, "connection": flow.trace.group}
                | {"goodput_at": flow.connection.goodput_at, "packet_bytes": flow.connection.packet}
                for flow in flows
            ],
            "events_passed_over": unused,
        },
        tables=lambda _: _tables(flows, step_us),
        left_out=file.left_out,
    )


def _version(file: QlogFile) -> str:
    return str(file.traces[0].common.get("sojourn", {}).get("version", UNKNOWN)) if _own(file) else file.version


def _own(file: QlogFile) -> _Own | None:
    """Return what Sojourn says of a file that it wrote."""
    own = file.traces[0].common.get("sojourn")
    if len(file.traces) != 1 or not isinstance(own, dict):
        return None
    texts = [own.get(key) for key in ("flow", "direction", "sample_interval", "duration", "label")]
    traffic = own.get("traffic")
    if not all(isinstance(text, str) and text for text in texts) or not isinstance(traffic, dict):
        return None
    flow, direction, step, duration, label = (str(text) for text in texts)
    try:
        step_us = round(_core.parse_span(step) * 1e6)
    except (ValueError, SojournError):
        return None
    return _Own(flow, direction, traffic, step_us, duration, label) if step_us > 0 else None


def _step(file: QlogFile) -> int:
    """Return the sample interval of a trace, µs: an experiment's usual one, less where few would be."""
    span = max(trace.events[-1].at for trace in file.traces) * 1e3
    return next((step for step in _STEPS_US if span >= _ENOUGH * step), _STEPS_US[-1])


def _names(traces: Sequence[Trace]) -> list[str]:
    """Return a name for each trace: its end of the connection, numbered where there are several."""
    points = [t.vantage if t.vantage in {"client", "server"} else "connection" for t in traces]
    return [p if points.count(p) == 1 else f"{p}-{points[: i + 1].count(p)}" for i, p in enumerate(points)]


def _added_up(file: QlogFile, trace: Trace, name: str, step_us: int, *, is_ours: bool) -> _Flow:
    connection = Connection(Reader(file.path, trace.microseconds))
    opens, closes = (round(trace.events[i].at * 1e3, 3) / step_us for i in (0, -1))
    # The first event opens the first step, unless it is a sample of ours, which is of a step's end.
    first = math.ceil(opens) - 1 if is_ours else math.floor(opens)
    last = max(first + 1, math.ceil(closes))
    if last - first > MOST_ROWS:
        raise DataFileError(
            file.path, f"{name}: it has more than {MOST_ROWS:,} steps of {step_us} µs from its first event to its last"
        )
    rows: list[dict[str, Any]] = []
    gauges: list[dict[str, Any]] = []
    at = 0
    for index in range(first + 1, last + 1):
        # What happens at the end of a step belongs to it.
        end = index * step_us / 1e3
        while at < len(trace.events) and round(trace.events[at].at, 6) <= end:
            connection.take(trace.events[at])
            at += 1
        t = index * step_us / 1e6
        rows.append(connection.row(t, step_us / 1e6) | {"flow": name})
        gauges += [{"t_s": t, "flow": name, "name": key, "value": v} for key, v in connection.gauges().items()]
    goodput = {"receiver": "received", "sender": "acknowledged", None: None}[connection.goodput_at]
    for row in rows:
        rates = {key: row.pop(key) for key in ("received", "acknowledged")}
        if not connection.sends:
            # Of what little this end sends: it would stand for the data's.
            row.pop("delivery_rate_bps", None)
            connection.found.discard("delivery_rate_bps")
        if goodput is not None:
            row.setdefault("goodput_bps", rates[goodput])
            connection.found.add("goodput_bps")
    return _Flow(name, trace, connection, rows, gauges)


def _scenario(file: QlogFile, flows: Sequence[_Flow], own: _Own | None, step_us: int) -> dict[str, Any]:
    scenario = blank.scenario()
    hop = scenario["hops"][0]
    for side in ("down", "up"):
        hop[side] = []
    made = []
    for flow in flows:
        one = blank.flow(
            # The traffic of QUIC is written below: it stands for any datagrams.
            "tcp" if own and own.traffic.get("kind") == "tcp" else "udp",
            name=flow.name,
            direction=own.direction if own else _direction(flow),
            start_us=flow.trace.events[0].at * 1e3,
        )
        if one["traffic"]["kind"] == "tcp":
            one["traffic"]["cc"] = str(own.traffic.get("cc", UNKNOWN)) if own else UNKNOWN
        else:
            one["traffic"] = _traffic(flow.trace, own)
        made.append(one)
    last = max(flow.trace.events[-1].at for flow in flows)
    stem = re.sub(r"\.s?qlog(\.\w+)?$", "", file.path.name, flags=re.IGNORECASE)
    return scenario | {
        "experiment": own.label if own else blank.name_of(file.traces[0].title, "qlog"),
        "source": f"{file.path.name}, qlog",
        "cell": [["file", stem]],
        "sample_interval": f"{step_us}us",
        "duration": own.duration if own else f"{max(1, math.ceil(last))}ms",
        "flows": made,
    }


def _traffic(trace: Trace, own: _Own | None) -> dict[str, Any]:
    words = re.findall(r"[a-z0-9._-]+", trace.program.lower())
    said = own.traffic if own else {"stack": words[0] if words else UNKNOWN, "cc": UNKNOWN}
    return {
        "kind": "quic",
        "stack": str(said.get("stack", UNKNOWN)),
        "cc": str(said.get("cc", UNKNOWN)),
        "crypto": "tls",
        "ecn": True,
        "streams": 1,
        "burst": 10,
    }


def _direction(flow: _Flow) -> str:
    """Return which way the data goes: down from the server, unless the trace says otherwise."""
    return (
        "up" if (flow.trace.vantage == "client") == flow.connection.sends and flow.trace.vantage != UNKNOWN else "down"
    )


def _tables(flows: Sequence[_Flow], step_us: int) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return the run's tables, and the columns of flows that the file has nothing for."""
    found = set[str]().union(*(flow.connection.found for flow in flows))
    rows = [row for flow in flows for row in flow.rows]
    gauges = [row for flow in flows for row in flow.gauges]
    happened = [event for flow in flows for event in _happened(flow, step_us)]
    totals = [
        {"subject": flow.name, "name": name, "value": value}
        for flow in flows
        for name, value in flow.connection.totals().items()
    ]
    filled: dict[str, Sequence[Mapping[str, Any]]] = {
        "flows": sorted(rows, key=lambda row: row["t_s"]),
        "flow_state": sorted(gauges, key=lambda row: row["t_s"]),
        "events": sorted(happened, key=lambda row: row["t_s"]),
        "totals": totals,
    }
    return frames(filled), [c for c in _COLUMNS if c not in found]


def _happened(flow: _Flow, step_us: int) -> Iterator[dict[str, Any]]:
    subject = f"flow {flow.name}"
    first, last = (flow.trace.events[i].at / 1e3 for i in (0, -1))
    yield {"t_s": first, "what": "start", "subject": subject}
    for t, how in flow.connection.changes:
        yield {"t_s": t, "what": "congestion_state", "subject": subject, "detail": how}
    yield {"t_s": max(last, flow.rows[-1]["t_s"] - step_us / 1e6), "what": "end", "subject": subject}
