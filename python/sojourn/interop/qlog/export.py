"""Runs as qlog: a text sequence for each flow that is one connection (draft-ietf-quic-qlog-main-schema-14).

It has the recovery events of draft-ietf-quic-qlog-quic-events-14: ``quic:recovery_metrics_updated``,
``quic:congestion_state_updated`` and ``quic:packet_lost``, as far as the table ``flows`` has them. They are samples,
one a sample interval, with changed values only. On request, the packets of QUIC flows are between them, from the run's
captures (:mod:`~sojourn.interop.qlog.packets`). TCP has no schema in qlog. Its senders' windows, RTTs, states and
losses mean the same as QUIC's, and are written under the same names; their ``group_id`` says that they are TCP's.

The draft counts windows in bytes and we in packets. So they are multiples of the size of a packet, which the trace
states first (``quic:recovery_parameters_set``). Our further values are metrics of our own, which the draft allows:
:data:`~sojourn.interop.qlog.events.OWN`. ``common_fields.sojourn`` names the run and the flow, so that an import
restores them.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.run import Run
from sojourn.core.scenario import Flow, Scenario
from sojourn.core.store import Folder, Record
from sojourn.core.store.atomic import write_file
from sojourn.errors import StoreError
from sojourn.interop.qlog.connection import NO_THRESHOLD
from sojourn.interop.qlog.events import OWN
from sojourn.interop.qlog.packets import Packets

SUFFIX: Final = ".sqlog"
"""How the names of the files end."""

_QUIC_PACKET: Final = 1452
"""Bytes of UDP payload that a QUIC packet has once the path's MTU of 1500 has been found: a window's packet."""

_TCP_PACKET: Final = 1448
"""Bytes of a TCP segment's payload, with timestamps, over IPv4."""

_NO_THRESHOLD: Final = 2**64 - 1
"""How implementations write that there is no slow-start threshold."""

_SPANS: Final = {"rtt_s": "latest_rtt", "srtt_s": "smoothed_rtt", "rttvar_s": "rtt_variance"}
_WINDOWS: Final = {"cwnd": "congestion_window", "inflight": "bytes_in_flight", "ssthresh": "ssthresh"}


def export_folder(folder: Path, to: Path, *, packets: bool = False) -> list[Path]:
    """Write each connection of every run of a results folder as a file; return the files.

    Args:
        folder: the results folder.
        to: where to; made if need be.
        packets: whether to write QUIC's packets, too, from the runs' captures; files are large then.

    Raises:
        DataFileError: if packets are wanted and a capture is damaged or keeps too little of each.
        StoreError: if it is no results folder, is damaged, packets are wanted of runs without captures or without
            QUIC, or the place cannot be written.
    """
    records = Folder.open(folder).records()
    if not packets:
        return export_runs(((record.name, Run.stored(record)) for record in records), to)
    if not any(_with_packets(Run.stored(record)) for record in records):
        raise StoreError(f"no run in {folder} has a QUIC flow", help="for other flows, see their captures")
    return [path for record in records for path in _written(record.name, Run.stored(record), to, record)]


def export_runs(runs: Iterable[tuple[str, Run]], to: Path) -> list[Path]:
    """Write each connection of these runs, which are named for their files, as a file; return the files.

    Args:
        runs: the beginning of a file's name, and the run.
        to: where to; made if need be.

    Raises:
        StoreError: if the place cannot be written.
    """
    return [path for name, run in runs for path in _written(name, run, to, None)]


def _written(name: str, run: Run, to: Path, captured: Record | None) -> Iterator[Path]:
    """Write a run's connections, their packets, too, if its captures are given; yield the files."""
    try:
        to.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create {to}: {error.strerror}") from error
    for number, flow in enumerate(connections(run.scenario)):
        path = to / f"{_safe(name)}.{number}-{_safe(flow.name)}{SUFFIX}"
        packets = None if captured is None else _packets(run, flow, captured)
        write_file(path, b"".join(f"\x1e{_text(one)}\n".encode() for one in records_of(run, flow, packets)))
        yield path


def _with_packets(run: Run) -> bool:
    return any(flow.kind == "quic" for flow in run.scenario.flows)


def _packets(run: Run, flow: Flow, record: Record) -> Packets | None:
    """Return the packets of a flow; none of those that are not QUIC."""
    if flow.kind != "quic":
        return None
    capture = record.path / f"{_vantage(flow)}.pcap"
    if capture not in record.captures:
        raise StoreError(
            f"{run.label} has no captures to take packets from", help="make it again with --pcap --snap-len 2000"
        )
    number = [one.name for one in run.scenario.flows].index(flow.name)
    return Packets(capture, number, is_encrypted=flow["traffic"]["crypto"] != "null")


