"""Our runs held against a table of published ones.

How a row is judged is DESIGN's: a cell is run with several seeds, and a published value agrees when it lies in
our central 95 % range widened by the published replicate noise. :mod:`~sojourn.validate.judge` has the
arithmetic, :mod:`~sojourn.validate.published` the columns that are understood.
"""

from sojourn.validate.judge import ENOUGH_SEEDS, Judged, Summary, judge, summarise
from sojourn.validate.noise import Noise
from sojourn.validate.ours import Cell, Cells
from sojourn.validate.published import Row, Sender, read_published

__all__ = [
    "ENOUGH_SEEDS",
    "Cell",
    "Cells",
    "Judged",
    "Noise",
    "Row",
    "Sender",
    "Summary",
    "judge",
    "read_published",
    "summarise",
]
