"""``ect1_pcap.csv``: goodput, marks and true queue delay in captures of the runs of ``ect1.csv`` in the same folder.

The queue delay is the table's own: each data packet's delay from the client's capture to the server's, less the least
of the run, of all its flows. Unlike a queue's own sojourn time, it contains waits at the line's end, in the hosts, and
the jitter of a second netem (scenarios 5 and 6). Captures that ended before the run are left out, since they have
another window.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from sojourn.evidence.validation.datasets import ect1
from sojourn.evidence.validation.rows import Figure, Row, goodput, queue_delays
from sojourn.evidence.validation.table import Entry

NEEDED: Final = ("run", "flow", "pcap_truncated", "both_goodput_mbps", "both_ce_frac", "both_qd_mean_ms")
_NORMAL_95: Final = 1.96
_STAMPS_MS: Final = 0.001
"""Both captures have stamps of whole microseconds."""
_LEAST: Final = "min(packet_owd, {first}) over all"
_DELAYS: Final = [f"both_qd_{word}_ms" for word in ("mean", "p50", "p90", "p95", "p99", "p99.9", "max")]


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row for each run with a whole capture."""
    found: list[Row] = []
    runs = ect1.described(entries[0].file) if entries else {}
    for run, group in groupby(entries, key=lambda entry: entry.text("run")):
        flows = list(group)
        row = runs.get(run)
        whole = not any(flow.text("pcap_truncated") == "True" for flow in flows)
        if row is not None and whole and len(flows) == len(row.senders) and not ect1.changes(row):
            found.append(_row(row, flows))
    return found


def _row(row: Row, flows: list[Entry]) -> Row:
    over = ect1.window(row)
    figures = [goodput(i, flow.number("both_goodput_mbps"), over) for i, flow in enumerate(flows)]
    for i, flow in enumerate(flows):
        marks, share = flow.number("both_n_ce"), flow.number("both_ce_frac")
        # A count's own noise is its square root; none at all is as good as fewer than one.
        noise = _NORMAL_95 * math.sqrt(max(marks, 1.0)) * (share / marks if marks else 0.0)
        ask = f"ce_fraction({{flow}}) {over}"
        figures.append(Figure(i, "CE fraction", "%", 100 * share, ask, 100, noise=100 * noise))
    for i, flow in enumerate(flows):
        published = [flow.number(column) if flow.text(column) else None for column in _DELAYS]
        # The flow that starts first finds the path empty: its least delay is the run's.
        figures += queue_delays(
            i, published, lambda word: f"{word}(packet_owd, {{flow}}) {over} - {_LEAST}", _STAMPS_MS
        )
    return replace(row, line=flows[0].line, figures=tuple(figures))
