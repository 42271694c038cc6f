"""``sojourn try``: one run, a table and a small plot."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.text import Text

from sojourn import _core, runner
from sojourn.cli.capture import make_folder, snap_length
from sojourn.cli.plugins import note_plugins
from sojourn.cli.screen import out, print_json
from sojourn.cli.tables import flow_table, queue_table
from sojourn.core import describe
from sojourn.core.run import Run
from sojourn.core.summary import FLOW_COLUMNS, QUEUE_COLUMNS, Column, numbers_of
from sojourn.experiments.experiment import parse
from sojourn.linux import kernels
from sojourn.plotting.draw import terminal
from sojourn.plotting.draw.series import binned_flows
from sojourn.plotting.draw.terminal import Line

_WIDEST = 120
_ROWS = 10


def quick_run(
    flows: list[str],
    *,
    rate: str,
    rtt: str,
    qdisc: str,
    duration: str,
    stack: str,
    seed: int,
    engine: str,
    settings: list[str],
    pcap: Path | None,
    snap_len: int | None,
    as_json: bool,
    plugins: list[str],
) -> None:
    """Run one experiment that the command line describes."""
    text = _core.quick_run(flows, rate=rate, rtt=rtt, qdisc=qdisc, duration=duration, stack=stack, seed=seed)
    experiment = parse(text, "the command line", settings=settings, engine=engine, plugins=plugins)
    note_plugins(experiment.run_keys)
    snap_len = snap_length(snap_len, pcap=pcap is not None)
    if engine == "linux":
        # Programs are run from there: not from a folder that is somebody else's.
        kernels.cache()
    runner.refuse(experiment.run_keys, engine=engine, pcap=snap_len is not None)
    if pcap is not None:
        make_folder(pcap)
    captures = [] if pcap is None else [pcap]
    run = runner.make_fresh(
        experiment.run_keys, engine=engine, threads=1, captures=captures, snap_len=snap_len or _core.SNAP_LEN
    )[0]
    if as_json:
        print_json(_as_json(run))
        return
    console = out()
    console.print(flow_table(run))
    console.print(queue_table(run))
    for row in _plots(run, min(console.width, _WIDEST)):
        console.print(row, no_wrap=True, overflow="crop")
    if pcap is not None:
        console.print(f"packets in {pcap}", soft_wrap=True, markup=False)


def _as_json(run: Run) -> dict[str, object]:
    """Return the tables with keys that name their units, and the whole scenario."""
    by_flow = zip(*numbers_of(run, FLOW_COLUMNS), strict=True)
    flows = [
        {"flow": flow["name"], **_named(FLOW_COLUMNS, numbers)}
        for flow, numbers in zip(describe.loads(run.scenario), by_flow, strict=True)
    ]
    queue = _named(QUEUE_COLUMNS, [own[0] for own in numbers_of(run, QUEUE_COLUMNS)])
    return {"flows": flows, "queue": queue, "scenario": run.scenario}


def _named(columns: Sequence[Column], numbers: Sequence[float]) -> dict[str, float]:
    return {column.key: value for column, value in zip(columns, numbers, strict=True)}


def _plots(run: Run, width: int) -> list[Text]:
    """Draw rate and RTT over time, beside one another where there is room."""
    names = [flow["name"] for flow in describe.loads(run.scenario)]
    table = binned_flows(run, describe.seconds(run.scenario) / 120)
    rates, rtts = (_lines(table, names, column) for column in ("rate", "rtt"))
    wide = width >= 90  # noqa: PLR2004 - two charts of 40 columns and a gap
    columns = (width - 3) // 2 if wide else width
    seconds = describe.seconds(run.scenario)
    left = terminal.chart(rates, title="delivery rate, Mbit/s", columns=columns, rows=_ROWS, x_end=seconds)
    right = terminal.chart(rtts, title="RTT, ms", columns=columns, rows=_ROWS, x_end=seconds)
    drawn = terminal.side_by_side(left, right) if wide else [*left, Text(), *right]
    return [*drawn, Text(), terminal.legend(names)]


def _lines(table: pl.DataFrame, names: Sequence[str], column: str) -> list[Line]:
    lines = []
    for name in names:
        own = table.filter(pl.col("flow") == name)
        values = own[column].cast(pl.Float64).fill_null(float("nan"))
        lines.append(Line(name, own["t"].to_list(), values.to_list()))
    return lines
