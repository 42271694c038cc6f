"""The worst case: settings that an experiment's ``[search]`` lets vary, and the metric that is to be extreme.

:mod:`.campaign` asks an :mod:`.optimiser` for generations of points, runs them (:mod:`.trials`) and keeps the best of
each kind in an :mod:`.archive`. Its finds are made simpler (:mod:`.shrinking`), made again with seeds that the
search never saw (:mod:`.confirming`), and written down (:mod:`.account`).
"""

from sojourn.search.account import account, as_json, regression_test
from sojourn.search.archive import Archive
from sojourn.search.budget import Budget
from sojourn.search.campaign import Campaign, Found
from sojourn.search.confirming import Confirmation, confirm
from sojourn.search.objective import Objective
from sojourn.search.shrinking import Shrunk, shrink
from sojourn.search.trials import Subject, Trial, Trials

__all__ = [
    "Archive",
    "Budget",
    "Campaign",
    "Confirmation",
    "Found",
    "Objective",
    "Shrunk",
    "Subject",
    "Trial",
    "Trials",
    "account",
    "as_json",
    "confirm",
    "regression_test",
    "shrink",
]