def _vantage(flow: Flow) -> str:
    return {"down": "server", "up": "client"}[flow["direction"]]


def _safe(name: str) -> str:
    """Return a name without characters that a file system may refuse."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)


def connections(scenario: Scenario) -> list[Flow]:
    """Return the flows of a scenario that are one connection each."""
    return [flow for flow in scenario.flows if flow.kind in {"tcp", "quic"}]


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def records_of(run: Run, flow: Flow, packets: Packets | None = None) -> Iterator[dict[str, Any]]:
    """Yield a flow's records: the header, then the events in the order of time, its packets among them if given."""
    scenario, traffic = run.scenario, flow["traffic"]
    packet = _QUIC_PACKET if traffic["kind"] == "quic" else _TCP_PACKET
    own = {
        "version": run.key.version,
        "engine": run.engine,
        "label": run.label,
        "flow": flow.name,
        "direction": flow["direction"],
        "traffic": {"kind": traffic["kind"], **_sender(flow)},
        "sample_interval": scenario["sample_interval"],
        "duration": scenario["duration"],
    }
    yield {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": run.label,
        "trace": {
            "title": f"{run.label} {flow.name}",
            "common_fields": {
                "group_id": f"{traffic['kind']} {flow.name}",
                "time_format": "relative_to_epoch",
                # The run's origin, as in captures.
                "reference_time": {"clock_type": "system", "epoch": "2000-01-01T00:00:00.000Z"},
                "sojourn": own,
            },
            "vantage_point": {"name": flow.sender, "type": _vantage(flow)},
            "event_schemas": ["urn:ietf:params:qlog:events:quic-14"],
        },
    }
    rows = run.flows.filter(pl.col("flow").cast(pl.String) == flow.name).sort("t_s").iter_rows(named=True)
    last: dict[str, Any] = {}
    for row in rows:
        at = row["t_s"] * 1e3
        yield from _events(packets, at)
        if not last:
            yield _event(at, "recovery_parameters_set", {"max_datagram_size": packet})
        yield from _changes(at, last, row, packets)
        now = _metrics(row, packet)
        changed = {name: value for name, value in now.items() if last.get(name) != value}
        last |= now | {"state": row["state"], "lost": row["lost"]}
        yield _event(at, "recovery_metrics_updated", changed)
    yield from _events(packets, math.inf)


def _events(packets: Packets | None, until: float) -> Iterator[dict[str, Any]]:
    # Stamps and samples are whole ns; as ms they are rounded to that.
    for at, name, data in () if packets is None else packets.until(round(until, 6)):
        yield _event(at, name, data)


def _sender(flow: Flow) -> dict[str, str]:
    traffic = flow["traffic"]
    cc = str(traffic.get("cc", ""))
    return {"stack": str(traffic["stack"]), "cc": cc} if traffic["kind"] == "quic" else {"cc": cc}


def _event(at: float, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"time": round(at, 6), "name": f"quic:{name}", "data": data}


def _changes(
    at: float, last: Mapping[str, Any], row: Mapping[str, Any], packets: Packets | None
) -> Iterator[dict[str, Any]]:
    if last.get("state", "Open") != row["state"]:
        yield _event(at, "congestion_state_updated", {"old": last.get("state", "Open"), "new": row["state"]})
    many = max(0, row["lost"] - last.get("lost", 0))
    for data in repeat({}, many) if packets is None else packets.lost(many):
        yield _event(at, "packet_lost", data)


def _metrics(row: Mapping[str, Any], packet: int) -> dict[str, Any]:
    """Return a row's known values by the names of the metrics' fields."""
    found: dict[str, Any] = {}
    for column, name in _SPANS.items():
        if math.isfinite(row[column]):
            found[name] = row[column] * 1e3
    for column, name in _WINDOWS.items():
        none = column == "ssthresh" and row[column] >= NO_THRESHOLD
        found[name] = _NO_THRESHOLD if none else row[column] * packet
    if math.isfinite(row["pacing_rate_bps"]):
        found["pacing_rate"] = round(row["pacing_rate_bps"])
    for name, column in OWN.items():
        if math.isfinite(row[column]):
            found[name] = row[column]
    return found
