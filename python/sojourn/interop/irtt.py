"""irtt's JSON (``irtt client -o FILE``): each round trip is a packet of a probe, with both ways if the server stamped.

A one-way delay is a difference of two clocks: it is as good as their agreement.
"""

import json
from pathlib import Path
from typing import Any, Final

from sojourn.errors import DataFileError
from sojourn.interop.incoming import UNKNOWN, Incoming
from sojourn.interop.measured_by import Flow, Measurement, as_incoming, content_of

_KIND: Final = "what `irtt client -o FILE` writes"
_LOST: Final = {"false": "", "true": "lost", "true_up": "there", "true_down": "back"}


def takes(content: bytes) -> bool:
    """Return whether a file's beginning looks like irtt's."""
    return content[:1] == b"{" and b'"round_trips"' in content


def incoming(path: Path) -> Incoming:
    """Read a file of irtt's.

    Raises:
        DataFileError: if it is none, or is damaged.
    """
    content, digest = content_of(path, _KIND)
    try:
        said = json.loads(content)
        trips, params = said["round_trips"], said["config"]["params"]
        interval = _whole(params["interval"])
        rows = [_row(trip) for trip in trips]
        version = str(said["version"]["irtt"])
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataFileError(
            path, f"it is not from irtt, or is damaged: {type(error).__name__} {error}", help=f"give {_KIND}"
        ) from error
    if not rows or interval <= 0:
        raise DataFileError(path, "it has no round trips", help="measure for longer than one interval")
    first = min(sent for _, sent, _ in rows)
    flow = Flow("irtt", "irtt", "up")
    for number, sent, row in sorted(rows, key=lambda own: own[1]):
        flow.pings.append({"t_s": (sent - first) / 1e9 + row.get("rtt_s", 0.0), "sequence": number, **row})
    flow.pings.sort(key=lambda ping: ping["t_s"])
    return as_incoming(
        path,
        digest,
        Measurement(
            tool="irtt",
            version=version,
            flows=[flow],
            step_us=max(1000, interval // 1000),
            name="irtt",
            about={
                "time": said.get("stats", {}).get("start_time") if isinstance(said.get("stats"), dict) else None,
                "host": said.get("system_info", {}).get("hostname", UNKNOWN)
                if isinstance(said.get("system_info"), dict)
                else UNKNOWN,
                "payload": params.get("length"),
                "interval_ns": interval,
            },
        ),
    )


def _row(trip: Any) -> tuple[int, int, dict[str, Any]]:  # noqa: ANN401 - JSON of others
    """Return a round trip's number, when it was sent (ns), and its columns."""
    sent = _whole(trip["timestamps"]["client"]["send"]["monotonic"])
    row: dict[str, Any] = {"lost": _LOST.get(str(trip["lost"]), "lost")}
    delay = trip.get("delay") or {}
    for column, key in (("rtt_s", "rtt"), ("owd_s", "send"), ("owd_back_s", "receive")):
        # A clock that is behind gives less than nothing; so does irtt.
        if key in delay and not (key == "rtt" and row["lost"]):
            row[column] = _whole(delay[key]) / 1e9
    return _whole(trip["seqno"]), sent, row


def _whole(value: Any) -> int:  # noqa: ANN401 - JSON of others
    if abs(whole := int(value)) >= _LARGEST:
        raise ValueError(f"{whole} is too large")
    return whole


_LARGEST: Final = 1 << 62
