"""The measuring window, in words: what captions say beside every number."""

from collections.abc import Sequence

from sojourn.core.cells import Cell


def window_said(cells: Sequence[Cell], words: str = "") -> str:
    """Return where metrics of these cells look, with its times if they are the same in all.

    Args:
        cells: at least one.
        words: as behind a metric, ``over last 20s``; the default window if empty.
    """
    found = {cell.runs[0].window(words) for cell in cells}
    named = words or "the measuring window"
    if len(found) == 1 and (bounds := found.pop()) is not None:
        return f"{named} ({bounds[0]:.4g} s to {bounds[1]:.4g} s)"
    return named
