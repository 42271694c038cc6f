"""Boxes: of a metric over the seeds, or of every recorded value of a quantity."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from sojourn.core.measured import seeds_said
from sojourn.core.run import Run
from sojourn.core.select import axes_of, cells_of, labelled
from sojourn.errors import UsageError
from sojourn.plotting import labels
from sojourn.plotting.distribution import distributions
from sojourn.plotting.draw.boxes import Box, BoxChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import YES_NO, Drawn, Kind, Option, Options
from sojourn.plotting.kinds.across import COLOUR, FLOW, PANEL, Places, Roles, X, interval_of, measured, metrics_of
from sojourn.views.window import window_said

_FIVE: Final = ("whisker_low", "quartile_1", "median", "quartile_3", "whisker_high")


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    window = options["window"]
    five: list[tuple[Mapping[str, str], Sequence[float], int]]
    if options["quantity"]:
        if options["y"]:
            raise UsageError("a box shows a metric over seeds (y) or a quantity's values (quantity), not both")
        found = [
            ({**axes_of(cell), FLOW: own.of}, own)
            for cell in cells
            for own in distributions(cell, options["quantity"], options["of"], window)
        ]
        label = labels.of_values(options["quantity"], interval_of(cells))
        five = [(own, [values.quantile(part) for part in _PARTS], values.total) for own, values in found]
        whiskers = "the whiskers reach from the 1st to the 99th percentile"
        where = window or "from the origin on"
        said = f"every value of {seeds_said(cells)} together, {where}"
        # Metrics look at the default window; this does not, and the picture itself names its window.
        titled = f"{label}, {where}"
    else:
        wanted = metrics_of(options["y"])
        if len(wanted) != 1:
            raise UsageError("box needs one metric or one quantity", help="y=jain(goodput) or quantity=completion_time")
        values_of = measured(cells, wanted[0], window)
        label = values_of[0].label
        five = [(one.labels, _over_seeds(one.values), one.spread.seeds) for one in values_of]
        titled = str(label)
        whiskers = "the whiskers reach from the least to the largest"
        said = f"over {seeds_said(cells)}, {window_said(cells, window)}"
    roles = Roles.of([own for own, _, _ in five], {o: options[o] for o in ("x", "colour", "panel")}).in_panels(
        own for own, _, _ in five
    )
    places = Places.of([own.get(roles.x, "") for own, _, _ in five], roles.x)
    boxes, rows = [], []
    for own, numbers, count in five:
        group = own.get(roles.x, "")
        shown = f"{places.at[group]:g}" if places.numbers else group
        boxes.append(Box(roles.panel(own), shown, roles.series(own)[0], *numbers))
        rows.append(labelled(own, {**dict(zip(_FIVE, numbers, strict=True)), "values": count, "unit": label.unit}))
    log = options["log"] == "yes"
    chart = BoxChart(boxes, titled, places.title, f"{label.name} by {roles.x}", log)
    caption = (
        f"{label.name} by {roles.x or 'cell'}: {said}. A box spans the middle half, its line is the median; {whiskers}."
    )
    return Drawn(Sheet([chart.part()]), pl.DataFrame(rows, infer_schema_length=None), caption)


_PARTS: Final = (0.01, 0.25, 0.5, 0.75, 0.99)


def _over_seeds(values: Sequence[float]) -> list[float]:
    """Return least, quartiles and largest; quartiles lie between the two nearest."""
    there = sorted(value for value in values if not math.isnan(value))
    if not there:
        return [math.nan] * len(_PARTS)

    def at(part: float) -> float:
        place = part * (len(there) - 1)
        low = math.floor(place)
        high = min(low + 1, len(there) - 1)
        return there[low] + (there[high] - there[low]) * (place - low)

    return [at(part) for part in (0.0, 0.25, 0.5, 0.75, 1.0)]


KIND = Kind(
    "box",
    "Boxes by any axis: of a metric over the seeds, or of every recorded value of a quantity.",
    "Flent's box_totals and its like.",
    _make,
    (
        Option("y", "a metric; its boxes are over the seeds: goodput({flow})"),
        Option("quantity", "a quantity; its boxes are over all its values: completion_time, owd, sojourn"),
        Option("of", "for a quantity: flows or queues, with commas (default: as in cdf)"),
        X,
        COLOUR,
        PANEL,
        Option("log", "whether the vertical axis is logarithmic", "no", YES_NO),
        Option("window", "where to measure, in the words of metrics; the default window, of a quantity the whole run"),
    ),
)
"""The kind."""
