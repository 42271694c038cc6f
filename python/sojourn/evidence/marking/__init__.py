"""The marking curve of a queue, drawn from outside and judged by the law that its words state.

``sojourn conformance marking --qdisc 'WORDS'`` sends UDP of known rates through the queue, steps and ramps, and
counts what arrives marked and what does not arrive. Nothing of the queue's own is read but what every queue has: its
length, the time that packets waited, marks and drops. So it works on a queue of ours, on a kernel's, and on a
plugin's or a class in Python, when ``--law 'WORDS'`` names the law.

:mod:`.words` reads the parameters, :mod:`.stimuli` has the experiments, :mod:`.observed` what came out, :mod:`.laws`
the reference laws, written from the RFCs and papers and not from our queues, and :mod:`.red`, :mod:`.codel`,
:mod:`.pie` and :mod:`.dualpi2` the cases.

The trick is a replay: the reference law is fed with the delays or lengths that the queue really had, and says how
often it would have signalled. So a test needs no equilibrium, and a deviation has a place: the bin of the curve, the
second of the step.
"""

from sojourn.evidence.marking.case import Case, Finding, Outcome
from sojourn.evidence.marking.examine import LAWS, Examination, examine

__all__ = ["LAWS", "Case", "Examination", "Finding", "Outcome", "examine"]
