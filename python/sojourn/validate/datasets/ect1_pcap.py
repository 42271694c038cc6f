"""``ect1_pcap.csv``: goodput, marks and true queue delay in captures of the runs of ``ect1.csv``, which lies beside it.

The queue delay is a packet's time from host to host less the run's least, hence its time in the queue. Left out:
captures that ended before the run (their window is another), and queue delays where a second netem is in them
(scenarios 5 and 6) or where two flows wait in two queues.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from sojourn.validate.datasets import ect1
from sojourn.validate.rows import Figure, Row, goodput
from sojourn.validate.table import Entry

NEEDED: Final = ("run", "flow", "pcap_truncated", "both_goodput_mbps", "both_ce_frac", "both_qd_mean_ms")
_NORMAL_95: Final = 1.96


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a run whose capture is whole."""
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
    if not row.besides and (len(flows) == 1 or row.queue != "dualpi2"):
        ask = f"mean(queue_delay, {{queue}}) {over}"
        figures += [
            Figure(i, "queue delay, mean", "ms", flow.number("both_qd_mean_ms"), ask, 1e3)
            for i, flow in enumerate(flows)
        ]
    return replace(row, line=flows[0].line, figures=tuple(figures))
