"""The measuring window in words, to print next to every number."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sojourn.core.cells import Cell
from sojourn.core.run import Span


def span_said(span: Span) -> str:
    """Return a window in words.

    >>> span_said((39.0, 59.0)), span_said((5.666666666666667, 9.0))
    ('39 s to 59 s', '5.667 s to 9 s')
    """
    return f"{span[0]:.4g} s to {span[1]:.4g} s"


def spans_text(spans: Iterable[Span]) -> str:
    """Return windows as one cell of a CSV file has them, in seconds.

    >>> spans_text([(39.0, 59.0), (0.0, 60.0)])
    '39 to 59; 0 to 60'
    """
    return "; ".join(f"{start:.10g} to {end:.10g}" for start, end in spans)


def measured_said(spans: Mapping[str, Iterable[Span]]) -> str:
    """Return in a sentence where the columns of a table were measured; empty if nowhere.

    Args:
        spans: the windows of each column.

    >>> measured_said({"goodput": [(39.0, 59.0)], "RTT": [(39.0, 59.0)], "start": [(0.0, 60.0)]})
    'Measured from 39 s to 59 s; start: from 0 s to 60 s.'
    """
    by_spans: dict[tuple[str, ...], list[str]] = {}
    for column, own in spans.items():
        if said := tuple(dict.fromkeys(map(span_said, own))):
            by_spans.setdefault(said, []).append(column)
    if not by_spans:
        return ""
    usual, *others = sorted(by_spans, key=lambda said: -len(by_spans[said]))
    rest = [f"{', '.join(by_spans[said])}: {_from(said)}" for said in others]
    return "; ".join([f"Measured {_from(usual)}", *rest]) + "."


def _from(said: tuple[str, ...]) -> str:
    """Return the bounds of windows; of more than a few only their number and the first.

    >>> _from(("39 s to 59 s",)), _from(("1 s to 2 s", "1 s to 3 s", "1 s to 4 s", "1 s to 5 s"))
    ('from 39 s to 59 s', 'in 4 windows, each by the end of its flows, the first from 1 s to 2 s (CSV has all)')
    """
    if len(said) <= _FEW:
        return f"from {' or '.join(said)}"
    return f"in {len(said)} windows, each by the end of its flows, the first from {said[0]} (CSV has all)"


_FEW: Final = 3
"""Windows that a sentence can name."""


def window_said(cells: Sequence[Cell], words: str = "") -> str:
    """Return where metrics of these cells look, with its times if they are the same in all.

    Args:
        cells: at least one.
        words: as behind a metric, ``over last 20s``; the default window if empty.
    """
    found = {cell.runs[0].window(words) for cell in cells}
    named = words or "the measuring window"
    if len(found) == 1 and (bounds := found.pop()) is not None:
        return f"{named} ({span_said(bounds)})"
    return named
