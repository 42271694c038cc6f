"""Tables that fit: columns that do not fit on the screen continue in further tables below."""

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from sojourn.cli.screen import is_read_by_a_program, out

_GAP: Final = 2
_LEAST: Final = 20
"""The least width of a column of prose, as long as another can be narrowed."""


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    right: Sequence[int] = (),
    prose: Sequence[int] = (),
    lines: int | None = None,
    labels: int = 1,
) -> None:
    """Print a table that is no wider than the screen.

    Args:
        columns: the heads; a newline in one begins another line.
        rows: texts of as many columns.
        right: which columns are numbers, set to the right.
        prose: which columns are sentences: they are folded to the room that is left.
        lines: 1 for one line per row; text that is too long for a terminal then ends with an ellipsis; in a pipe it
            is folded, and whole.
        labels: how many columns, the first ones, say what a row is of: every part of a table that is too wide has them.
    """
    console = out()
    widths = [
        max((cell_len(line) for text in texts for line in str(text).splitlines()), default=0)
        for texts in ([columns[index], *(row[index] for row in rows)] for index in range(len(columns)))
    ]
    if lines == 1 and is_read_by_a_program():
        lines = None
    fixed = [index for index in range(len(columns)) if index not in prose and widths[index] < console.width // 2]
    left = console.width - sum(widths[index] + _GAP for index in fixed)
    for part in _parts(widths, console.width, prose, labels):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for index in part:
            table.add_column(
                Text(columns[index]),
                justify="right" if index in right else "left",
                overflow="ellipsis" if lines == 1 else "fold",
                no_wrap=lines == 1 or index in fixed,
                min_width=widths[index] if index in fixed else None,
                max_width=max(left, _LEAST) if lines == 1 and index in prose else None,
            )
        for row in rows:
            table.add_row(*(cell if isinstance(cell := row[index], Text) else Text(cell) for index in part))
        console.print(table)
        console.print()


def _parts(widths: Sequence[int], room: int, prose: Sequence[int], labels: int = 1) -> list[list[int]]:
    """Return the columns of each table; the first ones, the labels, are in all of them.

    >>> _parts([10, 20, 20, 20], 60, ())
    [[0, 1, 2], [0, 3]]
    >>> _parts([10, 5, 20, 20, 20], 60, (), 2)
    [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    >>> _parts([20, 20, 20, 20], 60, (), 0)
    [[0, 1], [2, 3]]
    >>> _parts([10, 200, 20], 60, [1])
    [[0, 1, 2]]
    """
    if not widths:
        return []
    needed = [min(width, _LEAST) if index in prose else width for index, width in enumerate(widths)]
    own = list(range(min(labels, len(widths))))
    first = min(sum(needed[index] for index in own) + _GAP * (len(own) - 1), room // 2) if own else -_GAP
    parts = [[*own]]
    used = first
    for index in range(len(own), len(needed)):
        if used + _GAP + needed[index] > room and len(parts[-1]) > len(own):
            parts.append([*own])
            used = first
        parts[-1].append(index)
        used += _GAP + needed[index]
    return parts
