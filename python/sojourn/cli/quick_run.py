"""``sojourn try``: a few flows over one bottleneck, answered in words, with a table and a small plot."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sojourn.cli.capture import make_folder, snap_length
from sojourn.cli.grid import print_table
from sojourn.cli.plugins import note_plugins
from sojourn.cli.progress import watching
from sojourn.cli.screen import TALK, detail, out, print_json, say
from sojourn.cli.warnings import show_warnings
from sojourn.core import cells, queues
from sojourn.core.cells import Cell
from sojourn.core.queues import Queue
from sojourn.core.run import Run
from sojourn.core.scenario import Scenario
from sojourn.core.store.atomic import write_file
from sojourn.errors import ExperimentError, Interrupted, UsageError
from sojourn.experiments.experiment import Experiment, parse
from sojourn.plotting.draw import terminal
from sojourn.plotting.draw.series import binned_flows, queue_line
from sojourn.plotting.draw.terminal import Line
from sojourn.quick.answer import answer, by_delay, comparison
from sojourn.quick.asked import FILE, Asked
from sojourn.quick.facts import Facts, facts_of
from sojourn.quick.router import SHARE, commands
from sojourn.runner import Campaign, cores
from sojourn.views.summary import PROGRAMS, QUEUE_COLUMNS, TCP, Column, flow_columns, number, numbers_of
from sojourn.views.window import span_said

_WIDEST = 120
_ROWS = 8
_POINTS = 120
_FEW_ROWS = 4
_LINES = 10
"""Of what programs wrote."""
_BOTH = 76
"""From this width on two charts stand side by side."""


def quick_run(
    asked: Asked,
    *,
    engine: str,
    settings: list[str],
    pcap: Path | None,
    snap_len: int | None,
    qlog: Path | None,
    save: Path | None,
    as_json: bool,
    plugins: list[str],
) -> None:
    """Run what the command line describes, once a queue and seed."""
    experiment = _experiment(asked, engine=engine, settings=settings, plugins=plugins)
    note_plugins(experiment.run_keys)
    show_warnings(experiment.warnings, asked.pointed_at)
    if save is not None:
        _save(save, asked, settings)
    runs = _run(experiment, engine=engine, pcap=pcap, snap_len=snap_len)
    files = []
    if qlog is not None:
        from sojourn.interop.qlog import export_runs

        files = export_runs(((run.label, run) for run in runs), qlog)
    found = cells.group(runs)
    facts = [facts_of(cell) for cell in found]
    if as_json:
        print_json(_as_json(asked, experiment, found, facts))
        return
    console = out()
    if not TALK.quiet:
        console.print(Text(f"$ {asked.command}", style="bold"), soft_wrap=True)
        console.print(Text(f"{asked.in_words()} {_ecn(facts[0])}{_measured(facts[0])}"))
        console.print()
    detail(experiment.toml())
    _print_answer(facts)
    console.print()
    _print_output(runs[0])
    if len(found) == 1:
        _print_one(found[0])
    else:
        _print_several(found)
    if not TALK.quiet:
        for row in _plots(found, min(console.width, _WIDEST), coloured=_coloured(console)):
            console.print(row, no_wrap=True, overflow="crop")
        if asked.trace is None:
            _print_commands(facts)
    _print_files(save, pcap, qlog, len(files))


def _print_files(save: Path | None, pcap: Path | None, qlog: Path | None, connections: int) -> None:
    """Say which files were written."""
    if save is not None:
        say(f"the experiment is in {save}; to run it: sojourn run {save} -o DIR")
    if pcap is not None:
        out().print(f"packets in {pcap}", soft_wrap=True, markup=False)
    if qlog is not None:
        out().print(f"{connections} connections as qlog in {qlog}", soft_wrap=True, markup=False)


def _experiment(asked: Asked, *, engine: str, settings: list[str], plugins: list[str]) -> Experiment:
    twice = next((words for words in asked.qdiscs if asked.qdiscs.count(words) > 1), None)
    if twice is not None:
        raise UsageError(f"--qdisc {twice} is given twice")
    try:
        return parse(asked.toml(), FILE, settings=settings, engine=engine, plugins=plugins)
    except ExperimentError as error:
        raise asked.pointed_at(error) from None


def _save(path: Path, asked: Asked, settings: Sequence[str]) -> None:
    """Write the experiment as a file that ``sojourn run`` takes."""
    comments = "".join(f"# set outside this file: {setting}\n" for setting in settings)
    try:
        write_file(path, f"# {asked.command}\n{comments}\n{asked.toml()}".encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _run(experiment: Experiment, *, engine: str, pcap: Path | None, snap_len: int | None) -> Sequence[Run]:
    keys = experiment.run_keys
    captures = []
    if pcap is not None:
        captures = [pcap] if len(keys) == 1 else [pcap / str(number) for number in range(1, len(keys) + 1)]
    campaign = Campaign(
        keys=keys,
        engine=engine,
        threads=min(len(keys), cores()),
        pcap=snap_length(snap_len, pcap=pcap is not None),
        captures=captures,
    )
    campaign.refuse()
    campaign.refuse_what_cannot_fit()
    for folder in captures:
        make_folder(folder)
    for folder, key in zip(captures, keys, strict=True) if len(captures) > 1 else ():
        say(f"{folder}: {key.label}")
    try:
        return campaign.run(partial(watching, after=1.0))
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted: nothing is kept of it",
            help="try a shorter --duration; what --save writes, `sojourn run FILE -o DIR` keeps run by run",
        ) from None


# --- in words and tables ---------------------------------------------------------------------------------------------


def _coloured(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def _measured(facts: Facts) -> str:
    return f"All figures cover {span_said(facts.window)} unless a legend says otherwise."


def _ecn(facts: Facts) -> str:
    """Return who has agreed on ECN: queues that mark instead of dropping are another network than one without."""
    if not facts.ecn:
        return ""
    every = {flow.name for flow in (*facts.flows, *facts.back)}
    who = "" if every <= set(facts.ecn) else f" for {', '.join(facts.ecn)}"
    return f"ECN is on{who} (without it: --ecn off). "


def _print_answer(several: Sequence[Facts]) -> None:
    console = out()
    for facts in several:
        if len(several) > 1:
            console.print(Text(facts.qdisc, style="bold"))
        for sentence in answer(facts):
            console.print(Text(sentence))
        if len(several) > 1:
            console.print()
    for sentence in comparison(several):
        console.print(Text(sentence))


def _print_commands(several: Sequence[Facts]) -> None:
    """Print what sets a router up so: with the queue that adds the least delay, where there are several."""
    best = next(iter(by_delay(several)), several[0])
    lines = commands(best)
    if not lines:
        return
    console = out()
    console.print()
    console.print(Text(f"On a router in front of such a line, at {100 * SHARE:.0f} % of its rates:", style="dim"))
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _print_output(run: Run) -> None:
    """Print the last lines that the clients of a run wrote."""
    if "output" not in run.tables:
        return
    lines = list(zip(*run.rows("output", "flow", "text", only={"program": "client"}), strict=True))[-_LINES:]
    for flow, text in lines:
        out().print(Text(f"{flow}: {text}", style="dim"))
    if lines:
        out().print()


def _print_one(cell: Cell) -> None:
    """Print a table for each kind of flows, and one for the queues: the bottleneck, and others that matter."""
    legend: dict[str, str] = {}
    for kind, names in _by_kind(cell.scenario).items():
        columns = [column for column in flow_columns(kind) if column.asked(cell.scenario)]
        rows = []
        for name in names:
            by_run = [_of_flow(run, columns, name) for run in cell.runs]
            rows.append(
                [name, *(_said(column, own) for column, own in zip(columns, zip(*by_run, strict=True), strict=True))]
            )
        _print_columns("flow", columns, rows, legend)
    rows = []
    for queue, name in _queues(cell):
        by_seed = zip(*_of_queue(cell, queue), strict=True)
        values = [_said(column, own) for column, own in zip(QUEUE_COLUMNS, by_seed, strict=True)]
        rows.append([f"{name}: {queue.words}" if name else queue.words, *values])
    _print_columns("queue", QUEUE_COLUMNS, rows, legend)
    _print_legend(legend)


def _queues(cell: Cell) -> list[tuple[Queue, str]]:
    """Return the bottleneck and the other queues that matter, each with its name; empty where there is but one."""
    main = queues.bottleneck(cell.scenario)
    found = [main] if main else []
    found += [queue for queue in queues.that_matter(cell.runs) if queue not in found]
    return [(queue, queue.named(found) if len(found) > 1 else "") for queue in found]


def _of_queue(cell: Cell, queue: Queue) -> list[list[float]]:
    """Return the numbers of a queue, by run."""
    return [[own[0] for own in numbers_of(run, QUEUE_COLUMNS, [queue])] for run in cell.runs]


def _print_columns(
    first: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], legend: dict[str, str]
) -> None:
    heads = [first, *(f"{column.short}\n{column.unit}" if column.unit else column.short for column in columns)]
    print_table(heads, rows, right=range(1, len(heads)))
    legend |= {column.short: column.meaning for column in columns}


def _print_several(found: Sequence[Cell]) -> None:
    """Print one table: a column a queue, a row a flow and quantity."""
    legend: dict[str, str] = {}
    rows: dict[tuple[str, str], list[str]] = {}
    for cell in found:
        for kind, names in _by_kind(cell.scenario).items():
            columns = [column for column in flow_columns(kind) if column.asked(cell.scenario)]
            legend |= {column.short: column.meaning for column in columns}
            for name in names:
                by_run = [_of_flow(run, columns, name) for run in cell.runs]
                for column, own in zip(columns, zip(*by_run, strict=True), strict=True):
                    rows.setdefault((name, _with_unit(column)), []).append(_said(column, own))
    matter = queues.that_matter([run for cell in found for run in cell.runs])
    main = queues.bottleneck(found[0].scenario)
    shown = [*([main] if main else []), *(queue for queue in matter if main is None or queue.path != main.path)]
    legend |= {column.short: column.meaning for column in QUEUE_COLUMNS}
    for queue in shown:
        name = f"the {queue.named(shown)} queue" if len(shown) > 1 else "the queue"
        for cell in found:
            for column, own in zip(QUEUE_COLUMNS, zip(*_of_queue(cell, queue), strict=True), strict=True):
                rows.setdefault((name, _with_unit(column)), []).append(_said(column, own))
    heads = ["what", *(dict(cell.labels)["qdisc"] for cell in found)]
    texts = [[f"{of}: {what}", *values] for (of, what), values in rows.items()]
    print_table(heads, texts, right=range(1, len(heads)))
    _print_legend(legend)


def _print_legend(legend: Mapping[str, str]) -> None:
    if TALK.quiet:
        return
    for short, meaning in legend.items():
        if meaning:
            out().print(Text(f"{short}: {meaning}", style="dim"))
    out().print()


def _with_unit(column: Column) -> str:
    return f"{column.short}, {column.unit}" if column.unit else column.short


def _by_kind(scenario: Scenario) -> dict[str, list[str]]:
    """Return the names of the flows by their kind; a kind has a table of its own."""
    found: dict[str, list[str]] = {}
    for flow in scenario.flows:
        found.setdefault(flow.kind, []).append(flow["name"])
    return found


def _of_flow(run: Run, columns: Sequence[Column], name: str) -> list[float]:
    return [
        value * column.scale
        for column, value in zip(
            columns, run.measure([column.metric.format(flow=name) for column in columns]), strict=True
        )
    ]


def _said(column: Column, by_seed: Sequence[float]) -> str:
    """Return the mean over the seeds."""
    there = [value for value in by_seed if value == value]  # noqa: PLR0124 - not NaN
    return number(sum(there) / len(there), column.digits) if there else "none"


# --- for programs ----------------------------------------------------------------------------------------------------


def _as_json(asked: Asked, experiment: Experiment, found: Sequence[Cell], facts: Sequence[Facts]) -> dict[str, object]:
    """Return all of it, with keys that name their units, and the whole scenarios."""
    return {
        "command": asked.command,
        "experiment": experiment.toml(),
        "seeds": list(asked.seeds),
        "warnings": [warning.json() for warning in experiment.warnings],
        "queues": [_queue_json(cell, own) for cell, own in zip(found, facts, strict=True)],
        "comparison": comparison(facts),
        "tc": [] if asked.trace is not None else commands(next(iter(by_delay(facts)), facts[0])),
    }


def _queue_json(cell: Cell, facts: Facts) -> dict[str, Any]:
    flows = []
    for kind, names in _by_kind(cell.scenario).items():
        columns = [column for column in flow_columns(kind) if column.asked(cell.scenario)]
        for name in names:
            by_run = [_of_flow(run, columns, name) for run in cell.runs]
            flows.append({"flow": name, "kind": kind, **_named(columns, by_run)})
    shown = _queues(cell)
    return {
        "qdisc": facts.qdisc,
        "answer": answer(facts),
        "ecn": list(facts.ecn),
        "remarks": [own.json() for own in facts.remarks],
        "window_s": list(facts.window),
        "flows": flows,
        "queue": _named(QUEUE_COLUMNS, _of_queue(cell, shown[0][0])),
        "queues": [
            {
                "queue": queue.path,
                "direction": queue.way,
                "qdisc": queue.words,
                **_named(QUEUE_COLUMNS, _of_queue(cell, queue)),
            }
            for queue, _ in shown
        ],
        "latency": {
            "idle_rtt_ms": facts.idle.mean * 1e3,
            "loaded_rtt_ms": facts.loaded.mean * 1e3,
            "largest_rtt_ms": facts.worst.mean * 1e3,
        },
        "scenario": cell.scenario,
    }


def _named(columns: Sequence[Column], by_run: Sequence[Sequence[float]]) -> dict[str, float | list[float]]:
    """Return values by key: one, or one a seed where there are several."""
    by_column = zip(*by_run, strict=True)
    return {column.key: own[0] if len(own) == 1 else list(own) for column, own in zip(columns, by_column, strict=True)}


# --- over time -------------------------------------------------------------------------------------------------------


def _plots(found: Sequence[Cell], width: int, *, coloured: bool) -> list[Text]:
    """Draw the first seed over time: rate and RTT of each flow, or what several queues add; side by side if wide."""
    run = found[0].runs[0]
    seconds = run.scenario.seconds
    step = seconds / _POINTS
    if len(found) == 1:
        keys = [flow["name"] for flow in run.scenario.loads if flow.kind in TCP | PROGRAMS]
        binned = binned_flows(run, step)
        left, right = ([Line(key, binned[key][n].t, binned[key][n].value) for key in keys] for n in (0, 1))
        titles = ("delivery rate, Mbit/s", "RTT, ms")
    else:
        keys = [dict(cell.labels)["qdisc"] for cell in found]
        left, right = [], []
        for cell, name in zip(found, keys, strict=True):
            band = queue_line(cell.runs[0], step)
            left.append(Line(name, band.t, band.value))
            pings = cell.runs[0].rows("pings", "t_s", "rtt_s", only={"flow": "ping"})
            rtts = [(t, rtt * 1e3) for t, rtt in zip(*pings, strict=True) if t >= 0]
            right.append(Line(name, [t for t, _ in rtts], [rtt for _, rtt in rtts]))
        titles = ("queue delay, ms", "RTT of a ping, ms")
    if coloured or len(keys) == 1:
        drawn = _charts((left, right), titles, width, seconds, _ROWS)
        return [*drawn, Text(), terminal.legend(keys)]
    # Lines that no colour tells apart have a chart each.
    rows = []
    for name, *own in zip(keys, left, right, strict=True):
        rows += [
            *_charts([[line] for line in own], [f"{name}: {t}" for t in titles], width, seconds, _FEW_ROWS),
            Text(),
        ]
    return rows


def _charts(pair: Sequence[Sequence[Line]], titles: Sequence[str], width: int, seconds: float, rows: int) -> list[Text]:
    """Draw two charts, side by side where there is room."""
    wide = width >= _BOTH
    columns = (width - 3) // 2 if wide else width
    left, right = (
        terminal.chart(lines, title=title, columns=columns, rows=rows, x_end=seconds)
        for lines, title in zip(pair, titles, strict=True)
    )
    return terminal.side_by_side(left, right) if wide else [*left, Text(), *right]
