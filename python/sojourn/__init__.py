"""A laboratory for congestion control and queue management.

What the command line does, for notebooks and programs::

    import sojourn

    runs = sojourn.load("experiment.toml").run("results/mine")
    runs[0].flows                      # Polars frame: one row a step and flow
    runs[0].metric("jain(delivery_rate)")
    sojourn.results("results/mine")    # the same runs, read back later

Times are seconds from a run's origin, rates bits per second unless a column's name says otherwise. Mistakes raise
the exceptions of :mod:`sojourn.errors`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.core.run import Run, results
    from sojourn.experiments.experiment import Experiment, load, parse

__all__ = ["Experiment", "Run", "load", "parse", "results"]

# Polars and the rest take longer to import than a command line needs to print its help.
_HOMES = {
    "Experiment": "sojourn.experiments.experiment",
    "Run": "sojourn.core.run",
    "load": "sojourn.experiments.experiment",
    "parse": "sojourn.experiments.experiment",
    "results": "sojourn.core.run",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
