"""Any metric against any axis, as lines: colours for one axis, dashes for another, panels for the rest."""

import math
from collections.abc import Sequence

from sojourn.core.run import Run
from sojourn.core.select import cells_of
from sojourn.errors import UsageError
from sojourn.plotting import labels as naming
from sojourn.plotting.draw.points import Point, PointChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.across import (
    COLOUR,
    DASH,
    LOG,
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
from sojourn.views.window import window_said

Y = Option("y", "what is drawn: metrics, with commas; {flow} is each flow, {queue} the bottleneck", "goodput({flow})")


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    by_metric = measured_each(cells, options, "lines")
    found = [one for own in by_metric for one in own]
    roles = Roles.of([one.labels for one in found], options).in_panels(one.labels for one in found)
    if not roles.x:
        raise UsageError("these runs have no axis that varies: the horizontal axis would be empty")
    places = Places.of([one.labels[roles.x] for one in found if roles.x in one.labels], roles.x)
    points = []
    for one in found:
        if roles.x in one.labels:
            own = one.spread
            low, high = (math.nan, math.nan) if one.dots else (own.low, own.high)
            series = roles.series(one.labels)
            where = places.at[one.labels[roles.x]]
            points.append(
                Point(
                    str(one.label),
                    roles.panel(one.labels),
                    *series,
                    where,
                    one.drawn(options["statistic"]),
                    low,
                    high,
                    seeds=one.dots,
                )
            )
    names = naming.listed(own[0].label for own in by_metric)
    tops = {str(one.label): one.label.top for one in found if one.label.top is not None}
    chart = PointChart(points, places.title, f"{names} by {roles.x}", places.ticks, log=options["log"], tops=tops)
    seeds = of_seeds_said(found, cells, options["statistic"])
    caption = f"{names} by {roles.x}, {window_said(cells, options['window'])}: {seeds}."
    caption += of_means_said(cells, (own[0].metric for own in by_metric))
    return Drawn(Sheet([chart.part()]), rows_of(found), caption)


KIND = Kind(
    "lines",
    "Any metric against any axis: lines in colours and dashes, panels for what is left, seeds or their range.",
    "No published figure: what papers plot against buffer, RTT, rate and load.",
    _make,
    (Y, X, COLOUR, DASH, PANEL, STATISTIC, LOG, WINDOW),
)
"""The kind."""
