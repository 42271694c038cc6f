"""One number for a congestion control, the same bits every time: for whoever evolves or learns controls.

A *set* is an experiment whose flow ``tested`` runs the control (:mod:`.sets`). :mod:`.judging` gives each cell its
parts, and :mod:`.scoring` runs a set and adds them up. A control that crashes or never returns has a score, too: what
it did not finish counts nothing.

The parts, each between 0 and 1, higher is better:

- throughput: goodput of the tested flows over their fair share of what the path could carry;
- delay: the path's base RTT over the mean smoothed RTT of the tested flows;
- fairness: Jain's index of the tested flows, where there are several;
- harm: 1 less the harm, that is goodput of the others over their fair share;
- robustness: the mean score of the worst quarter of the cells.
"""

from sojourn.score.judging import PARTS, Verdict
from sojourn.score.scoring import Score, score
from sojourn.score.sets import SETS, read

__all__ = ["PARTS", "SETS", "Score", "Verdict", "read", "score"]
