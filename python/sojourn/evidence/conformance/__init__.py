"""Promises of specifications about senders and queues, as cases that run.

A document is a folder of TOML files: ``document.toml`` says which text it is, every other file is a case. A case is an
experiment like any suite's, with events that wait for a state. It adds preconditions, without which it proves nothing
(``[[require]]``), and the promises of the text (``[[expect]]``), each with its section. A case is data; the judge is
one small engine that knows no document and no control.

The trick is that a promise is a predicate over *steps*: rows of the run's tables, one a millisecond, with a control's
own numbers next to the window and the queue. So a verdict names the first step that deviates, with the expected and
the observed values. A number that a sender does not report is *not observable*, and where the precondition never came
the case is *skipped*: neither is a pass.

:mod:`.document` reads the files, :mod:`.words` the predicates, :mod:`.steps` makes a run's steps, :mod:`.judge` looks
at them, :mod:`.examine` runs cases on subjects.
"""

from sojourn.evidence.conformance.document import Case, Document, documents, find
from sojourn.evidence.conformance.examine import Examination, examine
from sojourn.evidence.conformance.subject import Subject
from sojourn.evidence.conformance.verdicts import CaseVerdict, Deviation, Outcome, Verdict

__all__ = [
    "Case",
    "CaseVerdict",
    "Deviation",
    "Document",
    "Examination",
    "Outcome",
    "Subject",
    "Verdict",
    "documents",
    "examine",
    "find",
]
