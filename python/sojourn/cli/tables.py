"""The tables of results that end a command."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.text import Text

from sojourn.cli.grid import print_table
from sojourn.cli.screen import out
from sojourn.core import queues
from sojourn.core.cells import Cell
from sojourn.views.summary import (
    COLUMNS,
    Headed,
    columns_of,
    numbers_of,
    queues_said,
    values_of,
    where_measured,
    windows_of,
)


def print_summary(found: Sequence[Cell]) -> None:
    """Print a table an experiment, one row a cell: means over the seeds, and how many there are."""
    for experiment, members in groupby(found, key=lambda cell: cell.experiment):
        own = list(members)
        columns = columns_of(own)
        several = len(own) > 1 or bool(own[0].labels)
        if several:
            out().print(Text(experiment, style="bold"))
        rows = [
            [
                cell.title if several else experiment,
                *(value.text for value in values_of(cell, columns)),
                str(len(cell.runs)),
            ]
            for cell in own
        ]
        heads = ["cell", *map(_head, columns), "seeds"]
        print_table(heads, rows, right=range(1, len(heads)))
        if said := queues_said(own):
            out().print(Text(f"queues: {said}", style="dim"))
        if legend := _legend(columns):
            out().print(Text(legend, style="dim"))
        if said := where_measured(own, columns):
            out().print(Text(said, style="dim"))


def _legend(columns: Sequence[Headed]) -> str:
    """Return the meanings of the columns that do not explain themselves, in one line."""
    return "; ".join(f"{own.column.short}: {own.column.meaning}" for own in columns if own.column.meaning)


def _queues_json(cell: Cell) -> list[dict[str, Any]]:
    """Return every queue that matters, the one that packets wait longest in first, with the value of each seed."""
    matter = queues.that_matter(cell.runs)
    columns = [column for column in COLUMNS if column.each_queue]
    by_run = [numbers_of(run, columns, matter) for run in cell.runs]
    return [
        {
            "queue": queue.path,
            "hop": queue.hop,
            "direction": queue.way,
            "qdisc": queue.words,
            "values": {column.key: [run[index][place] for run in by_run] for index, column in enumerate(columns)},
        }
        for place, queue in enumerate(matter)
    ]


def _head(column: Headed) -> str:
    own = column.column
    return "\n".join(part for part in (own.short, column.of, own.unit) if part)


def summary_json(found: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the same for programs: labels, seeds, and in each column the value of each seed, by flow where it has.

    Columns of a queue are the bottleneck's; ``queues`` has them of every queue that matters.
    """
    cells = []
    for cell in found:
        columns = [headed.column for headed in columns_of([cell])]
        values: dict[str, Any] = {}
        main = queues.bottleneck(cell.scenario)
        by_run = [numbers_of(run, columns, [main] if main else []) for run in cell.runs]
        for index, column in enumerate(columns):
            if column.each_flow:
                values[column.key] = {
                    flow: [run[index][place] for run in by_run]
                    for place, flow in enumerate(column.flows(cell.scenario))
                }
            elif by_run[0][index]:
                values[column.key] = [run[index][0] for run in by_run]
        labels: Mapping[str, str] = dict(cell.labels)
        cells.append(
            {
                "experiment": cell.experiment,
                "labels": labels,
                "engine": cell.engine,
                "seeds": [run.seed for run in cell.runs],
                "values": values,
                "windows_s": {key: [list(span) for span in own] for key, own in windows_of(cell, columns).items()},
                "bottleneck": main.path if main else None,
                "queues": _queues_json(cell),
            }
        )
    return cells
