"""Our runs held against tables of published ones.

How a row is judged is DESIGN's: a cell is run with several seeds, and a published value agrees when it lies in
our central 95 % range widened by the published replicate noise. :mod:`~sojourn.validate.judge` has the
arithmetic, :mod:`~sojourn.validate.rows` what a row is, :mod:`~sojourn.validate.datasets` the tables that are
understood, one file each, and :mod:`~sojourn.validate.markdown` the tables that documents show.
"""

from sojourn.validate.datasets import read_published
from sojourn.validate.judge import CLOSE, ENOUGH_SEEDS, Judged, Summary, against, judge, summarise
from sojourn.validate.noise import Noise
from sojourn.validate.ours import Cell, Cells
from sojourn.validate.rows import Figure, Row, Sender

__all__ = [
    "CLOSE",
    "ENOUGH_SEEDS",
    "Cell",
    "Cells",
    "Figure",
    "Judged",
    "Noise",
    "Row",
    "Sender",
    "Summary",
    "against",
    "judge",
    "read_published",
    "summarise",
]
