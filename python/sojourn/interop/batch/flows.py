"""Which flows a Flent test has, and what its parameters say of them.

Facts of Flent 2: ``tcp_Nup`` and ``tcp_Ndown`` have N streams and a ping; ``tcp_nup`` and ``tcp_ndown`` take N from
``upload_streams`` and ``download_streams``; ``rrul_be`` has four streams each way and three probes in UDP. Streams
begin 5 s behind the ping and last LENGTH, those with a delay correspondingly shorter. netperf's ``-K`` and ``-Y`` hold
for both ends.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from sojourn.interop.batch.hooks import dscp_of
from sojourn.interop.batch.placed import File, Placed
from sojourn.interop.batch.setup import Way

_CONTINUED: Final = re.compile(r"(?:\\\n|\s)*")
_TCP: Final = re.compile(r"tcp_(?P<count>\d+|n)(?P<way>up|down)$")
_RRUL_BE: Final = "rrul_be"
_RRUL_BE_STREAMS: Final = 4
_RRUL_BE_PROBES: Final = 3
_MOST_STREAMS: Final = 10_000
_DEFAULT_STREAMS: Final = 1
_UP: Final[tuple[Way, ...]] = ("to-server",)
_DOWN: Final[tuple[Way, ...]] = ("to-client",)

_WITHOUT_EFFECT: Final = frozenset({"cc_algo_titles", "plot_title", "ping_hosts", "control_hosts"})
"""Parameters that say how a test is shown, or by which machine it is run."""

_KNOWN: Final = (
    "cc_algo",
    "cc_algos",
    "download_streams",
    "marking",
    "markings",
    "stream_delays",
    "stream_test_args",
    "tcp_cong_control",
    "upload_streams",
)


@dataclass(frozen=True, slots=True)
class Stream:
    """One TCP stream."""

    name: str
    way: Way
    cc: str | None
    dscp: int
    delay_s: float
    pacing_bytes_s: int | None


def parameters(text: Placed | None, file: File) -> dict[str, Placed]:
    """Return the test parameters of ``k=v; k="v,w";``.

    Raises:
        ExperimentError: if one is no pair, or is not known here.
    """
    found: dict[str, Placed] = {}
    for whole in text.split(";") if text is not None else []:
        part = whole[len(_CONTINUED.match(whole.text)[0]) :]  # type: ignore[index]  # it matches the empty text, too
        key, equals, _ = part.text.partition("=")
        name = key.strip()
        if not equals or not name:
            raise file.error(f'"{part}" is no test parameter', part, help="parameters are written key=value; key=value")
        if name in _WITHOUT_EFFECT:
            continue
        if name not in _KNOWN:
            raise file.error(
                f'the test parameter "{name}" cannot be mapped', part, help=f"available: {', '.join(_KNOWN)}"
            )
        found[name] = part[len(key) + 1 :].unquoted()
    return found


def streams(test: Placed, given: Mapping[str, Placed], file: File) -> list[Stream]:
    """Return the streams of a test.

    Raises:
        ExperimentError: if there is no such test here, or a parameter is not right.
    """
    ways = _ways(test, given, file)
    count = len(ways)
    ccs = _each(given.get("cc_algos") or given.get("cc_algo") or given.get("tcp_cong_control"), count)
    codes = _each(given.get("markings") or given.get("marking"), count)
    delays = _each(given.get("stream_delays"), count)
    paces = _each(given.get("stream_test_args"), count)
    numbers = _names(ways)
    return [
        Stream(
            name,
            way,
            None if cc is None else cc.text,
            0 if code is None else dscp_of(code, file),
            0.0 if delay is None else _number(delay, file),
            None if pace is None else _pacing(pace, file),
        )
        for name, way, cc, code, delay, pace in zip(numbers, ways, ccs, codes, delays, paces, strict=True)
    ]


def probes(test: Placed, side: str, step_s: float) -> list[dict[str, Any]]:
    """Return the UDP probes that a test has besides the ping, as flows of an experiment: irtt, one packet a step."""
    if test.text.strip() != _RRUL_BE:
        return []
    probe = {"name": "udp", "count": _RRUL_BE_PROBES, "start": "-5s", "irtt": {"interval": f"{step_s:g}s"}}
    return [probe if side == "down" else {**probe, "direction": side}]


def _ways(test: Placed, given: Mapping[str, Placed], file: File) -> list[Way]:
    name = test.text.strip()
    if name == _RRUL_BE:
        return [*_UP * _RRUL_BE_STREAMS, *_DOWN * _RRUL_BE_STREAMS]
    match = _TCP.match(name)
    if match is None:
        raise file.error(
            f'the test "{name}" cannot be mapped',
            test,
            help="available: tcp_Nup, tcp_Ndown, tcp_nup, tcp_ndown, rrul_be",
        )
    way: Way = "to-server" if match["way"] == "up" else "to-client"
    said = given.get("upload_streams" if match["way"] == "up" else "download_streams")
    if match["count"] != "n":
        # Digits alone; a text of a thousand of them is too large for int(), too.
        return [way] * _bounded(float(match["count"]), test, file)
    return [way] * (_DEFAULT_STREAMS if said is None else _bounded(_number(said, file), said, file))


def _bounded(count: float, place: Placed, file: File) -> int:
    if not 0 < count <= _MOST_STREAMS:
        raise file.error(f"a test has 1 to {_MOST_STREAMS} streams", place, help="Flent itself opens one a process")
    return int(count)


def _names(ways: Sequence[Way]) -> list[str]:
    if len(set(ways)) > 1:
        counts = {"to-server": 0, "to-client": 0}
        named = []
        for way in ways:
            counts[way] += 1
            named.append(f"{'upload' if way == 'to-server' else 'download'}-{counts[way]}")
        return named
    ordinals = ("first", "second", "third", "fourth")
    if len(ways) == 1:
        return ["flow"]
    return list(ordinals[: len(ways)]) if len(ways) <= len(ordinals) else [f"flow-{i + 1}" for i in range(len(ways))]


def _each(value: Placed | None, count: int) -> list[Placed | None]:
    """Return one for each stream: Flent begins again where there are fewer than streams."""
    words: Iterable[Placed] = [] if value is None else [word.unquoted() for word in value.split(",")]
    listed = list(words)
    return list(islice(cycle(listed), count)) if listed else [None] * count


def _number(word: Placed, file: File) -> float:
    try:
        return float(word.text)
    except ValueError:
        raise file.error(f'"{word}" is no number', word) from None


def _pacing(word: Placed, file: File) -> int:
    match = re.fullmatch(r"-q\s+(\d+)", word.text)
    if match is None:
        raise file.error(
            f'the stream\'s test argument "{word}" cannot be mapped',
            word,
            help="netperf's -q BYTES_PER_SECOND sets the rate",
        )
    return int(match[1])


def settings(stream: Stream, side: str) -> dict[str, Any]:
    """Return a stream as a ``[[flow]]`` of ours, without the settings from the set-up."""
    flow: dict[str, Any] = {"name": stream.name}
    group, dash, _ = stream.name.rpartition("-")
    if dash:
        flow["group"] = group
    if side != "down":
        flow["direction"] = side
    if stream.cc is not None:
        flow["cc"] = stream.cc
    if stream.dscp:
        flow["dscp"] = stream.dscp
    if stream.delay_s:
        flow["start"] = f"{stream.delay_s:g}s"
    if stream.pacing_bytes_s is not None:
        flow["max_pacing_rate"] = f"{stream.pacing_bytes_s * 8}bit"
    return flow
