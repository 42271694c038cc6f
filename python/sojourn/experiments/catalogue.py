"""The suites with what they cost: for lists."""

from typing import Any

from sojourn.core import describe
from sojourn.experiments import library
from sojourn.experiments.experiment import load


def catalogue() -> list[dict[str, Any]]:
    """Return every scenario of every suite with its source, its number of cells and runs, and simulated time."""
    entries = []
    for suite, scenarios in library.suites().items():
        for name, file in library.in_order(scenarios):
            experiment = load(file, yes=True)
            entries.append(
                {
                    "name": f"{suite}/{name}",
                    "about": experiment.about,
                    "source": experiment.source,
                    "cells": len(experiment.cells),
                    "runs": len(experiment.run_keys),
                    "simulated_s": experiment.seconds,
                    "expected_cpu_s": sum(describe.expected_cpu_seconds(s.scenario) for s in experiment.run_keys),
                }
            )
    return entries
