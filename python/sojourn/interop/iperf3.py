"""iperf3's JSON (``iperf3 -J``, ``--json-stream``): each stream is a flow, each interval a sample.

The rate of an interval counts the bytes that the end with the file handed to TCP or got from it: at the receiver that
is goodput; at the sender it includes bytes in the send buffer. ``scenario.json`` says at which end (``goodput_at``).
Intervals that ``--omit`` leaves out are left out.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from sojourn.errors import DataFileError
from sojourn.interop.incoming import UNKNOWN, Incoming
from sojourn.interop.measured_by import Flow, Measurement, as_incoming, content_of, number

_KIND: Final = "what `iperf3 -J` writes"
_BITS: Final = 8


def takes(content: bytes) -> bool:
    """Return whether a file's beginning looks like iperf3's."""
    return content[:1] == b"{" and (b'"intervals"' in content or b'"event"' in content or b'"error"' in content)


def incoming(path: Path) -> Incoming:
    """Read a file of iperf3's.

    Raises:
        DataFileError: if it is none, is damaged, or says that the test failed.
    """
    content, digest = content_of(path, _KIND)
    said = _document(path, content)
    start = _table(said, "start")
    intervals = said.get("intervals")
    if not isinstance(intervals, list) or not start:
        why = said.get("error")
        problem = f"iperf3 says: {why}" if isinstance(why, str) else "it has no start or no intervals"
        raise DataFileError(path, problem, help=f"give {_KIND}")
    read = _streams(path, start, said, intervals)
    flows = list(read.flows.values())
    if not flows:
        raise DataFileError(path, "none of its intervals has a stream", help="measure for longer than one interval")
    test = _table(start, "test_start")
    left_out = [f"{read.omitted} intervals that --omit leaves out"] if read.omitted else []
    receives = {flow.name: flow.direction != ("down" if _is_server(start) else "up") for flow in flows}
    return as_incoming(
        path,
        digest,
        Measurement(
            tool="iperf3",
            version=str(start.get("version", UNKNOWN)).removeprefix("iperf "),
            flows=flows,
            step_us=max(1000, round(statistics.median(read.apart) * 1e3) * 1000),
            name=str(said.get("title") or "iperf3"),
            about={
                "title": said.get("title"),
                "time": _table(start, "timestamp").get("time"),
                "host": start.get("system_info"),
                "protocol": test.get("protocol"),
                "goodput_at": {name: "receiver" if own else "sender" for name, own in receives.items()},
            },
            left_out=left_out,
        ),
    )


def _document(path: Path, content: bytes) -> Mapping[str, Any]:
    """Return the one document of a file, or the lines of ``--json-stream`` as one document."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError) as whole:
        events = list(_lines(content))
        if not events:
            place = f" (line {whole.lineno})" if isinstance(whole, json.JSONDecodeError) else ""
            raise DataFileError(path, f"it is no JSON{place}", help=f"give {_KIND}; it may be truncated") from whole
        first = {str(event.get("event")): event.get("data") for event in events}
        intervals = [event.get("data") for event in events if event.get("event") == "interval"]
        return {
            "start": first.get("start"),
            "intervals": intervals,
            "end": first.get("end"),
            "error": first.get("error"),
        }
    if not isinstance(said, dict):
        raise DataFileError(path, "it is no JSON object", help=f"give {_KIND}")
    return said


def _lines(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            # What a test that was ended wrote last.
            return
        if not isinstance(event, dict):
            return
        yield event


@dataclass
class _Streams:
    """The streams of a file, by their sockets."""

    path: Path
    start: Mapping[str, Any]
    cc: str
    flows: dict[object, Flow] = field(default_factory=dict)
    counters: dict[object, dict[str, float]] = field(default_factory=dict)
    omitted: int = 0
    apart: list[float] = field(default_factory=list)
    """How long each interval was, s."""

    def take(self, place: int, stream: Mapping[str, Any]) -> None:
        """Add an interval's data of a stream."""
        if stream.get("omitted") is True:
            self.omitted += 1
            return
        opens, closes, payload = (number(stream.get(key)) for key in ("start", "end", "bytes"))
        if opens is None or closes is None or payload is None:
            raise DataFileError(self.path, f"interval {place} has a stream without start, end or bytes")
        if closes <= opens:
            return
        self.apart.append(closes - opens)
        sample = {"t": closes, "dur": closes - opens, "val": payload * _BITS / (closes - opens)}
        self._flow(stream).samples.append(sample | self._numbers(stream))

    def _flow(self, stream: Mapping[str, Any]) -> Flow:
        socket = stream.get("socket")
        if socket not in self.flows:
            sends = stream.get("sender") is not False
            is_udp = _table(self.start, "test_start").get("protocol") == "UDP"
            direction: Literal["up", "down"] = "up" if sends != _is_server(self.start) else "down"
            name = f"stream-{len(self.flows) + 1}"
            self.flows[socket] = Flow(name, "udp" if is_udp else "tcp", direction, self.cc)
            self.counters[socket] = {"retransmits": 0.0, "lost_packets": 0.0}
        return self.flows[socket]

    def _numbers(self, stream: Mapping[str, Any]) -> dict[str, float]:
        sample = {}
        for column, key in (("retransmits", "retransmits"), ("lost", "lost_packets")):
            if key in stream:
                self.counters[stream.get("socket")][key] += number(stream[key]) or 0.0
                sample[column] = self.counters[stream.get("socket")][key]
        for column, key in (("srtt_s", "rtt"), ("rttvar_s", "rttvar")):
            if value := number(stream.get(key)):
                sample[column] = value / 1e6
        segment = number(self.start.get("tcp_mss"), least=1) or number(self.start.get("tcp_mss_default"), least=1)
        if (window := number(stream.get("snd_cwnd"))) and segment:
            sample["cwnd"] = window / segment
        return sample


def _streams(path: Path, start: Mapping[str, Any], said: Mapping[str, Any], intervals: Sequence[Any]) -> _Streams:
    read = _Streams(path, start, str(_table(said, "end").get("sender_tcp_congestion") or UNKNOWN))
    for place, interval in enumerate(intervals):
        streams = interval.get("streams") if isinstance(interval, dict) else None
        for stream in streams if isinstance(streams, list) else []:
            if isinstance(stream, dict) and isinstance(stream.get("socket"), int | None):
                read.take(place, stream)
    return read


def _is_server(start: Mapping[str, Any]) -> bool:
    return "accepted_connection" in start and "connecting_to" not in start


def _table(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = of.get(key)
    return found if isinstance(found, dict) else {}
