"""Many runs: made, watched, interrupted, stored.

:mod:`.foresight` says what they will need. :mod:`.runs` makes them and does not know who
watches; :mod:`.progress` watches for people. Ctrl-C waits until nothing is half done
(:mod:`.interrupt`).
"""

from sojourn.runner.foresight import Needs, needs, refuse_what_cannot_fit
from sojourn.runner.runs import Plan, Watcher, make, make_fresh, make_stored, refuse, run_key, tc_logs

__all__ = [
    "Needs",
    "Plan",
    "Watcher",
    "make",
    "make_fresh",
    "make_stored",
    "needs",
    "refuse",
    "refuse_what_cannot_fit",
    "run_key",
    "tc_logs",
]
