"""Flent's data files as runs.

What such a file does not say is left open rather than made up: a bottleneck and delays are stated where its title
states them, as the published harness's titles do (``qdisc:fq_codel bandwidth:50Mbit rtt:20ms``).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn import _core
from sojourn.errors import DataFileError, SojournError, UsageError
from sojourn.interop import blank
from sojourn.interop.flent.grid import on_steps
from sojourn.interop.flent.read import FlentFile, read
from sojourn.interop.flent.series import COMPUTED, FLOW_KEYS, OWD_KEYS, Way
from sojourn.interop.frames import COLUMNS, frames
from sojourn.interop.incoming import UNKNOWN, Incoming

ENGINE: Final = "flent"
"""The engine's name in imported runs."""


def incoming(path: Path) -> Incoming:
    """Read one of Flent's data files.

    Raises:
        DataFileError: if it is not one of Flent's, or is damaged.
    """
    file = read(path)
    flows, left_out = _series(file)
    own = _own_scenario(file)
    return Incoming(
        path=path,
        digest=file.digest,
        engine=ENGINE,
        version=str(file.metadata.get("FLENT_VERSION") or UNKNOWN),
        scenario=own or _foreign_scenario(file, flows),
        # Of a file of ours everything was asked for.
        measured=[] if own else ["duration", "source", "start"],
        about={
            "test": file.name,
            "title": file.title,
            "time": file.metadata.get("TIME"),
            "host": file.metadata.get("LOCAL_HOST"),
            "flent": file.metadata.get("FLENT_VERSION"),
        },
        tables=lambda scenario: _tables(file, flows, scenario),
        left_out=left_out,
    )


def _series(file: FlentFile) -> tuple[dict[str, str], list[str]]:
    """Return the flow of each series, in order, and the series that are none."""
    meta = file.metadata.get("SERIES_META")
    meta = meta if isinstance(meta, dict) else {}
    flows: dict[str, str] = {}
    left_out = []
    for name in file.raw:
        if name.lower().endswith(COMPUTED) or "::tcp_" in name or not file.raw[name]:
            continue
        if not name.startswith(("TCP ", "UDP ", "Ping (ms)")):
            left_out.append(name)
            continue
        own = meta.get(name)
        stated = own.get("SOJOURN_FLOW") if isinstance(own, dict) else None
        flows[name] = stated if isinstance(stated, str) else _slug(name)
    if not flows:
        raise DataFileError(
            file.path, "it has neither TCP or UDP streams nor pings", help=f"it is of the test {file.name}"
        )
    if len(set(flows.values())) < len(flows):
        flows = {name: f"series-{i}" for i, name in enumerate(flows, 1)}
    return flows, left_out


def _slug(name: str) -> str:
    words = name.removeprefix("TCP ").replace("(ms)", "")
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _own_scenario(file: FlentFile) -> dict[str, Any] | None:
    """Return the scenario that an export of ours carries."""
    own = file.metadata.get("SOJOURN")
    if not isinstance(own, dict) or not isinstance(own.get("origin"), int | float):
        return None
    scenario = own.get("scenario")
    if not isinstance(scenario, dict) or not scenario.keys() >= {"experiment", "cell", "seed"}:
        return None
    return dict(scenario)


def _foreign_scenario(file: FlentFile, flows: Mapping[str, str]) -> dict[str, Any]:
    scenario = blank.scenario()
    words = dict(word.split(":", 1) for word in file.title.split() if ":" in word)
    last = max(row["t"] for name in flows for row in file.raw[name])
    delays = [span for key in ("rtt", "rtt1", "rtt2", "rtt3", "rtt4") if (span := _span(words.get(key))) is not None]
    made: list[dict[str, Any]] = []
    ccs = _ccs(file, [name for name in flows if name.startswith("TCP ")])
    for name, flow in flows.items():
        kind: blank.Kind = "ping" if name.startswith("Ping") else "tcp" if name.startswith("TCP") else "udp"
        own = blank.flow(
            kind,
            name=flow,
            # Flent's host is the client: it uploads, and its pings' requests go up.
            direction="down" if "download" in name.lower() else "up",
            start_us=file.raw[name][0]["t"] * 1e6,
        )
        if kind == "tcp":
            own["traffic"]["cc"] = ccs[name]
        made.append(own)
    hop = scenario["hops"][0]
    hop["name"] = "bottleneck"
    for side in ("down", "up"):
        hop[side] = [element for element in (_stated(e, words, delays, made) for e in hop[side]) if element is not None]
    labels = [[key, value] for key, value in words.items()] or ([["title", file.title]] if file.title else [])
    return scenario | {
        "experiment": blank.name_of(str(file.metadata.get("BATCH_NAME") or file.name), "imported"),
        "source": f"{file.path.name}, Flent's {file.name} of {file.metadata.get('TIME') or 'an unknown day'}",
        "cell": labels,
        "origin": "flent",
        "sample_interval": f"{file.step_us}us" if file.step_us else scenario["sample_interval"],
        "duration": f"{math.ceil(max(last, 1e-3) * 1e3)}ms",
        "flows": made,
    }


