"""The requests that a page may make, read from JSON into types; others are refused in words."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from sojourn.errors import UsageError

MOST_BYTES: Final = 4 << 20
"""Of a request: the numbers of half a million runs."""

_LONGEST: Final = 500
"""Characters of an expression or of a name."""

_LATEST_S: Final = 1e15

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

MOST_LINES: Final = 24
"""Runs that lie over one another."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of some runs."""

    revision: int
    expression: str
    runs: Sequence[int]

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the request.

        Raises:
            UsageError: if it is something else.
        """
        own = _object(body)
        return cls(_number(own, "revision"), _text(own, "metric"), _numbers(own, "runs"))


@dataclass(frozen=True, slots=True)
class Series:
    """A column over time of some runs."""

    revision: int
    table: str
    column: str
    runs: Sequence[int]
    between: tuple[float, float] | None

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the request.

        Raises:
            UsageError: if it is something else.
        """
        own = _object(body)
        runs = _numbers(own, "runs")
        if len(runs) > MOST_LINES:
            raise UsageError(
                f"{len(runs)} runs are too many to lie over one another", help=f"choose up to {MOST_LINES}"
            )
        return cls(_number(own, "revision"), _text(own, "table"), _text(own, "column"), runs, _span(own.get("between")))


@dataclass(frozen=True, slots=True)
class One:
    """One run."""

    revision: int
    run: int

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the request.

        Raises:
            UsageError: if it is something else.
        """
        own = _object(body)
        return cls(_number(own, "revision"), _number(own, "run"))


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("the request is no JSON object")
    return found


def _number(own: Mapping[str, Any], key: str) -> int:
    value = own.get(key)
    if not _is_number(value):
        raise UsageError(f"{key} is a whole number")
    return int(str(value))


def _numbers(own: Mapping[str, Any], key: str) -> list[int]:
    value = own.get(key)
    if not isinstance(value, list) or not all(map(_is_number, value)):
        raise UsageError(f"{key} is a list of whole numbers")
    return value


def _is_number(value: object) -> bool:
    """Whether a value of JSON is a whole number of at most 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _text(own: Mapping[str, Any], key: str) -> str:
    value = own.get(key)
    # JSON can write half of a surrogate pair, which is no character.
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST or _SURROGATE.search(value):
        raise UsageError(f"{key} is a text of up to {_LONGEST} characters")
    return value.strip()


def _span(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    match value:
        case [float() | int() as low, float() | int() as high] if max(abs(low), abs(high)) < _LATEST_S and low < high:
            return float(low), float(high)
    raise UsageError("between is two times in seconds, the first before the second")
