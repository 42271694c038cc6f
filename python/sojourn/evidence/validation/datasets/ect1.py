"""``ect1.csv``: the L4S team's re-run of sce-l4s-ect1, one line a run and flow.

Measured over the window ``both``: from 10 s after the last flow's start to 2 s before the end. In scenarios 3 and 4 the
bottleneck changes; they are compared phase by phase (``ect1_phases.csv``).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final

from sojourn.evidence.validation.rows import Row, Sender, delivery_rate, srtt
from sojourn.evidence.validation.table import Entry, read

NEEDED: Final = ("run", "qdisc_tc", "stream_delays", "both_rate_mbps", "both_rtt_mean_ms")
_FIRST_AND_LAST: Final = 12.0
"""Seconds of a run that are not in the window: 10 after the last start, 2 before the end."""


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a run."""
    return [_measured(row, flows) for row, flows in _runs(entries) if not changes(row)]


def described(neighbour: Path) -> dict[str, Row]:
    """Return the published runs by name, without figures, from the ``ect1.csv`` in another table's folder.

    Raises:
        UsageError: if there is none, or it cannot be understood.
    """
    entries = read(neighbour.with_name("ect1.csv"), NEEDED)
    return {flows[0].text("run"): row for row, flows in _runs(entries)}


def window(row: Row) -> str:
    """Return the window ``both`` of a run, as metrics have it."""
    last_start = max(sender.start_s for sender in row.senders)
    return f"over last {(row.length_s or 0.0) - last_start - _FIRST_AND_LAST:g}s before 2s"


def changes(row: Row) -> bool:
    """Whether the bottleneck is another one for a while."""
    return any(text.startswith(("rate", "replace")) for text in row.besides)


def _runs(entries: Sequence[Entry]) -> list[tuple[Row, list[Entry]]]:
    grouped = groupby(entries, key=lambda entry: entry.text("run"))
    return [(_run(flows), flows) for flows in (list(group) for _, group in grouped)]


def _run(flows: list[Entry]) -> Row:
    first = flows[0]
    starts = [float(text) for text in first.text("stream_delays", "0").split(",")]
    rate, rtt = first.number("rate_mbit"), first.number("rtt_ms")
    besides: tuple[str, ...] = ()
    # A second netem is the child of the delay's: `parent 1:1 handle 10:1 netem ...`.
    if jitter := re.search(r"parent \S+ handle \S+ netem (.+)$", first.text("netem_data_dir")):
        besides = (f"netem {jitter[1]}",)
    if other := first.text("qdisc1"):
        # `pie(noecn)` for a while, and back.
        besides = (f"replace {re.sub(r'[()]', ' ', other).strip()}", f"replace {first.text('qdisc_tc')}")
    elif first.text("rate1_mbit"):
        besides = (f"rate {first.number('rate1_mbit'):g}mbit", f"rate {rate:g}mbit")
    return Row(
        line=first.line,
        scenario=first.text("scenario"),
        rate_mbit=rate,
        queue=first.text("qdisc"),
        qdisc=first.text("qdisc_tc"),
        senders=tuple(Sender(f.text("cc"), rtt, start_s=start) for f, start in zip(flows, starts, strict=True)),
        figures=(),
        length_s=first.number("length_s"),
        besides=besides,
    )


def _measured(row: Row, flows: list[Entry]) -> Row:
    over = window(row)
    rates = [delivery_rate(i, flow.number("both_rate_mbps"), over) for i, flow in enumerate(flows)]
    rtts = [srtt(i, flow.number("both_rtt_mean_ms"), over) for i, flow in enumerate(flows)]
    return replace(row, figures=(*rates, *rtts))
