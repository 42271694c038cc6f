"""A qlog file as traces and their events, whatever it is serialized as.

There are four forms. JSON text sequences (RFC 7464; qlog's sequential file, ``.sqlog``): a header, then an event a
record. The same as a line a record, which early versions had. One JSON document with ``traces`` (``.qlog``), with
events as objects, or as arrays under ``event_fields`` (draft-marx-qlog-main-schema-00; picoquic, mvfst).

Invariants: an event's time is in ms, in the order of time, and counts from the first event of the file's traces, or of
its own trace where they have no clock in common; errors have the file and the number of the record, from 1, the header
included. A program that dies leaves a file without an end: its complete records are read, and the rest is named.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sojourn.errors import DataFileError
from sojourn.interop.packed import read_file, unpacked

MOST_BYTES: Final = 512 << 20
"""Of a file, packed and unpacked: minutes at 100 Mbit/s, every packet logged with its frames."""

_BUDGET: Final = "split it, or log less: the events of recovery alone are enough for windows and RTTs"

_KIND: Final = "qlog files, .qlog or .sqlog"

_NAMES: Final = re.compile(r"\.s?qlog(\.(gz|bz2|xz))?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Event:
    """One event."""

    record: int
    """Which of the file it is, from 1."""
    at: float
    """When, ms."""
    category: str
    """``recovery``, in lower case; empty if it has none."""
    kind: str
    """``metrics_updated``, in lower case."""
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Trace:
    """The log of one end of one connection."""

    title: str
    vantage: str
    """``client``, ``server``, ``network`` or ``unknown``."""
    program: str
    """The name that the trace or its vantage point has; may be empty."""
    group: str
    """Which connection; may be empty."""
    microseconds: bool
    """Whether its spans are in µs, as drafts of before 2020 allowed, and not in ms."""
    common: Mapping[str, Any]
    """Its common fields."""
    events: Sequence[Event]


@dataclass(frozen=True)
class QlogFile:
    """One file."""

    path: Path
    digest: str
    version: str
    """The version of its format, as the file has it."""
    traces: Sequence[Trace]
    left_out: Sequence[str]
    """Contents that could not be read, a phrase each."""


def is_qlog(path: Path) -> bool:
    """Whether a file's name says that it is qlog."""
    return _NAMES.search(path.name) is not None


def read(path: Path) -> QlogFile:
    """Read a file.

    Raises:
        DataFileError: naming the error.
    """
    content = read_file(path, MOST_BYTES, kind=_KIND, too_large=_BUDGET)
    plain, cut = unpacked(path, content, MOST_BYTES, too_large=_BUDGET, cut=True)
    text = plain.decode("utf-8", "replace").removeprefix("\ufeff")
    left_out = [] if cut is None else [f"its end ({cut})"]
    header, raw = _apart(path, text, left_out)
    traces = [trace for one in raw for trace in _by_connection(path, header, one)]
    if not traces:
        raise DataFileError(path, "it has no events", help=f"give {_KIND} that has events")
    version = header.get("qlog_version") or header.get("file_schema") or "unknown"
    digest = hashlib.sha256(content).hexdigest()
    return QlogFile(path, digest, str(version), _from_zero(path, traces), left_out)


@dataclass(frozen=True)
class _Raw:
    """A trace with its events as JSON has them, each with the number of its record."""

    head: Mapping[str, Any]
    events: Sequence[tuple[int, Any]]


def _apart(path: Path, text: str, left_out: list[str]) -> tuple[Mapping[str, Any], Sequence[_Raw]]:
    """Return the file's header and its traces."""
    begin = text.lstrip(" \t\r\n")
    if begin.startswith("\x1e"):
        return _sequence(path, begin[1:].split("\x1e"), left_out)
    try:
        first, end = _DECODER.raw_decode(begin)
    except (ValueError, RecursionError) as error:
        return _document(path, *_cut_short(path, begin, error, left_out))
    if begin[end:].strip():
        return _sequence(path, begin.splitlines(), left_out)
    return _document(path, first, None)


_DECODER: Final = json.JSONDecoder()


