"""Any metric over two axes: a field of colours with the numbers in it."""

from collections.abc import Sequence

from sojourn.core.measured import mean_said
from sojourn.core.run import Run
from sojourn.core.select import cells_of
from sojourn.errors import UsageError
from sojourn.plotting import labels as naming
from sojourn.plotting.draw.heat import HeatChart
from sojourn.plotting.draw.sheet import Part, Sheet
from sojourn.plotting.kind import Drawn, Kind, Option, Options
from sojourn.plotting.kinds.across import NONE, WINDOW, Places, Roles, measured, metrics_of, of_means_said, rows_of
from sojourn.views.window import window_said


def _make(runs: Sequence[Run], options: Options) -> Drawn:
    cells = cells_of(runs)
    wanted = metrics_of(options["value"])
    if not wanted:
        raise UsageError("heatmap needs a metric to draw", help="value=share(goodput, NAME), for example")
    parts, every = [], []
    for expression in wanted:
        found = measured(cells, expression, options["window"])
        every += found
        axes = list(dict.fromkeys(axis for one in found for axis in one.labels))
        if options["y"] not in {"", NONE, *axes}:
            raise UsageError.unknown("axis for y", options["y"], axes)
        # The vertical axis is chosen as colours are elsewhere: the first that is left.
        chosen = {"x": options["x"], "colour": options["y"], "panel": options["panel"]}
        roles = Roles.of([one.labels for one in found], chosen).in_panels(one.labels for one in found)
        if not roles.x or not roles.colour or NONE in (options["x"], options["y"]):
            raise UsageError("a heatmap needs two axes that vary", help="`sojourn plot DIR bars` shows one")
        across, down = (Places.of([one.labels.get(a, "") for one in found], a) for a in (roles.x, roles.colour))
        values: dict[tuple[str, str, str], float] = {}
        for one in found:
            own = [one.labels.get(axis, "") for axis in (roles.x, roles.colour)]
            shown = [f"{p.at[v]:g}" if p.numbers else v for p, v in zip((across, down), own, strict=True)]
            values[roles.panel(one.labels), shown[0], shown[1]] = one.spread.mean
        label = found[0].label
        ends = None if label.top is None else (0.0, label.top)
        log = options["log"] == "yes"
        shows = f"{label.name} by {roles.x} and {roles.colour}"
        parts.append(Part(HeatChart(values, across.title, down.title, str(label), shows, None if log else ends, log)))
    names = naming.listed(one.label for one in every)
    caption = f"{names} by {roles.x} and {roles.colour}, {window_said(cells, options['window'])}: {mean_said(cells)}."
    caption += of_means_said(cells, wanted)
    return Drawn(Sheet(parts), rows_of(every), caption)


KIND = Kind(
    "heatmap",
    "Any metric over two axes: colours with the numbers in them, panels for what is left.",
    "No published figure: what papers draw over buffer and RTT. The colours (cividis) keep their order in print.",
    _make,
    (
        Option("value", "what is drawn: metrics, with commas; {flow} is each flow", "utilisation({queue})"),
        Option("x", "the axis along the horizontal axis; the last that varies if empty"),
        Option("y", "the axis along the vertical axis; the first left if empty"),
        Option("panel", "the axis with one panel per label (default: the remaining one)"),
        Option("log", "whether the colours are logarithmic", "no", ("no", "yes")),
        WINDOW,
    ),
)
"""The kind."""
