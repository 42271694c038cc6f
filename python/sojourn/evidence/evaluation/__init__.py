"""What a document asks of a congestion control, as experiments: ``sojourn evaluate``.

A :class:`Document` is a TOML file beside this one: its criteria as rows, each with a suite that anyone can run, figures
of its runs, and the rule by which each is judged. A :class:`Subject` takes the place of the flows that the suites call
``tested``. A rule is a bound, a comparison with what Reno and CUBIC do in the same place, or none; whose number it is
stands beside it.
"""

from sojourn.evidence.evaluation.campaign import Campaign
from sojourn.evidence.evaluation.document import Document, documents, read
from sojourn.evidence.evaluation.judge import JudgedFigure, JudgedRow, Verdict, judge
from sojourn.evidence.evaluation.subject import Subject
from sojourn.evidence.evaluation.values import Values, measure

__all__ = [
    "Campaign",
    "Document",
    "JudgedFigure",
    "JudgedRow",
    "Subject",
    "Values",
    "Verdict",
    "documents",
    "judge",
    "measure",
    "read",
]