def _sequence(path: Path, records: Sequence[str], left_out: list[str]) -> tuple[Mapping[str, Any], Sequence[_Raw]]:
    """Take a sequence apart. Its last record may be cut short."""
    values = []
    filled = [(number, text) for number, text in enumerate(records, 1) if text.strip()]
    for number, text in filled:
        try:
            values.append((number, json.loads(text)))
        except (ValueError, RecursionError) as error:
            if number != filled[-1][0] or not values:
                raise DataFileError(path, f"record {number} is not JSON: {error}") from error
            left_out.append(f"its end (record {number} is not whole)")
    header = values[0][1] if values else None
    if not isinstance(header, dict) or not isinstance(header.get("trace"), dict):
        raise DataFileError(
            path, "its first record is not a qlog header", help="it has the qlog version or schema, and a trace"
        )
    return header, [_Raw(header["trace"], values[1:])]


def _document(path: Path, first: object, cut: _Raw | None) -> tuple[Mapping[str, Any], Sequence[_Raw]]:
    """Take a document apart; ``cut`` is the trace that its end is missing of."""
    if not isinstance(first, dict):
        raise DataFileError(path, "it is not qlog: it contains no object")
    found = first.get("traces", [] if cut else None)
    if not isinstance(found, list):
        raise DataFileError(path, "it has no traces", help=f"give {_KIND}")
    traces = []
    record = 1
    for number, trace in enumerate(found, 1):
        if isinstance(trace, dict) and "error_description" in trace:
            continue
        if not isinstance(trace, dict) or not isinstance(trace.get("events"), list):
            raise DataFileError(path, f"traces[{number - 1}] has no list of events")
        events = trace["events"]
        traces.append(_Raw(trace, list(enumerate(events, record + 1))))
        record += len(events)
    return first, [*traces, *([] if cut is None else [cut])]


_EVENTS: Final = re.compile(r'"events"\s*:\s*\[')
_BRACKETS: Final = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]]')
_BETWEEN: Final = re.compile(r"[\s,]*")


def _cut_short(path: Path, text: str, error: Exception, left_out: list[str]) -> tuple[Any, _Raw]:
    """Return the header and the last trace of a document without an end, as far as its events are whole."""
    found = list(_EVENTS.finditer(text))
    if not found:
        raise DataFileError(path, f"it is not JSON: {error}", help=f"give {_KIND}") from error
    last = found[-1]
    head = text[: last.end()]
    opened: list[str] = []
    for bracket in _BRACKETS.finditer(head):
        match bracket[0]:
            case "{":
                opened.append("}")
            case "[":
                opened.append("]")
            case "}" | "]" if opened:
                opened.pop()
    try:
        first = json.loads(head + "".join(reversed(opened)))
        trace = first["traces"].pop()
        before = sum(len(one["events"]) for one in first["traces"])
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError) as wrong:
        raise DataFileError(path, f"it is not JSON: {error}", help=f"give {_KIND}") from wrong
    if not isinstance(trace, dict):
        raise DataFileError(path, f"it is not JSON: {error}", help=f"give {_KIND}") from error
    events: list[tuple[int, Any]] = []
    at = last.end()
    while True:
        between = _BETWEEN.match(text, at)
        at = at if between is None else between.end()
        try:
            event, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        events.append((before + len(events) + 2, event))
    left_out.append(f"its end (not JSON after {before + len(events)} events: {error})")
    return first, _Raw(trace, events)


def _by_connection(path: Path, header: Mapping[str, Any], raw: _Raw) -> Iterator[Trace]:
    """Yield a trace for each connection that a trace has events of."""
    common = raw.head.get("common_fields")
    common = common if isinstance(common, dict) else {}
    point = raw.head.get("vantage_point")
    point = point if isinstance(point, dict) else {}
    groups: dict[str, list[Event]] = {}
    for group, event in _events(path, raw, common):
        groups.setdefault(group, []).append(event)
    title = raw.head.get("title") or header.get("title") or ""
    for group, events in groups.items():
        vantage = str(point.get("type") or "unknown").lower()
        if vantage == "network":
            vantage = str(point.get("flow") or "unknown").lower()
        yield Trace(
            title=str(title),
            vantage=vantage,
            program=str(title or point.get("name") or ""),
            group=group or str(common.get("group_id") or common.get("ODCID") or ""),
            microseconds=_in_microseconds(raw.head),
            common=common,
            events=sorted(events, key=lambda event: event.at),
        )


def _in_microseconds(head: Mapping[str, Any]) -> bool:
    configuration = head.get("configuration")
    return isinstance(configuration, dict) and configuration.get("time_units") == "us"


_ABSOLUTE: Final = frozenset({"absolute", "relative", "relative_to_epoch"})
_DELTA: Final = frozenset({"delta", "relative_to_previous_event"})


