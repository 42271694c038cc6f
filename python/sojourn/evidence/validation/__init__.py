"""Our runs compared with tables of published ones.

How a row is judged: a cell is run with several seeds, and a published value agrees when our central 95 % range, widened
by the published replicate noise, contains it. :mod:`.judge` has the arithmetic, :mod:`.totals` what is in a total,
:mod:`.rows` what a row is, :mod:`.datasets` the tables that are understood, one file each, and :mod:`.markdown` the
tables that documents show.
"""

from sojourn.evidence.validation.datasets import read_published
from sojourn.evidence.validation.judge import (
    CLOSE,
    ENOUGH_SEEDS,
    Compared,
    Judged,
    Summary,
    Unmeasured,
    against,
    judge,
    summarise,
)
from sojourn.evidence.validation.noise import Noise
from sojourn.evidence.validation.ours import Cell, Cells
from sojourn.evidence.validation.rows import Figure, Row, Sender
from sojourn.evidence.validation.totals import Total, totals

__all__ = [
    "CLOSE",
    "ENOUGH_SEEDS",
    "Cell",
    "Cells",
    "Compared",
    "Figure",
    "Judged",
    "Noise",
    "Row",
    "Sender",
    "Summary",
    "Total",
    "Unmeasured",
    "against",
    "judge",
    "read_published",
    "summarise",
    "totals",
]
