"""How a recorded quantity is distributed: delays, RTTs, completion times; with a linear or a logarithmic tail.

The between-flow induced latency of l4s-tests: the delay of a probe in the same queue as the load.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from sojourn.core.measured import seeds_said
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled
from sojourn.plotting import labels
from sojourn.plotting.distribution import Distribution, distributions
from sojourn.plotting.draw.curves import Curve, CurveChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import YES_NO, Drawn, Kind, Option, Options
from sojourn.plotting.kinds.across import COLOUR, DASH, FLOW, PANEL, Roles, interval_of


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    quantity, window = options["quantity"], options["window"]
    found: list[tuple[Mapping[str, str], Distribution]] = [
        ({**axes_of(cell), FLOW: own.of}, own)
        for cell in cells
        for own in distributions(cell, quantity, options["of"], window)
    ]
    subjects = {own.of for _, own in found}
    roles = Roles.of([own for own, _ in found], {o: options[o] for o in ("colour", "dash", "panel")}).in_panels(
        own for own, _ in found
    )
    label = labels.of_values(quantity, interval_of(cells))
    induced = options["induced"] == "yes"
    curves, frames = [], []
    for own, distribution in found:
        table = distribution.table.select("value", distribution.below)
        if induced:
            table = table.with_columns(pl.col("value") - pl.col("value").min())
        series = roles.series(own)
        curves.append(Curve(roles.panel(own), *series, table["value"].to_list(), table["below"].to_list()))
        named = {axis: text for axis, text in own.items() if axis != FLOW}
        row = labelled(named, {"of": distribution.of, "unit": label.unit} | dict.fromkeys(table.columns))
        frames.append(table.select(*(pl.lit(v).alias(k) for k, v in row.items() if k not in table.columns), pl.all()))
    tail = options["tail"] == "log"
    said = f"{label.name}{' above the least' if induced else ''}"
    side = _side(quantity, tail=tail)
    where = window or "from the origin on"
    # Metrics look at the default window; this does not, and the picture itself names its window.
    title = f"{f'{said} ({label.unit})' if label.unit else said}, {where}"
    log = options["log"] == "yes"
    chart = CurveChart(curves, title, side, f"distribution of {said}", tail, log)
    of = f" of {subjects.pop()}" if len(subjects) == 1 else ""
    caption = f"Distribution of {labels.inside(said)}{of}, {where}; {seeds_said(cells)} of each cell together."
    return Drawn(Sheet([chart.part()]), pl.concat(frames, how="diagonal"), caption)


def _side(quantity: str, *, tail: bool) -> str:
    """Return the title of the vertical axis: fractions of flows, segments, packets or samples."""
    things = {
        "completion_time": "flows",
        "segment_bitrate": "segments",
        "segment_throughput": "segments",
        "buffer": "segments",
    }.get(quantity)
    if things is None:
        things = "packets" if quantity in _OF_PACKETS or quantity.startswith("sojourn.") else "samples"
    usual = labels.TAIL if tail else labels.FRACTION
    return usual.replace("packets", things)


_OF_PACKETS = frozenset({"rtt", "owd", "owd_back", "sojourn", "packet_rtt", "packet_owd"})
"""Quantities that have a value of each packet."""


KIND = Kind(
    "cdf",
    "How a recorded quantity is distributed: delays of packets, RTTs of probes, completion times; log-tail option.",
    (
        "L4S tests, figure 5. There the percentages count from above on a linear axis; here `tail=log` shows as much "
        "of the tail as there are packets."
    ),
    _make,
    (
        Option(
            "quantity",
            "which, by its name in metrics: rtt (of a probe's packets), owd (of a call or probe), completion_time, "
            "sojourn, sojourn.CLASS, packet_rtt, …",
            "rtt",
        ),
        Option("of", "flows or queues, with commas (default: the first probe, the relevant queues, or all flows)"),
        COLOUR,
        DASH,
        PANEL,
        Option("tail", "log shows which part is above, to the rarest packets", "linear", ("linear", "log")),
        Option("log", "whether the quantity's axis is logarithmic", "no", YES_NO),
        Option("induced", "whether the least value is taken off", "no", YES_NO),
        Option("window", "where to look, in the words of metrics; from the origin on if empty"),
    ),
)
"""The kind."""