def _events(path: Path, raw: _Raw, common: Mapping[str, Any]) -> Iterator[tuple[str, Event]]:
    """Yield the connection and the event of each record of a trace; times are as the trace counts them, ms."""
    scale = 1e-3 if _in_microseconds(raw.head) else 1.0
    names = raw.head.get("event_fields")
    fields = [str(name).lower() for name in names] if isinstance(names, list) else []
    usual = common.get("time_format", "delta" if "delta_time" in fields else "absolute")
    now = 0.0
    for record, one in raw.events:
        value = dict(zip(fields, one, strict=False)) if isinstance(one, list) and fields else one
        if not isinstance(value, dict):
            raise DataFileError(path, f"record {record} is not an event: {_short(value)}")
        stated = next((value[key] for key in _TIMES if key in value), None)
        time = number(stated)
        if time is None:
            raise DataFileError(path, f"record {record} has no time that is a number: {_short(stated)}")
        format_ = value.get("time_format", usual)
        if format_ in _DELTA:
            now += time * scale
        elif format_ in _ABSOLUTE:
            now = time * scale
        else:
            raise DataFileError(
                path,
                f"record {record} has the time format {_short(format_)}",
                help=f"there are {', '.join(sorted(_ABSOLUTE | _DELTA))}",
            )
        category, kind = _name(value)
        if not kind:
            raise DataFileError(path, f"record {record} has no name")
        data = value.get("data", {})
        if not isinstance(data, dict):
            raise DataFileError(path, f"record {record}: data is not an object: {_short(data)}")
        group = value.get("group_id")
        yield str(group) if isinstance(group, str) else "", Event(record, now, category, kind, data)


_TIMES: Final = ("time", "relative_time", "delta_time")


def _name(value: Mapping[str, Any]) -> tuple[str, str]:
    name = value.get("name")
    if isinstance(name, str):
        category, colon, kind = name.rpartition(":")
        return (category if colon else "").lower(), kind.lower()
    kind = value.get("event_type", value.get("event", value.get("type")))
    return str(value.get("category") or "").lower(), kind.lower() if isinstance(kind, str) else ""


_BEYOND: Final = 1e15
"""More than any span, rate or count."""


def number(value: object, beyond: float = _BEYOND) -> float | None:
    """Return a number; early drafts have them as text. None if it is none, or its size is beyond this."""
    if isinstance(value, str) and len(value) <= _DIGITS:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < beyond:
        return None
    return float(value)


_DIGITS: Final = 40
_DATES: Final = 1e18
"""More than any date in µs."""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN: Final = 60


def _from_zero(path: Path, traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces with times from the first event of all, where their clocks are the same, or of each."""
    clocks = [_reference(path, trace) for trace in traces]
    shifts = [0.0 if clock is None else clock for clock in clocks]
    if any(clock is None for clock in clocks) and len(traces) > 1:
        shifts = [-trace.events[0].at for trace in traces]
    zero = min(trace.events[0].at + shift for trace, shift in zip(traces, shifts, strict=True))
    if _is_ours(traces):
        # Ours count from the run's origin.
        zero, shifts = 0.0, [0.0] * len(traces)
    return [
        Trace(
            trace.title,
            trace.vantage,
            trace.program,
            trace.group,
            trace.microseconds,
            trace.common,
            [Event(e.record, e.at + shift - zero, e.category, e.kind, e.data) for e in trace.events],
        )
        for trace, shift in zip(traces, shifts, strict=True)
    ]


def _is_ours(traces: Sequence[Trace]) -> bool:
    return all(isinstance(trace.common.get("sojourn"), dict) for trace in traces)


def _reference(path: Path, trace: Trace) -> float | None:
    """Return the Unix time that a trace's times count from, ms; 0 if they are absolute, None if it is not known."""
    common = trace.common
    stated = common.get("reference_time")
    if isinstance(stated, dict):
        for key in ("epoch", "wall_clock_time"):
            if stated.get(key) not in {None, "unknown"}:
                return _date(path, key, stated[key])
        return None
    if stated is None:
        return None if common.get("time_format", "absolute") not in {"absolute", "delta"} else 0.0
    found = number(stated, _DATES)
    if found is None:
        raise DataFileError(path, f"common_fields.reference_time is not a number: {_short(stated)}")
    return found * 1e-3 if trace.microseconds else found


def _date(path: Path, key: str, text: object) -> float:
    try:
        date = datetime.fromisoformat(str(text))
    except ValueError as error:
        raise DataFileError(path, f"common_fields.reference_time.{key} is not a date: {_short(text)}") from error
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1e3
