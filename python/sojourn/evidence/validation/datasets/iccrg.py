"""``iccrg.csv``: the runs of the ICCRG presentation, a line a run and flow; seconds 20 to 40.

Left out: CUBIC at 500 Mbit/s and 80 ms, which its receive window limits.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from sojourn.evidence.validation.rows import Figure, Row, Sender, goodput, queue_delays, srtt
from sojourn.evidence.validation.table import Entry

NEEDED: Final = ("run", "link_mbit", "aqm", "cca", "goodput_20_40_mbps", "qd_mean_20_40_ms")
_LIMITED: Final = "Cubic__500_80"
_QDISC: Final = {"dualpi2": "dualpi2", "fq_codel_tst": "fq_codel flows 1"}
_SECONDS: Final = 20
_WINDOW: Final = f"over last {_SECONDS}s before 0s"
_NORMAL_95: Final = 1.96
_UNIT_MS: Final = 0.0328
"""What the queue wrote its delays in."""
_DELAYS: Final = ("qd_mean_20_40_ms", "qd_p50", "qd_p90", "qd_p95", "qd_p99", "qd_p999", "qd_max")


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a run."""
    runs = groupby(entries, key=lambda entry: entry.text("run"))
    return [_row(list(flows)) for run, flows in runs if run != _LIMITED]


def _row(flows: list[Entry]) -> Row:
    first = flows[0]
    aqm, senders = first.text("aqm"), [flow.text("cca") for flow in flows]
    figures: list[Figure] = []
    for i, flow in enumerate(flows):
        # A mean of the goodputs of twenty single seconds; the table has their standard deviation.
        noise = _NORMAL_95 * flow.number("goodput_1s_std_20_40", 0.0) / math.sqrt(_SECONDS)
        figures += [
            replace(goodput(i, flow.number("goodput_20_40_mbps"), _WINDOW), noise=noise),
            srtt(i, flow.number("srtt_mean_20_40_ms"), _WINDOW),
        ]
        # From enqueue to dequeue, written by the queue into each packet: our sojourn time of the flow's packets.
        published = [flow.number(column) if flow.text(column) else None for column in _DELAYS]
        figures += queue_delays(i, published, lambda word: f"{word}(sojourn, {{flow}}) {_WINDOW}", _UNIT_MS)
    # That module takes any ECT for L; of the senders it matters to DCTCP alone.
    qdisc = f"{_QDISC[aqm]} any_ect" if "dctcp" in senders else _QDISC[aqm]
    return Row(
        line=first.line,
        scenario=first.text("run"),
        rate_mbit=first.number("link_mbit"),
        queue="codel1q" if aqm == "fq_codel_tst" else aqm,
        qdisc=qdisc,
        senders=tuple(Sender(flow.text("cca"), flow.number("base_rtt_ms")) for flow in flows),
        figures=tuple(figures),
        length_s=first.number("duration_s"),
    )
