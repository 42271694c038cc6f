"""``disproof_summary.csv``: the disproof of the "fast lane", experiments A to D, seconds 20 to 59.5.

Rates are compared as they stand: the suite's bottleneck has the rig's own ceiling of 49.74 Mbit/s of payload.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from sojourn.evidence.validation.rows import Figure, Row, Sender, goodput
from sojourn.evidence.validation.table import Entry

NEEDED: Final = ("exp", "series", "metric", "mean", "mean_alone_2_10")
_WINDOW: Final = "over last 39.5s before 0.5s"
_FLOWS: Final = ("cubic50", "cubic40_tweaked")
_RIG_MBIT: Final = 52.0
_REWRITES: Final = {
    "A": ("ect0_to_ect1 of 2",),
    "B": ("ect0_to_ect1 of 2", "ce_to_ect ECT(1) of 2"),
    "C": ("ce_to_ect ECT(0) of 2",),
    "D": (),
}
_MARKING: Final = {"C": (0, "fraction_c"), "L_coupled": (1, "fraction_l")}
"""Shares of packets marked in C and, by the coupling, in L: the means of short intervals', as plotted."""


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row an experiment."""
    return [_row(name, list(group)) for name, group in groupby(entries, key=lambda entry: entry.text("exp"))]


def _row(name: str, entries: list[Entry]) -> Row:
    figures = []
    for entry in entries:
        series, metric, mean = entry.text("series"), entry.text("metric"), entry.number("mean")
        if series in _FLOWS and metric == "rate_mbps":
            figures.append(goodput(_FLOWS.index(series), mean, _WINDOW))
        elif series in _FLOWS and metric == "rtt_ms":
            flow = _FLOWS.index(series)
            figures.append(Figure(flow, "RTT, mean", "ms", mean, f"mean(rtt, {{flow}}) {_WINDOW}", 1e3))
        elif series in _MARKING:
            flow, gauge = _MARKING[series]
            ask = f"mean(state.{gauge}, {{queue}}) {_WINDOW}"
            figures.append(Figure(flow, "marking", "%", mean, ask, 100))
    return Row(
        line=entries[0].line,
        scenario=f"{name}: {entries[0].text('desc')}",
        rate_mbit=_RIG_MBIT,
        queue="dualpi2",
        qdisc="dualpi2",
        senders=(Sender("cubic", 20.0, cap_mbps=50.0), Sender("cubic", 20.0, start_s=10.0, cap_mbps=40.0)),
        figures=tuple(sorted(figures, key=lambda figure: (figure.quantity, figure.flow))),
        length_s=60.0,
        besides=_REWRITES[name],
    )
