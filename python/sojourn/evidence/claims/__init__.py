"""What the published reports claim, as data, and whether our runs bear it out.

The TOML files next to this module have the findings of the five documents, one file a source: the runs that each
needs, the metrics, the bound that tests the *finding*, and the published figure. A bound is looser than
the figure; how well figures agree is :mod:`sojourn.evidence.validation`'s question.

The trick is to be honest about chance. A cell is run with a number of seeds that was fixed beforehand; :mod:`.interval`
gives an interval for the median over the seeds that assumes no distribution, and says when there is a second look. A
claim is reproduced if that interval is within the bound in each of its cells, not reproduced if it is outside in one,
and inconclusive if it spans the bound. Where runs are missing it is not run.

:mod:`.registry` reads the files, :mod:`.evaluate` looks at a results folder.
"""

from sojourn.evidence.claims.evaluate import evaluate, seeds_there
from sojourn.evidence.claims.registry import Claim, Measure, Part, baseline, read_baseline, registry
from sojourn.evidence.claims.verdicts import Cause, CellVerdict, ClaimVerdict, PartVerdict, Verdict
from sojourn.evidence.judging import Bound

__all__ = [
    "Bound",
    "Cause",
    "CellVerdict",
    "Claim",
    "ClaimVerdict",
    "Measure",
    "Part",
    "PartVerdict",
    "Verdict",
    "baseline",
    "evaluate",
    "read_baseline",
    "registry",
    "seeds_there",
]
