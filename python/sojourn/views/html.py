"""What notebooks show of runs and experiments: small tables."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

_MOST_LABELS: Final = 12


def legible(text: str) -> str:
    r"""Return a page without control characters, which HTML does not allow and terminals obey; lines and tabs stay.

    >>> legible("a\x1b[31m\x00b\n")
    'a�[31m�b\n'
    """
    return _CONTROL.sub("\ufffd", text)


_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def head(title: str, text: str) -> str:
    """Return a heading and a line below it."""
    return f"<div><b>{escape(title)}</b><br>{legible(escape(text))}</div>"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table; the first ``texts`` columns hold text, the others numbers."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:{"left" if index < left else "right"}">{escape(cell)}</td>'
            for index, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return legible(f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")


def axes(found: Mapping[str, Sequence[str]]) -> str:
    """Return axes with their labels; empty if there are none."""
    if not found:
        return ""
    rows = [[axis, shortened(labels)] for axis, labels in found.items()]
    return table(["axis", "labels"], rows, left=2)


def shortened(labels: Sequence[str]) -> str:
    """Return labels with commas, the middle left out where they are many.

    >>> shortened([str(n) for n in range(20)])
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, … (20)'
    """
    if len(labels) <= _MOST_LABELS:
        return ", ".join(labels)
    return f"{', '.join(labels[: _MOST_LABELS - 1])}, … ({len(labels)})"
