"""``sojourn run --dry-run``: the runs of a command, and their needs."""

import math
from collections.abc import Sequence
from typing import Any, Final

from sojourn.cli.grid import print_table
from sojourn.cli.screen import out, print_json
from sojourn.core.store import RunKey
from sojourn.runner import Campaign, Needs, needs
from sojourn.runner.foresight import count, size
from sojourn.runner.progress import span

_BASIS: Final = (
    "These are estimates. Packets follow from rates, times, windows and losses; time from the speeds in "
    "docs/performance.md, not from this machine's; memory is that of the program and of the largest runs at a time."
)

LONG_S: Final = 60.0
"""Before runs that take longer than this, s, the command prints their needs."""


def show_plan(campaign: Campaign, *, as_json: bool) -> None:
    """Print cells, runs and their needs by experiment; with an existing folder, of the remaining runs."""
    plan, threads = campaign.plan(), campaign.threads
    there = {key.digest for key in plan.there}
    by_name: dict[str, list[RunKey]] = {}
    for key in campaign.keys:
        by_name.setdefault(key.scenario.experiment, []).append(key)
    planned = [_experiment(name, own, there, threads) for name, own in by_name.items()]
    left = plan.missing
    together = needs(left, engine=campaign.engine, threads=threads)
    if as_json:
        own = {"expected_s": together.expected_s(threads), "memory_bytes": together.memory_bytes}
        print_json({"experiments": planned, "threads": threads, **own})
        return
    rows = [
        [
            str(own["experiment"]),
            str(own["cells"]),
            str(own["runs"]),
            str(own["there"]),
            span(own["simulated_s"]),
            count(own["packets"]),
            _time(own["expected_s"]),
            size(own["memory_bytes"]),
            size(own["disk_bytes"]),
        ]
        for own in planned
    ]
    heads = ["experiment", "cells", "runs", "there", "simulated", "packets", "time", "memory", "disk"]
    print_table(heads, rows, right=range(1, 9))
    out().print(f"{len(left)} run{'s'[: len(left) != 1]} to make, {needs_line(together, threads)}; this was a dry run")
    if not math.isnan(together.packets):
        out().print(_BASIS)


def needs_line(own: Needs, threads: int) -> str:
    """Return the needs of runs in a line."""
    if math.isnan(own.packets):
        return f"{span(own.simulated_s)} simulated; what else they need this engine cannot say"
    return (
        f"about {span(own.expected_s(threads))} on {threads} idle core{'s'[: threads != 1]}, {count(own.packets)} "
        f"packets, {size(own.memory_bytes)} of memory, {size(own.disk_bytes)} on disk"
    )


def _experiment(name: str, keys: Sequence[RunKey], there: set[str], threads: int) -> dict[str, Any]:
    own = needs([key for key in keys if key.digest not in there], engine=keys[0].engine, threads=threads)
    return {
        "experiment": name,
        "cells": len({key.scenario.labels for key in keys}),
        "runs": len(keys),
        "there": len(keys) - own.runs,
        "simulated_s": own.simulated_s,
        "packets": own.packets,
        "expected_cpu_s": own.cpu_s,
        "expected_s": own.expected_s(threads),
        "memory_bytes": own.memory_bytes,
        "disk_bytes": own.disk_bytes,
    }


def _time(seconds: float) -> str:
    return "–" if math.isnan(seconds) else span(seconds)
