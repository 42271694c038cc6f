"""The table of results that ends a command."""

from collections.abc import Sequence
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from sojourn.cells import Cell
from sojourn.summary import COLUMNS, values_of


def summary_table(found: Sequence[Cell]) -> Table:
    """Return one row a cell: means over the seeds, and how many there are."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("cell", overflow="fold")
    for column in COLUMNS:
        table.add_column(Text(f"{column.name}\n{column.unit}" if column.unit else column.name), justify="right")
    table.add_column("seeds", justify="right")
    for experiment, members in groupby(found, key=lambda cell: cell.experiment):
        own = list(members)
        if len(own) > 1 or own[0].labels:
            table.add_row(Text(experiment, style="bold"))
        for cell in own:
            name = f"  {cell.title}" if cell.labels else experiment
            table.add_row(Text(name), *(Text(value.text) for value in values_of(cell)), str(len(cell.runs)))
    return table