def _stated(
    element: dict[str, Any], words: Mapping[str, str], delays: Sequence[float], flows: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return an element of the template as the title states it; None if it does not."""
    if element["kind"] == "queue":
        rate = next((words[key] for key in ("bandwidth", "bandwidth1", "rate") if _rate(words.get(key))), None)
        if rate is None:
            return None
        return element | {"rate": f"{_core.parse_rate(rate)}bit", "qdisc": words.get("qdisc") or UNKNOWN}
    if element["kind"] == "netem":
        if not delays:
            return None
        tcp = [flow["name"] for flow in flows if "cc" in flow["traffic"]]
        own = [{"flow": n, "delay": _half(d)} for n, d in zip(tcp, delays, strict=False)] if len(delays) > 1 else []
        return element | {"chain": [f"delay {_half(delays[0])}"], "per_flow": own}
    return element


def _half(rtt: float) -> str:
    return f"{round(rtt * 5e5)}us"


def _rate(text: str | None) -> int | None:
    try:
        return _core.parse_rate(text) if text else None
    except (ValueError, SojournError):
        return None


def _span(text: str | None) -> float | None:
    try:
        return _core.parse_span(text) if text else None
    except (ValueError, SojournError):
        return None


def _ccs(file: FlentFile, series: Sequence[str]) -> dict[str, str]:
    """Return the congestion control of each TCP series, as far as the file says."""
    parameters = file.metadata.get("TEST_PARAMETERS")
    parameters = parameters if isinstance(parameters, dict) else {}
    one = parameters.get("tcp_cong_control") or parameters.get("cc_algo") or parameters.get("cc") or UNKNOWN
    each = parameters.get("cc_algos")
    stated = [word.strip() for word in each.split(",")] if isinstance(each, str) else []
    return {name: (stated[i] if i < len(stated) and stated[i] else str(one)) for i, name in enumerate(series)}


def _tables(
    file: FlentFile, flows: Mapping[str, str], scenario: Mapping[str, Any]
) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Return the run's tables, and the columns of flows that the file has nothing for."""
    names = {flow["name"] for flow in scenario["flows"]}
    own_times = file.metadata.get("SOJOURN")
    # Times of an export of ours count from the run's origin again; those of others from Flent's T0.
    shift = file.t0 - own_times["origin"] if isinstance(own_times, dict) and _own_scenario(file) else 0.0
    owd = _owd(file, scenario)
    strange = [flow for flow in flows.values() if flow not in names]
    if strange:
        raise DataFileError(file.path, f"its scenario has no flow {strange[0]!r}, which one of its series is of")
    flow_rows: list[dict[str, Any]] = []
    ping_rows: list[dict[str, Any]] = []
    happened: list[dict[str, Any]] = []
    found: set[str] = set()
    for series, flow in flows.items():
        rows = [{**row, "t": round(row["t"] + shift, 6)} for row in file.raw[series]]
        if series.startswith("Ping"):
            ping_rows.extend(_pings(rows, flow, owd[flow]))
        else:
            flow_rows.extend(_flow(_stepped(file, series, rows, scenario), flow, found))
            happened.extend(
                {"t_s": rows[i]["t"], "what": what, "subject": f"flow {flow}", "detail": ""}
                for i, what in ((0, "start"), (-1, "end"))
            )
    filled = {
        "flows": sorted(flow_rows, key=lambda row: row["t_s"]),
        "pings": sorted(ping_rows, key=lambda row: row["t_s"]),
        "events": sorted(happened, key=lambda row: row["t_s"]),
    }
    return frames(filled), [key.column for key in FLOW_KEYS if flow_rows and key.column not in found]


def _owd(file: FlentFile, scenario: Mapping[str, Any]) -> dict[str, Mapping[str, str]]:
    """Return which column is which key, of each flow."""
    ways: dict[str, Way]
    match file.metadata["SOJOURN"].get("down") if _own_scenario(file) else "download":
        case "download":
            ways = {"down": "download", "up": "upload"}
        case "upload":
            ways = {"down": "upload", "up": "download"}
        case _:
            # The exports of earlier versions do not say what their ``down`` was, and had all requests go up.
            ways = {"down": "upload", "up": "upload"}
    return {flow["name"]: OWD_KEYS[ways[flow["direction"]]] for flow in scenario["flows"]}


def _stepped(
    file: FlentFile, series: str, rows: Sequence[Mapping[str, Any]], scenario: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """Return a stream's rows, one a step; those of an export of ours are so already."""
    if _own_scenario(file):
        return rows
    try:
        return on_steps(rows, round(_core.parse_span(scenario["sample_interval"]) * 1e6))
    except UsageError as error:
        raise DataFileError(file.path, f"{series}: {error.message}") from error


def _flow(rows: Sequence[Mapping[str, Any]], flow: str, found: set[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each raw value. Counters that a row lacks keep their values; other numbers are NaN."""
    counters: dict[str, Any] = {}
    for row in rows:
        own: dict[str, Any] = {"t_s": row["t"], "flow": flow}
        for key in FLOW_KEYS:
            value = row.get(key.name)
            counts = COLUMNS["flows"][key.column] == "u64"
            if value is None:
                if counts and key.column in counters:
                    own[key.column] = counters[key.column]
                continue
            found.add(key.column)
            if counts:
                counters[key.column] = own[key.column] = max(0, round(value))
            else:
                own[key.column] = value if isinstance(value, str) else value / key.factor
        yield own


def _pings(rows: Sequence[Mapping[str, Any]], flow: str, owd: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for i, row in enumerate(rows):
        value = row.get("val")
        own: dict[str, Any] = {"t_s": row["t"], "flow": flow, "lost": "" if value is not None else "lost"}
        number = row.get("seq")
        own["sequence"] = round(number) if isinstance(number, int | float) and number >= 0 else i
        if value is not None:
            own["rtt_s"] = value / 1e3
        for column, key in owd.items():
            if isinstance(row.get(key), int | float):
                own[column] = row[key] / 1e3
        yield own
