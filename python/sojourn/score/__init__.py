"""One number for a congestion control, the same bits every time: for whoever evolves or learns controls.

A *set* is an experiment with a flow ``tested`` that runs the control (:mod:`.sets`). :mod:`.judging` gives each cell
its parts, and :mod:`.scoring` runs a set and adds them up. A control that crashes or never returns has a score, too:
what it did not finish counts nothing.
"""

from sojourn.score.judging import PARTS, Verdict
from sojourn.score.scoring import Score, score
from sojourn.score.sets import SETS, read

__all__ = ["PARTS", "SETS", "Score", "Verdict", "read", "score"]
