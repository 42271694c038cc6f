"""Any metric against any other: a point a cell, and an ellipse around its runs.

Throughput against delay, as in TCP ex Machina (Winstein, Balakrishnan, SIGCOMM 2013).
"""

import math
from collections.abc import Sequence

import polars as pl

from sojourn.core.measured import mean_said
from sojourn.core.run import Run
from sojourn.core.select import cells_of, labelled
from sojourn.errors import UsageError
from sojourn.plotting import labels as naming
from sojourn.plotting.draw.points import Ellipse, Point, PointChart
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.across import (
    COLOUR,
    DASH,
    FLOW,
    LOG,
    PANEL,
    WINDOW,
    Measured,
    Roles,
    measured,
    of_means_said,
)
from sojourn.views.window import window_said


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    along, up = (measured(cells, options[name], options["window"]) for name in ("x", "y"))
    pairs = _pairs(along, up)
    roles = Roles.of([labels for labels, _, _ in pairs], {o: options[o] for o in ("colour", "dash", "panel")})
    if len(roles.panels) > 1 and not options["panel"]:
        # Points are not joined: where markers do not suffice, panels of the first axis are enough.
        roles = Roles(roles.x, roles.colour, roles.dash, roles.panels[:1])
    roles = roles.in_panels(labels for labels, _, _ in pairs)
    row = str(up[0].label)
    points, ellipses, rows = [], [], []
    for labels, a, b in pairs:
        x, y = a.spread, b.spread
        place = (row, roles.panel(labels))
        colour, dash = roles.series(labels)
        points.append(Point(*place, colour, dash, x.mean, y.mean, y.low, y.high, x.low, x.high))
        runs_of = [(p, q) for p, q in zip(a.values, b.values, strict=True) if not math.isnan(p + q)]
        around = Ellipse.around(runs_of) if options["ellipse"] == "yes" else None
        if around is not None:
            ellipses.append((*place, colour, around))
            points[-1] = Point(*place, colour, dash, x.mean, y.mean, y.mean, y.mean)
        own = {
            "x": x.mean,
            "x_low": x.low,
            "x_high": x.high,
            "y": y.mean,
            "y_low": y.low,
            "y_high": y.high,
            "seeds": len(runs_of),
            "ellipse_long": around.long if around else math.nan,
            "ellipse_short": around.short if around else math.nan,
            "ellipse_angle": around.angle if around else math.nan,
        }
        rows.append(labelled(labels, own))
    chart = PointChart(
        points,
        str(along[0].label),
        f"{up[0].label.name} against {naming.inside(along[0].label.name)}",
        joined=False,
        ellipses=ellipses,
        log=options["log"],
        reversed=options["reverse"] == "yes",
    )
    measured_in = window_said(cells, options["window"])
    said = f"{up[0].label.name} against {naming.inside(along[0].label.name)}, {measured_in}: {mean_said(cells)}"
    said += "; each ellipse is one standard deviation of the Gaussian that fits its runs best" if ellipses else ""
    said += "; less is to the right, so that better is up and right" if options["reverse"] == "yes" else ""
    return Drawn(
        Sheet([chart.part()]),
        pl.DataFrame(rows, infer_schema_length=None),
        f"{said}." + of_means_said(cells, (options["x"], options["y"])),
    )


def _pairs(along: Sequence[Measured], up: Sequence[Measured]) -> list[tuple[dict[str, str], Measured, Measured]]:
    """Return the pairs of both metrics of the same cell and flow; a metric of the whole cell pairs with each flow."""
    found = []
    for b in up:
        for a in along:
            same = a.cell.key == b.cell.key
            if same and a.labels.get(FLOW, b.labels.get(FLOW)) == b.labels.get(FLOW, a.labels.get(FLOW)):
                found.append(({**a.labels, **b.labels}, a, b))
    if not found:
        raise UsageError("the two metrics have nothing in common")
    return found


KIND = Kind(
    "scatter",
    "Any metric against any other: throughput against delay, a point a cell, an ellipse around its runs.",
    (
        "TCP ex Machina (Winstein, Balakrishnan, SIGCOMM 2013), throughput against delay: ellipses of one standard "
        "deviation, less delay to the right. An ellipse needs three seeds; with fewer, bars span them."
    ),
    _make,
    (
        Option("x", "the metric along the horizontal axis", "mean(queue_delay, {queue})"),
        Option("y", "the metric along the vertical axis", "goodput({flow})"),
        COLOUR,
        DASH,
        PANEL,
        Option("ellipse", "whether to draw ellipses", "yes", ("yes", "no")),
        Option("reverse", "whether less is to the right", "yes", ("yes", "no")),
        LOG,
        WINDOW,
    ),
)
"""The kind."""
