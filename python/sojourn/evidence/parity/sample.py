"""A sample of cells, where all of them would take too long on Linux."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.errors import UsageError

if TYPE_CHECKING:
    from sojourn.core.store import RunKey


def sample(keys: Sequence["RunKey"], count: int, seed: int) -> list["RunKey"]:
    """Return all seeds of ``count`` cells, drawn evenly from all cells.

    The draw depends on the names of the cells and on ``seed``, and on nothing else: neither on the order of the cells
    nor on the engine. So two engines get the same cells, and a sample that was announced can be checked. A larger
    sample of the same seed has the smaller one in it.

    Raises:
        UsageError: if there are fewer cells.
    """
    cells = {_cell(key) for key in keys}
    if count > len(cells):
        raise UsageError(f"a sample of {count} cells of {len(cells)}", help=f"ask for {len(cells)} at the most")
    drawn = set(sorted(cells, key=lambda cell: hashlib.sha256(f"{seed}/{cell}".encode()).digest())[:count])
    return [key for key in keys if _cell(key) in drawn]


def _cell(key: "RunKey") -> str:
    return f"{key.scenario.experiment}[{key.scenario.cell_label}]"
