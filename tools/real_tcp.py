"""Claims with Linux's own TCP, next to our model of the same kernel.

    tools/real_tcp.py DIR...   # runs with --engine linux --real-tcp cubic; writes docs/tables/claims-real.csv and
                               # docs/parity/real-tcp.csv. Of a run in two folders, the first counts

A run of these folders differs from the suite's in two ways: Linux's TCP carries out the conventional flows, and its
version is not the published one. The twin of each run separates the two: the simulator runs the same scenario with its
model of Linux 7.3 in those flows. Real TCP and its twin differ by our model's error; the twin and the suite's own runs
differ by what has changed in Linux. The twins of DIR are in DIR-twins.
"""

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sojourn import _core, load, runner
from sojourn.core.run import Run
from sojourn.evidence.claims import ClaimVerdict, Verdict, evaluate, page, registry
from sojourn.evidence.claims.evaluate import seeds_there
from sojourn.experiments.experiment import Experiment
from sojourn.views.results import Results, results

ROOT: Final = Path(__file__).parents[1]
PARTS: Final = ("claim", "part", "bound", "cells", "reproduced", "least", "greatest", "seeds", "verdict")
CELLS: Final = ("claim", "part", "cell", "bound", "published stack", "Linux 7.3, simulator", "Linux 7.3, kernel")


def twin(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario with the simulator's hosts and queues in place of every kernel's."""

    def without(mapping: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in mapping.items() if key != "by"}

    return {
        **scenario,
        "hops": [without(hop) for hop in scenario["hops"]],
        "flows": [without(flow) for flow in scenario["flows"]],
    }


def twins(runs: Iterable[Run], folder: Path) -> Results:
    """Run the twin of each run, into a folder."""
    scenarios = [_core.Scenario(json.dumps(twin(run.scenario))) for run in runs]
    keys = runner.run_keys(scenarios, engine="sim", keep="all")
    return Experiment("twins", "", "", "sim", keys).run(folder, quiet=True)


def _same_flows(run: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two scenarios differ at most in who carries them out and in the stacks of their flows."""
    aside = ("seed", "checks", "source")

    def bare(scenario: Mapping[str, Any]) -> dict[str, Any]:
        own = twin(scenario)
        flows = [{**flow, "stack": ""} for flow in own["flows"]]
        return {**own, **dict.fromkeys(aside), "flows": flows}

    return bare(run) == bare(other)


def cells(verdicts: Sequence[ClaimVerdict]) -> dict[tuple[str, str, str], str]:
    """Return the median and the interval of each cell that was run, by claim, part and cell."""
    found = {}
    for own in verdicts:
        for part in own.parts:
            bound = part.part.bound
            for cell in part.cells:
                if math.isnan(cell.ours) or cell.verdict is Verdict.NOT_RUN:
                    continue
                interval = "" if math.isnan(cell.low) else f" ({bound.show(cell.low)} to {bound.show(cell.high)})"
                unit = f" {bound.unit}" if bound.unit else ""
                found[own.claim.id, part.part.what, cell.title] = f"{bound.show(cell.ours)}{interval}{unit}"
    return found


def main(folders: Sequence[Path]) -> None:
    """Judge the runs of these folders and their twins; write both tables."""
    runs: list[Run] = []
    own_twins: list[Run] = []
    published: list[Run] = []
    for folder in folders:
        there = {_place(run) for run in runs}
        found = [run for run in results(folder) if _place(run) not in there]
        runs += found
        own_twins += twins(found, folder.with_name(f"{folder.name}-twins"))
        published += published_runs(folder, found)
    seeds = seeds_there(runs, engine="linux")
    real = evaluate(registry(), runs, engine="linux", seeds=seeds)
    kept = [row for own in real for row in page.part_rows(own) if not row[-1].startswith(Verdict.NOT_RUN)]
    _write(ROOT / "docs" / "tables" / "claims-real.csv", PARTS, kept)
    modelled = cells(evaluate(registry(), own_twins, seeds=seeds, same=_same_flows))
    theirs = cells(evaluate(registry(), published, seeds=seeds))
    bounds = {(row[0], row[1]): row[2] for row in kept}
    rows = [
        [*place, bounds[place[:2]], theirs.get(place, ""), modelled.get(place, ""), value]
        for place, value in cells(real).items()
        if place[:2] in bounds
    ]
    _write(ROOT / "docs" / "parity" / "real-tcp.csv", CELLS, rows)


def published_runs(folder: Path, runs: Sequence[Run]) -> Results:
    """Run the suites' own cells, for the column of the published stack."""
    wanted: dict[str, set[Any]] = {}
    for run in runs:
        wanted.setdefault(run.scenario.experiment, set()).add((run.scenario.labels, run.seed))
    keys = []
    for name, own in wanted.items():
        most = max(seed for _, seed in own)
        keys += [key for key in load(name, seeds=most).run_keys if (key.scenario.labels, key.seed) in own]
    return Experiment("published", "", "", "sim", keys).run(folder.with_name(f"{folder.name}-published"), quiet=True)


def _place(run: Run) -> tuple[str, Any, int]:
    return run.scenario.experiment, run.scenario.labels, run.seed


def _write(file: Path, head: Sequence[str], body: Iterable[Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(f"usage: {sys.argv[0]} DIR...")
    main([Path(name) for name in sys.argv[1:]])
