"""Many runs: made, watched, interrupted, stored.

:mod:`.campaign` is the object that plans and makes them; the other modules are its parts. :mod:`.foresight` says what
they will need. :mod:`.runs` makes them and does not know who watches; :mod:`.progress` watches for people. Ctrl-C waits
until nothing is half done (:mod:`.interrupt`). :mod:`.executors` has them made by other processes and machines;
:mod:`.made` is the result of a run, wherever it was made.
"""

from sojourn.runner.campaign import Campaign, Watching, cores
from sojourn.runner.foresight import Needs, needs, refuse_what_cannot_fit
from sojourn.runner.runs import Plan, Watcher, make, refuse, run_keys

__all__ = [
    "Campaign",
    "Needs",
    "Plan",
    "Watcher",
    "Watching",
    "cores",
    "make",
    "needs",
    "refuse",
    "refuse_what_cannot_fit",
    "run_keys",
]
