"""The suites with their costs: for lists."""

from typing import Any

from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment, load
from sojourn.runner import needs


def catalogue(name: str | None = None) -> list[dict[str, Any]]:
    """Return scenarios of suites with their source, axes, numbers of cells and runs, and simulated time.

    Args:
        name: a suite, or SUITE/SCENARIO (default: every suite).

    Raises:
        UsageError: if there is no such suite, with the nearest.
    """
    if name is not None:
        return [_entry(named.name, load(named.file, yes=True)) for named in library.resolve_suite(name)]
    found = library.suites()
    return [
        _entry(f"{suite}/{scenario}", load(file, yes=True))
        for suite, scenarios in found.items()
        for scenario, file in library.in_order(scenarios)
    ]


def _entry(name: str, experiment: Experiment) -> dict[str, Any]:
    return {
        "name": name,
        "about": experiment.about,
        "source": experiment.source,
        "axes": experiment.axes,
        "cells": len(experiment.cells),
        "runs": len(experiment.run_keys),
        "simulated_s": experiment.seconds,
        "expected_cpu_s": needs(experiment.run_keys, engine=experiment.engine, threads=1).cpu_s,
    }
