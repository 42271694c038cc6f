"""A stream's samples onto sample intervals.

Flent's samples come when netperf has something to say, every 220 ms say, and each is the mean rate since the one
before. Our metrics read a row as the mean over one step of the recorder. So a sample becomes rows for every step that
it covers.

Invariant: the bytes arrived by the end of any sample are the same before and after. Times are whole microseconds, as
they are in the files.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sojourn.errors import UsageError

Row = Mapping[str, Any]

MOST_ROWS: Final = 2_000_000
"""Of one stream."""


def on_steps(rows: Sequence[Row], step_us: int) -> list[dict[str, Any]]:
    """Return a row for the end of each step that samples cover.

    ``val`` is the mean over the step, a part that no sample covers counting as nothing; every other number is that of
    the sample in which the step ends.

    Args:
        rows: samples in order: ``t`` in s, ``val``, and ``dur`` in s where the file has it.
        step_us: the sample interval, µs.

    Raises:
        UsageError: if these are more than :data:`MOST_ROWS`.
    """
    spans = list(_spans(rows, step_us))
    if not spans:
        return []
    first, last = spans[0][0] // step_us + 1, -(-spans[-1][1] // step_us)
    if last - first >= MOST_ROWS:
        raise UsageError(f"it has more than {MOST_ROWS:,} steps of {step_us} µs from its first sample to its last")
    made: list[dict[str, Any]] = []
    place = 0
    for end in range(first * step_us, last * step_us + 1, step_us):
        while place < len(spans) - 1 and spans[place][1] <= end - step_us:
            place += 1
        total, covered, at = 0.0, 0, place
        while True:
            begins, ends, row = spans[at]
            part = min(ends, end) - max(begins, end - step_us)
            if part > 0 and row.get("val") is not None:
                total += row["val"] * part
                covered += part
            if ends >= end or at == len(spans) - 1:
                break
            at += 1
        made.append({**spans[at][2], "t": end / 1e6, "val": total / step_us if covered else None})
    return made


def _spans(rows: Sequence[Row], step_us: int) -> Iterator[tuple[int, int, Row]]:
    """Yield when each sample begins and ends, µs; the first has no sample before it and says itself how long it is."""
    before: int | None = None
    for row in rows:
        ends = round(row["t"] * 1e6)
        if before is None:
            own = row.get("dur")
            stated = isinstance(own, int | float) and 0 < own * 1e6 <= _LONGEST_US
            before = ends - (round(own * 1e6) if stated and own is not None else step_us)
        if ends > before:
            yield before, ends, row
            before = ends


_LONGEST_US: Final = 10_000_000
"""A first sample that says it is longer is not believed."""


def step_of(metadata: Mapping[str, Any], x_values: Sequence[Any]) -> int | None:
    """Return the step that a file states, µs; None if it states none that is usable."""
    apart = x_values[1] - x_values[0] if len(x_values) > 1 and all(map(_number, x_values[:2])) else None
    for seconds in (metadata.get("STEP_SIZE"), apart):
        if _number(seconds) and seconds is not None and _LEAST_S <= seconds <= _MOST_S:
            return round(float(seconds) * 1e6)
    return None


_LEAST_S: Final = 0.001
_MOST_S: Final = 10.0


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
