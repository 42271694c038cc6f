"""Repeated output of ``ss -tin``, with the time before each: every socket that sends is a flow.

The form is that of Flent's ``ss_iterate``: a line ``Time: 1604073600.123456789`` (seconds since 1970, or of ISO 8601),
then what ss wrote. ss may break a socket's line after its addresses, and does without ``-O``.

A row's goodput counts the bytes acknowledged since the row before. ss does not print the sockets' ages, so each begins
at its first row.
"""

import datetime as dt
import re
import statistics
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

from sojourn.errors import DataFileError
from sojourn.interop.incoming import UNKNOWN, Incoming
from sojourn.interop.measured_by import Flow, Measurement, as_incoming, content_of

_KIND: Final = "what `ss -tin` wrote, with a line `Time: SECONDS` before each time"
_TIME: Final = re.compile(rb"(?i)^(?:time:\s*)?(\d{6,12}(?:\.\d+)?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)\s*$")
_SOCKET: Final = re.compile(r"^(?:tcp\s+)?([A-Z][A-Z0-9-]+)\s+(\d+)\s+(\d+)\s+(\S+:\d+)\s+(\S+:\d+)(.*)$")
_STATED: Final = re.compile(r"\b([a-z_]+):([0-9./,e+-]+)\b")
_RATE: Final = re.compile(r"\b(pacing_rate|delivery_rate) ([0-9.]+)([KMG]?)bps")
_PREFIX: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}
_CONTROL: Final = re.compile(r"^\s*(?:ts |sack |ecn |ecnseen |fastopen )*([a-z][a-z0-9_-]*)\b(?![:=])")
_FEW: Final = 10
"""Segments of data that a socket has sent at least: what says less is a control connection."""


def takes(content: bytes) -> bool:
    """Return whether a file's beginning looks like a log of ss's."""
    lines = content[:65536].splitlines()
    return any(_TIME.match(line) for line in lines) and any(b"ESTAB" in line or b" cwnd:" in line for line in lines)


def incoming(path: Path) -> Incoming:
    """Read a log of ss's.

    Raises:
        DataFileError: if it is none, or no socket in it sends.
    """
    content, digest = content_of(path, _KIND)
    seen: dict[tuple[str, str], list[tuple[float, Mapping[str, float], str]]] = {}
    for at, ends, values, cc in _sockets(path, content):
        seen.setdefault(ends, []).append((at, values, cc))
    if not seen:
        raise DataFileError(path, "it has no socket", help=f"give {_KIND}")
    origin = min(rows[0][0] for rows in seen.values())
    flows: list[Flow] = []
    left_out: list[str] = []
    apart: list[float] = []
    sockets: dict[str, str] = {}
    for (own, peer), rows in sorted(seen.items(), key=lambda item: (item[1][0][0], item[0])):
        if max(values.get("data_segs_out", 0.0) for _, values, _ in rows) < _FEW or len(rows) < 2:  # noqa: PLR2004
            left_out.append(f"{own} to {peer}, which sends next to nothing or is seen once")
            continue
        flow = Flow(f"socket-{len(flows) + 1}", "tcp", _direction(own, peer), rows[-1][2])
        for (before, old, _), (at, values, _) in pairwise(rows):
            if at > before:
                flow.samples.append(_sample(at - origin, at - before, old, values))
                apart.append(at - before)
        if flow.samples:
            flows.append(flow)
            sockets[flow.name] = f"{own} to {peer}"
    if not flows:
        raise DataFileError(path, "no socket in it sends", help="run ss on the host that sends the data")
    return as_incoming(
        path,
        digest,
        Measurement(
            tool="ss",
            version=UNKNOWN,
            flows=flows,
            step_us=max(1000, round(statistics.median(apart) * 1e3) * 1000),
            name="ss",
            about={
                "time": dt.datetime.fromtimestamp(origin, dt.UTC).isoformat(),
                "goodput_at": "sender, acknowledged",
                "sockets": sockets,
            },
            left_out=left_out,
        ),
    )


def _sockets(path: Path, content: bytes) -> Iterator[tuple[float, tuple[str, str], Mapping[str, float], str]]:
    """Yield when each socket was seen, its ends, its numbers and its congestion control."""
    at: float | None = None
    ends: tuple[str, str] | None = None
    for number, line in enumerate(content.splitlines(), 1):
        if time := _TIME.match(line):
            at, ends = _seconds(path, number, time[1].decode(errors="replace")), None
            continue
        text = line.decode(errors="replace")
        found = _SOCKET.match(text)
        if found:
            ends, text = (found[4], found[5]), found[6]
        if ends is None or "cwnd:" not in text:
            continue
        if at is None:
            raise DataFileError(path, f"line {number} has no time", help=f"give {_KIND}")
        yield at, ends, _numbers(text), cc[1] if (cc := _CONTROL.match(text)) else UNKNOWN
        ends = None


def _seconds(path: Path, number: int, text: str) -> float:
    if text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        return dt.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise DataFileError(path, f"line {number}: {text} is not a time: {error}") from error


def _numbers(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for key, stated in _STATED.findall(text):
        for place, part in enumerate(re.split(r"[/,]", stated)):
            try:
                values.setdefault(key if place == 0 else f"{key}/{place}", float(part))
            except ValueError:
                break
    for key, rate, prefix in _RATE.findall(text):
        try:
            values[key] = float(rate) * _PREFIX[prefix]
        except ValueError:
            continue
    return values


def _sample(at: float, apart: float, old: Mapping[str, float], new: Mapping[str, float]) -> dict[str, Any]:
    sample: dict[str, Any] = {"t": at, "dur": apart}
    if "bytes_acked" in new:
        sample["val"] = max(0.0, new["bytes_acked"] - old.get("bytes_acked", 0.0)) * 8 / apart
    for column, key, scale in (
        ("srtt_s", "rtt", 1e-3),
        ("rttvar_s", "rtt/1", 1e-3),
        ("cwnd", "cwnd", 1),
        ("ssthresh", "ssthresh", 1),
        ("inflight", "unacked", 1),
        ("retransmits", "retrans/1", 1),
        ("delivered", "delivered", 1),
        ("ce", "delivered_ce", 1),
        ("pacing_rate_bps", "pacing_rate", 1),
        ("delivery_rate_bps", "delivery_rate", 1),
    ):
        if key in new:
            sample[column] = new[key] * scale
    return sample


def _direction(own: str, peer: str) -> Literal["up", "down"]:
    """A server has the smaller port, and its data goes down."""
    return "down" if int(own.rpartition(":")[2]) < int(peer.rpartition(":")[2]) else "up"
