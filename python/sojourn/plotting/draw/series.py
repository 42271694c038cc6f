"""Tables of runs made into the lines of a panel: means over steps that an eye can tell apart."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.core.run import Run, Steps, Wanted
from sojourn.plotting.draw.flows import flow_name, looks
from sojourn.plotting.draw.panel import FlowLines, Panel
from sojourn.plotting.draw.ticks import nice_ceiling
from sojourn.plotting.draw.traces import Band

POINTS: Final = 360
"""Points a line."""

_NONE: Final = Band([], [])


def step_of(seconds: float) -> float:
    """Return the length of the steps that a run of this length is averaged over, s: a round number."""
    return nice_ceiling(seconds / POINTS)


def panel_of(cell: Cell) -> Panel:
    """Return the panel of a cell: the first run's lines, and the range over all of its runs."""
    runs, first = cell.runs, cell.scenario
    seconds = first.seconds
    step = step_of(seconds)
    lines = flow_lines(runs, step)
    run = runs[0]
    return Panel(cell.title, seconds, lines, queue_lines(runs, step), events_of(run), run.window())


def flow_lines(runs: Sequence[Run], step: float) -> list[FlowLines]:
    """Return the lines of each flow of the first run, with the range over all of the runs."""
    found = [binned_flows(run, step) for run in runs]
    rates, rtts = (_bands([{name: own[index] for name, own in flows.items()} for flows in found]) for index in (0, 1))
    shown = looks(runs[0].scenario)
    return [
        FlowLines(flow_name(flow), rates.get(name, _NONE), rtts.get(name, _NONE), shown[name])
        for flow in runs[0].scenario.loads
        for name in [flow["name"]]
    ]


def binned_flows(run: Run, step: float) -> dict[str, tuple[Band, Band]]:
    """Return the rate (Mbit/s) and the RTT (ms) of each flow, means over steps of this length (s), by the flow's name.

    Without TCP's own estimate the rate is the goodput; without a smoothed RTT the RTT is the newest sample.
    """
    rate, rtt = ("delivery_rate_bps", "goodput_bps"), ("srtt_s", "rtt_s")
    found = run.steps("flows", step, (rate, "mean"), (rtt, "mean"), by=("flow",))
    return {own.name: (_scaled(own, 0, 1e-6), _scaled(own, 1, 1e3)) for own in sorted(found)}


def column_bands(runs: Sequence[Run], table: str, column: str, step: float, scale: float = 1.0) -> dict[str, Band]:
    """Return a column of a table over time, for each flow or queue of its rows; the name is empty if rows name neither.

    The line is the first run's, its range that over all runs.

    Args:
        runs: they differ by their seed.
        table: with the column ``t_s``; the columns ``flow``, ``queue`` and ``name`` tell rows apart.
        column: its numbers.
        step: the length of the steps, s.
        scale: the factor of the numbers.
    """
    by = ("flow", "queue", "name")
    found = [run.steps(table, step, (column, "mean"), by=by) for run in runs]
    return _bands([{own.name: _scaled(own, 0, scale) for own in lines} for lines in found])


def _bands(runs: Sequence[Mapping[str, Band]]) -> dict[str, Band]:
    """Return the bands of the first run's lines."""
    return {name: _band([own.get(name, _NONE) for own in runs]) for name in runs[0]}


def _scaled(own: Steps, index: int, scale: float) -> Band:
    return Band(own.t, [value * scale for value in own.values[index]])


def _band(lines: Sequence[Band]) -> Band:
    """Return the first line, with the range over all where there are several."""
    first = lines[0]
    if len(lines) == 1:
        return first
    found = [dict(zip(own.t, own.value, strict=True)) for own in lines]
    others = [[own.get(t, math.nan) for t in first.t] for own in found[1:]]
    low, high = [], []
    for values in zip(first.value, *others, strict=True):
        there = [value for value in values if not math.isnan(value)] or [math.nan]
        low.append(min(there))
        high.append(max(there))
    return Band(first.t, first.value, low, high, others)


def queue_lines(runs: Sequence[Run], step: float) -> list[tuple[str, Band]]:
    """Return the queue delay in the first of the runs, ms, of each queue that matters in one of them, with its name.

    The name is empty where there is but one queue that it can be.
    """
    scenario = runs[0].scenario
    matter = queues.that_matter(runs)
    names = queues.names(scenario, matter)
    return [(name, queue_line(runs[0], step, queue.path)) for queue, name in zip(matter, names, strict=True)]


def queue_line(run: Run, step: float, path: str = "") -> Band:
    """Return the queue delay, ms: mean, least and most in each step.

    Args:
        run: the run.
        step: s.
        path: the queue's; the bottleneck's if empty.
    """
    main = queues.bottleneck(run.scenario)
    path = path or (main.path if main else "")
    if not path:
        return _NONE
    wanted: list[Wanted] = [("sojourn_mean_s", "mean"), ("sojourn_min_s", "least"), ("sojourn_max_s", "most")]
    return _ranged(run.steps("queues", step, *wanted, only={"queue": path}), 1e3)


def _ranged(found: Sequence[Steps], scale: float = 1.0) -> Band:
    """Return a line of mean, least and most; empty where there are no rows."""
    if not found:
        return _NONE
    mean, low, high = ([value * scale for value in own] for own in found[0].values)
    return Band(found[0].t, mean, low, high)


def state_band(run: Run, name: str, step: float) -> Band:
    """Return a number of the bottleneck's controller: the mean in each step, with the least and the most of it."""
    found = run.scenario.bottleneck
    if found is None or "queue_state" not in run.tables:
        return _NONE
    wanted: list[Wanted] = [("value", "mean"), ("value", "least"), ("value", "most")]
    return _ranged(run.steps("queue_state", step, *wanted, only={"queue": found[0], "name": name}))


def events_of(run: Run) -> list[tuple[float, str]]:
    """Return the times and texts of changes; the same change of several elements counts once."""
    texts: dict[float, dict[str, None]] = {}
    happened = run.rows("events", "t_s", "subject", "detail", only={"what": "event"})
    for t, subject, detail in zip(*happened, strict=True):
        change = str(detail).split(": ", 1)[-1] or str(subject).removeprefix("event ")
        texts.setdefault(float(t), {})[change] = None
    return [(t, ", ".join(changes)) for t, changes in texts.items()]
