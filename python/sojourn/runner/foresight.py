"""Estimates of the needs of runs before they are made, and the refusal of those that cannot fit into memory."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn import _core
from sojourn.core.store import RunKey
from sojourn.errors import Refused

PROCESS_BYTES: Final = 150e6
"""Memory of the program besides its runs, tables that are being stored included."""


_KEEPS: Final = [word for word, _ in _core.keeps()]
"""How much of a run a folder may keep, in the order of :attr:`_core.Foreseen.disk_bytes`."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of runs together; every number is an estimate, and NaN where the engine cannot say."""

    runs: int
    simulated_s: float
    packets: float
    """Packets that carry data or are a probe's; acknowledgements are not counted."""
    cpu_s: float
    """How long they keep one core busy, s."""
    memory_bytes: float
    """Bytes of memory, of as many runs at a time as there are threads, and of the program itself."""
    disk_bytes: float
    """Bytes that the results folder keeps of them."""

    def expected_s(self, threads: int) -> float:
        """Return their time on this number of idle cores, s; a run uses one."""
        return self.cpu_s / max(min(threads, self.runs), 1)


def needs(keys: Sequence[RunKey], *, engine: str, threads: int) -> Needs:
    """Return an estimate of these runs' cost, with this number in parallel."""
    found = _core.foresee([key.resolved for key in keys], engine=engine)

    def together(of: Callable[[_core.Foreseen], float]) -> float:
        return math.fsum(math.nan if own is None else of(own) for own in found)

    return Needs(
        runs=len(keys),
        simulated_s=math.fsum(key.scenario.length for key in keys),
        packets=together(lambda own: own.packets),
        cpu_s=together(lambda own: own.cpu_s),
        memory_bytes=PROCESS_BYTES + math.fsum(_largest(found, threads)),
        disk_bytes=math.fsum(
            math.nan if own is None else own.disk_bytes[_KEEPS.index(key.keep)]
            for own, key in zip(found, keys, strict=True)
        ),
    )


def _largest(found: Sequence[_core.Foreseen | None], threads: int) -> list[float]:
    """Return the memory of the largest runs, as many as may be made at a time; an engine that cannot say gives NaN."""
    each = [math.nan if own is None else math.fsum(own.memory) for own in found]
    return sorted(each, reverse=True)[:threads]


def machine_bytes() -> float:
    """Return how much memory this machine has; without end where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf


def refuse_what_cannot_fit(
    keys: Sequence[RunKey], *, engine: str, threads: int, most_bytes: float | None = None
) -> None:
    """Refuse runs that would need more memory than there is.

    Args:
        keys: the runs.
        engine: what makes them.
        threads: runs at a time.
        most_bytes: the memory that they may take, bytes (default: the machine's).

    Raises:
        Refused: naming the run that needs most, what of it does, and what would be right.
    """
    found = _core.foresee([key.resolved for key in keys], engine=engine)
    most = machine_bytes() if most_bytes is None else most_bytes
    limit = f"this machine has {size(most)}" if most_bytes is None else f"it may take {size(most)}"
    sized = [(math.fsum(own.memory), own, key) for own, key in zip(found, keys, strict=True) if own is not None]
    if not sized:
        return
    largest, own, key = max(sized, key=lambda one: one[0])
    if largest + PROCESS_BYTES > most:
        raise Refused(
            f"the run {key.label} would need about {size(largest + PROCESS_BYTES)} of memory, and {limit}",
            help=_smaller(key, own),
        )
    together = PROCESS_BYTES + math.fsum(_largest(found, threads))
    if together > most:
        fits = max(n for n in range(1, threads) if PROCESS_BYTES + math.fsum(_largest(found, n)) <= most)
        raise Refused(
            f"{threads} runs at a time would need about {size(together)} of memory, and {limit}",
            help=f"make fewer at a time: {fits} fit{'s' if fits == 1 else ''} (--threads {fits})",
        )


def _smaller(key: RunKey, own: _core.Foreseen) -> str:
    """Return advice that makes a run smaller, by its largest need."""
    packets, flows, rows = own.memory
    if packets >= max(flows, rows):
        return (
            f"packets on their way and in queues take {size(packets)} of it: lower a rate, a delay, a receive window "
            "or a queue's limit"
        )
    if flows >= rows:
        return f"its {len(key.scenario.flows):,} flows take {size(flows)} of it: have fewer"
    return f"rows of its tables take {size(rows)} of it: make sample_interval longer, the run shorter, or flows fewer"


def size(value: float) -> str:
    """Return a size for people: ``4.2 MB``.

    >>> size(999), size(4_200_000), size(153e9)
    ('999 B', '4.2 MB', '153 GB')
    """
    if math.isnan(value):
        return "–"
    return f"{_scaled(value)}B"


def count(value: float) -> str:
    """Return a count for people.

    >>> count(999), count(4_200_000), count(2.5e9)
    ('999', '4.2 M', '2.5 G')
    """
    return "–" if math.isnan(value) else _scaled(value).rstrip()


def _scaled(value: float) -> str:
    units = ["", "k", "M", "G", "T"]
    while value >= 999.5 and len(units) > 1:  # noqa: PLR2004 - three digits
        value /= 1000
        del units[0]
    unit = units[0]
    digits = f"{value:.0f}" if value >= 9.95 or not unit else f"{value:.1f}"  # noqa: PLR2004
    return f"{digits} {unit}"
