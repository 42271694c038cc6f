"""A laboratory for congestion control and queue management.

What the command line does, for notebooks and programs::

    import sojourn

    results = sojourn.load("l4s-tests/s6", seeds=3).run("results/mine")
    results                                     # a notebook shows the axes and a summary
    results.frame("flows")                      # one Polars frame: a row a run, step and flow
    results.metric("jain(delivery_rate)")       # a row a run: axes, seed, value
    results.plot("fairness", x="queue")
    results[0].plot()                           # one run over time
    sojourn.open("results/mine")                # the same runs, read back later

    sojourn.Experiment.dumbbell(qdisc=["pfifo", "dualpi2"], flows=["cubic", "prague"]).run()
    sojourn.Campaign.of("l4s-tests", folder="results/all")  # plan, run, judge and report several experiments

Times are seconds from a run's origin, rates bits per second unless a column's name says otherwise. Mistakes raise
the exceptions of :mod:`sojourn.errors`, which say where.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.campaign import Campaign
    from sojourn.core.run import harm
    from sojourn.experiments.experiment import Experiment, load, parse, suites
    from sojourn.views.results import Results, results
    from sojourn.views.results import results as open  # noqa: A004 - sojourn.open(folder)
    from sojourn.views.run import Run

    __version__: str

__all__ = ["Campaign", "Experiment", "Results", "Run", "harm", "load", "open", "parse", "results", "suites"]

# Polars and the rest take longer to import than a command line needs to print its help.
_HOMES = {
    "Campaign": "sojourn.campaign",
    "Experiment": "sojourn.experiments.experiment",
    "Results": "sojourn.views.results",
    "Run": "sojourn.views.run",
    "harm": "sojourn.core.run",
    "load": "sojourn.experiments.experiment",
    "open": "sojourn.views.results",
    "parse": "sojourn.experiments.experiment",
    "results": "sojourn.views.results",
    "suites": "sojourn.experiments.experiment",
}
_NAMES = {"open": "results"}
"""Names that differ from those in their modules."""

_MODULES = {
    "claims": "sojourn.evidence.claims",
    "core": "sojourn.core",
    "custom": "sojourn.custom",
    "errors": "sojourn.errors",
    "evidence": "sojourn.evidence",
    "experiments": "sojourn.experiments",
    "figures": "sojourn.plotting.figures",
    "interop": "sojourn.interop",
    "linux": "sojourn.linux",
    "parity": "sojourn.evidence.parity",
    "plotting": "sojourn.plotting",
    "reporting": "sojourn.reporting",
    "runner": "sojourn.runner",
    "validation": "sojourn.evidence.validation",
}
"""Modules that need no import of their own: ``sojourn.figures.KINDS``."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    if name == "__version__":
        from sojourn import _core  # noqa: PLC0415 - as above

        return _core.version()
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), _NAMES.get(name, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})
