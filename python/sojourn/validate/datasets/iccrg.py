"""``iccrg.csv``: the single flows of the ICCRG presentation, seconds 20 to 40 (reference/measurements.md §3).

Left out: CUBIC at 500 Mbit/s and 80 ms, which its receive window limits, and runs of several flows.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sojourn.validate.rows import Figure, Row, Sender, goodput, srtt
from sojourn.validate.table import Entry

NEEDED: Final = ("run", "link_mbit", "aqm", "cca", "goodput_20_40_mbps", "qd_mean_20_40_ms")
_LIMITED: Final = "Cubic__500_80"
_QDISC: Final = {"dualpi2": "dualpi2", "fq_codel_tst": "fq_codel flows 1"}
_SECONDS: Final = 20
_WINDOW: Final = f"over last {_SECONDS}s before 0s"
_NORMAL_95: Final = 1.96


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a run of one flow."""
    return [_row(entry) for entry in entries if entry.text("n_flows") == "1" and entry.text("run") != _LIMITED]


def _row(entry: Entry) -> Row:
    aqm, cc = entry.text("aqm"), entry.text("cca")
    # A mean of twenty seconds' goodputs, which scatter by as much as is told.
    noise = _NORMAL_95 * entry.number("goodput_1s_std_20_40", 0.0) / math.sqrt(_SECONDS)
    figures = [
        replace(goodput(0, entry.number("goodput_20_40_mbps"), _WINDOW), noise=noise),
        srtt(0, entry.number("srtt_mean_20_40_ms"), _WINDOW),
    ]
    if entry.text("qd_mean_20_40_ms"):
        ask = f"mean(queue_delay, {{queue}}) {_WINDOW}"
        figures.append(Figure(0, "queue delay, mean", "ms", entry.number("qd_mean_20_40_ms"), ask, 1e3))
    # That module takes any ECT for L; of the senders it matters to DCTCP alone.
    qdisc = f"{_QDISC[aqm]} any_ect" if cc == "dctcp" else _QDISC[aqm]
    return Row(
        line=entry.line,
        scenario=entry.text("run"),
        rate_mbit=entry.number("link_mbit"),
        queue="codel1q" if aqm == "fq_codel_tst" else aqm,
        qdisc=qdisc,
        senders=(Sender(cc, entry.number("base_rtt_ms")),),
        figures=tuple(figures),
        length_s=entry.number("duration_s"),
    )
