"""Flent's data files as they are, checked: nothing that is read from one surprises whoever uses it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sojourn.errors import DataFileError
from sojourn.interop.flent.grid import step_of
from sojourn.interop.flent.series import VERSION
from sojourn.interop.packed import read_file, unpacked

MOST_BYTES: Final = 64 << 20
"""Of a file, packed and unpacked: an hour of four streams at 50 ms has some 60 MiB."""

_BUDGET: Final = "a file so large is not Flent's, or has more samples than can be read at once"

_OLDEST = 3
"""The oldest version with the same raw values as version 4."""


@dataclass(frozen=True)
class FlentFile:
    """One data file."""

    path: Path
    digest: str
    """SHA-256 of its bytes, which tells files apart."""
    metadata: Mapping[str, Any]
    t0: float
    """Unix time of the first data point."""
    raw: Mapping[str, Sequence[Mapping[str, Any]]]
    """Raw values by series, each row with its ``t`` in seconds from T0, in order."""
    step_us: int | None
    """The step that it states, µs."""

    @property
    def name(self) -> str:
        """The name of the Flent test."""
        return str(self.metadata["NAME"])

    @property
    def title(self) -> str:
        """What its author called it; may be empty."""
        return str(self.metadata.get("TITLE") or "")


def read(path: Path) -> FlentFile:
    """Read a file.

    Raises:
        DataFileError: naming the error.
    """
    content = read_file(path, MOST_BYTES, kind="Flent's data files, .flent.gz", too_large=_BUDGET)
    data = _json(path, content)
    metadata, x_values, results, raw = (_part(path, data, key, kind) for key, kind in _PARTS)
    version = data.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise DataFileError(path, f"its format has version {version!r}", help=f"{_OLDEST} and {VERSION} are understood")
    if version < _OLDEST:
        raise DataFileError(
            path, f"its format has version {version}", help="open it in Flent and save it again, which makes it new"
        )
    if not isinstance(metadata.get("NAME"), str):
        raise DataFileError(path, "metadata has no NAME, the Flent test that it is of")
    t0 = _t0(path, metadata)
    series = {name: _raw(path, name, rows, t0) for name, rows in raw.items()}
    for name, values in results.items():
        if not series.get(name):
            series[name] = _results(path, name, x_values, values)
    step = step_of(metadata, x_values)
    return FlentFile(path, hashlib.sha256(content).hexdigest(), metadata, t0, series, step)


_PARTS: tuple[tuple[str, type], ...] = (("metadata", dict), ("x_values", list), ("results", dict), ("raw_values", dict))


def _json(path: Path, content: bytes) -> dict[str, Any]:
    text, _ = unpacked(path, content, MOST_BYTES, too_large=_BUDGET)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFileError(path, f"it is not JSON: {error}", help="Flent's data files end in .flent.gz") from error
    if not isinstance(data, dict):
        raise DataFileError(path, "it is not one of Flent's: there is no object in it")
    return data


def _part(path: Path, data: Mapping[str, Any], key: str, kind: type) -> Any:  # noqa: ANN401 - as JSON is
    part = data.get(key)
    if not isinstance(part, kind):
        what = "has no" if part is None else "has another kind of"
        raise DataFileError(
            path, f"it {what} {key}", help="a file of Flent's has metadata, x_values, results, raw_values"
        )
    return part


def _t0(path: Path, metadata: Mapping[str, Any]) -> float:
    for key in ("T0", "TIME"):
        text = metadata.get(key)
        if text is None:
            continue
        try:
            date = datetime.fromisoformat(str(text))
        except ValueError as error:
            raise DataFileError(path, f"metadata.{key} is not a date: {text!r}") from error
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    raise DataFileError(path, "metadata has neither T0 nor TIME, so it is not known what its times count from")


def _number(value: object) -> bool:
    # No number of Flent's is near what a double holds, which an integer of JSON's may be beyond.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _BEYOND


_BEYOND: Final = 1e15
"""More than any time, rate or count."""


def _raw(path: Path, name: str, rows: object, t0: float) -> Sequence[Mapping[str, Any]]:
    if not isinstance(rows, list):
        raise DataFileError(path, f"raw_values[{name!r}] is no list")
    taken = []
    for i, row in enumerate(rows):
        if not isinstance(row, dict) or not _number(row.get("t")):
            raise DataFileError(path, f"raw_values[{name!r}][{i}] has no time t")
        for key, value in row.items():
            if key in {"val", "tcp_cwnd", "tcp_rtt", "tcp_delivery_rate"} and value is not None and not _number(value):
                raise DataFileError(path, f"raw_values[{name!r}][{i}].{key} is not a number: {value!r}")
        # The dates' doubles are good to less than a microsecond.
        taken.append({**row, "t": round(row["t"] - t0, 6)})
    return sorted(taken, key=lambda row: row["t"])


def _results(path: Path, name: str, x_values: Sequence[Any], values: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(values, list) or len(values) != len(x_values):
        raise DataFileError(path, f"results[{name!r}] has not as many values as x_values")
    rows = []
    for i, (x, value) in enumerate(zip(x_values, values, strict=True)):
        if not _number(x) or not (value is None or _number(value)):
            raise DataFileError(path, f"results[{name!r}][{i}] is not a number: {value!r} at {x!r}")
        if value is not None:
            rows.append({"t": x, "val": value})
    return rows
