"""``sojourn run --dry-run``: what would be run, and how long it would take."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn.cli.grid import print_table
from sojourn.cli.screen import out, print_json
from sojourn.core import describe
from sojourn.core.store import Folder, RunKey
from sojourn.runner.progress import span


def show_plan(keys: Sequence[RunKey], output: Path | None, *, threads: int, as_json: bool) -> None:
    """Print cells, runs and expected time by experiment; of a folder that is there, what is left to run."""
    there = _there(keys, output)
    by_name: dict[str, list[RunKey]] = {}
    for key in keys:
        by_name.setdefault(key.scenario["experiment"], []).append(key)
    planned: list[dict[str, Any]] = [
        {
            "experiment": name,
            "cells": len({tuple(map(tuple, key.scenario["cell"])) for key in own}),
            "runs": len(own),
            "there": sum(key.digest in there for key in own),
            "simulated_s": math.fsum(describe.length(key.scenario) for key in own if key.digest not in there),
            "expected_cpu_s": math.fsum(
                describe.expected_cpu_seconds(key.scenario) for key in own if key.digest not in there
            ),
        }
        for name, own in by_name.items()
    ]
    cpu = math.fsum(own["expected_cpu_s"] for own in planned)
    if as_json:
        print_json({"experiments": planned, "threads": threads, "expected_s": cpu / threads})
        return
    rows = [
        [
            str(own["experiment"]),
            str(own["cells"]),
            str(own["runs"]),
            str(own["there"]),
            span(own["simulated_s"]),
            span(own["expected_cpu_s"] / threads),
        ]
        for own in planned
    ]
    print_table(["experiment", "cells", "runs", "there", "simulated", "time"], rows, right=range(1, 6))
    left = len(keys) - len(there)
    out().print(
        f"{left} run{'s'[: left != 1]} to make, about {span(cpu / threads)} on {threads} idle "
        f"core{'s'[: threads != 1]}; nothing was run"
    )


def _there(keys: Sequence[RunKey], output: Path | None) -> set[str]:
    """Return the digests of the runs that the folder has."""
    if output is None or not (output / "manifest.json").exists():
        return set()
    folder = Folder.open(output)
    return {key.digest for key in keys if key in folder}
