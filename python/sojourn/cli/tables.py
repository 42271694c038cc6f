"""The tables of results that end a command."""

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.core import describe
from sojourn.core.cells import Cell
from sojourn.core.run import Run
from sojourn.core.summary import COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS, Column, number, numbers_of, values_of


def summary_table(found: Sequence[Cell]) -> Table:
    """Return one row a cell: means over the seeds, and how many there are."""
    table = _table("cell", COLUMNS)
    table.add_column("seeds", justify="right")
    for experiment, members in groupby(found, key=lambda cell: cell.experiment):
        own = list(members)
        if len(own) > 1 or own[0].labels:
            table.add_row(Text(experiment, style="bold"))
        for cell in own:
            name = f"  {cell.title}" if cell.labels else experiment
            table.add_row(Text(name), *(Text(value.text) for value in values_of(cell)), str(len(cell.runs)))
    return table


def flow_table(run: Run) -> Table:
    """Return one row a flow."""
    table = _table("flow", FLOW_COLUMNS)
    by_flow = zip(*numbers_of(run, FLOW_COLUMNS), strict=True)
    for flow, numbers in zip(describe.loads(run.scenario), by_flow, strict=True):
        table.add_row(Text(flow["name"]), *_numbers(FLOW_COLUMNS, numbers))
    return table


def queue_table(run: Run) -> Table:
    """Return one row, the bottleneck's."""
    queue = describe.bottleneck(run.scenario)
    table = _table("queue", QUEUE_COLUMNS)
    numbers = [own[0] for own in numbers_of(run, QUEUE_COLUMNS)]
    table.add_row(Text(queue[1]["qdisc"] if queue else "none"), *_numbers(QUEUE_COLUMNS, numbers))
    return table


def _table(first: str, columns: Sequence[Column]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for column in columns:
        heading = Text(f"{column.short}\n{column.unit}" if column.unit else column.short)
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _numbers(columns: Sequence[Column], numbers: Sequence[float]) -> list[str]:
    return [number(value, column.digits) for column, value in zip(columns, numbers, strict=True)]
