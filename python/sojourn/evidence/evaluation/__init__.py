"""The demands of a document on a congestion control, as experiments: ``sojourn evaluate``.

A :class:`Document` is a TOML file in this folder: its criteria as rows, each with a suite that anyone can run, figures
of its runs, and the rule by which each is judged. A :class:`Subject` takes the place of the flows that the suites call
``tested``. A rule is a bound, a comparison with Reno and CUBIC in the same place, or none; it names the origin of its
number.
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
