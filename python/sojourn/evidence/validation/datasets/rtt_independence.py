"""``rtt_independence.csv``: RTT independence in steps of 100 s, one line a run and step.

Each line is a part of its run, in which the base RTT is the one that it names; a run is known by what it begins with.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from sojourn.errors import UsageError
from sojourn.evidence.validation.rows import Figure, Row, Sender
from sojourn.evidence.validation.table import Entry

NEEDED: Final = ("run", "link_mbit", "cc1", "cc2", "base_rtt1_ms", "base_rtt2_ms", "d1_20_98_mbps", "d1_50_98_mbps")
_STEP_S: Final = 100
_MODES: Final = {"0": "none", "1": "rate", "2": "scalable", "3": "additive"}
_WINDOWS: Final = (("goodput", 20, "20_98"), ("goodput, settled", 50, "50_98"))
"""Name, seconds of the step at which the window begins (it ends at 98), and the table's columns."""


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a line."""
    found: list[Row] = []
    for _, lines in groupby(entries, key=lambda entry: (entry.text("run"), entry.text("cc1"))):
        steps = list(lines)
        senders = tuple(_sender(steps[0], n) for n in ("1", "2"))
        found += [_row(step, entry, senders) for step, entry in enumerate(steps)]
    return found


def _sender(entry: Entry, n: str) -> Sender:
    """Return a sender from ``prague(rtt_scaling=1,target 15ms)`` or ``cubic``."""
    said = re.fullmatch(r"(\w+)(?:\(rtt_scaling=(\d)(?:,[^)]*)?\))?", entry.text(f"cc{n}"))
    if said is None or (said[2] is not None and said[2] not in _MODES):
        raise UsageError(
            f'{entry.file}:{entry.line}: column cc{n} has "{entry.text(f"cc{n}")}", not a sender',
            help="such as cubic, or prague(rtt_scaling=1,target 15ms)",
        )
    return Sender(said[1], entry.number(f"base_rtt{n}_ms"), scaling=_MODES[said[2]] if said[2] else "")


def _row(step: int, entry: Entry, senders: tuple[Sender, ...]) -> Row:
    begins = step * _STEP_S
    figures = [
        Figure(
            i,
            name,
            "Mbit/s",
            entry.number(f"d{i + 1}_{columns}_mbps"),
            f"goodput({{flow}}) from {begins + first}s to {begins + 98}s",
            1e-6,
            is_rate=True,
        )
        for name, first, columns in _WINDOWS
        for i in range(len(senders))
    ]
    rtts = [f"{entry.number(f'base_rtt{n}_ms'):g} ms" for n in ("1", "2")]
    return Row(
        line=entry.line,
        scenario=entry.text("run"),
        rate_mbit=entry.number("link_mbit"),
        queue="dualpi2",
        qdisc="dualpi2",
        senders=senders,
        figures=tuple(figures),
        length_s=900.0,
        part=f"at {' / '.join(dict.fromkeys(rtts))}",
    )
