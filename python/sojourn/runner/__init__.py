"""Many runs: made, watched, interrupted, stored.

:mod:`.runs` makes them and does not know who watches; :mod:`.progress` watches for
people. Ctrl-C waits until nothing is half done (:mod:`.interrupt`).
"""

from sojourn.runner.runs import Plan, Watcher, make, make_fresh, make_stored, refuse, run_key, tc_logs

__all__ = ["Plan", "Watcher", "make", "make_fresh", "make_stored", "refuse", "run_key", "tc_logs"]
