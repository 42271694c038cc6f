"""Any metric against any axis, as bars: groups along one axis, colours for another, panels for the rest."""

import math
from collections.abc import Sequence

from sojourn.core.run import Run
from sojourn.core.select import cells_of
from sojourn.plotting import labels as naming
from sojourn.plotting.draw.bars import Bar, BarChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.across import (
    COLOUR,
    PANEL,
    STATISTIC,
    WINDOW,
    Places,
    Roles,
    X,
    measured_each,
    of_means_said,
    of_seeds_said,
    rows_of,
)
from sojourn.plotting.kinds.barred import by_series
from sojourn.views.window import window_said


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    by_metric = measured_each(cells, options, "bars")
    found = [one for own in by_metric for one in own]
    roles = Roles.of([one.labels for one in found], options).in_panels(one.labels for one in found)
    log = options["log"] == "yes"
    places = Places.of([one.labels.get(roles.x, "") for one in found], roles.x)
    parts = []
    for own in by_metric:
        bars = []
        for one in own:
            group = one.labels.get(roles.x, one.cell.title)
            shown = f"{places.at[group]:g}" if places.numbers and group in places.at else group
            spread = one.spread
            low, high = (math.nan, math.nan) if one.dots else (spread.low, spread.high)
            series = roles.series(one.labels)[0]
            value = one.drawn(options["statistic"])
            bars.append(Bar("", roles.panel(one.labels), shown, series, value, low, high, seeds=one.dots))
        label = own[0].label
        below = places.title if own is by_metric[-1] else ""
        chart = BarChart(
            by_series(bars), str(label), f"{label.name} by {roles.x}", below, logarithmic=log, high=label.top
        )
        parts.append(chart.part())
    names = naming.listed(own[0].label for own in by_metric)
    seeds = of_seeds_said(found, cells, options["statistic"])
    caption = f"{names} by {roles.x or 'cell'}, {window_said(cells, options['window'])}: {seeds}."
    caption += of_means_said(cells, (own[0].metric for own in by_metric))
    return Drawn(Sheet(parts), rows_of(found), caption)


KIND = Kind(
    "bars",
    "Any metric against any axis: groups of bars, colours for one axis, panels for what is left, seeds or their range.",
    "No published figure.",
    _make,
    (
        Option(
            "y", "what is drawn: metrics, with commas; {flow} is each flow, {queue} the bottleneck", "goodput({flow})"
        ),
        X,
        COLOUR,
        PANEL,
        STATISTIC,
        Option("log", "whether the vertical axis is logarithmic", "no", ("no", "yes")),
        WINDOW,
    ),
)
"""The kind."""
