"""Real TCP in any experiment: a Linux kernel sends the flows that it has a congestion control for.

The published experiments run queues and senders that no current kernel has, so the Linux engine refuses most of them
whole. :func:`with_real_tcp` leaves the queues and the other flows to the simulator and gives the rest to a kernel, in
the same run.

Invariants: experiment, cell, seed and every other setting stay; the scenario states who carries out what, so a stored
run repeats without this option.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Final

from sojourn import _core, runner
from sojourn.core.scenario import Flow, Scenario
from sojourn.core.store import RunKey
from sojourn.errors import UsageError

STACK: Final = "linux-7.3"
"""The stack of flows by a kernel."""

ENGINE: Final = "linux"


def with_real_tcp(keys: Sequence[RunKey], controls: Collection[str], *, engine: str) -> list[RunKey]:
    """Return these runs with real TCP for the flows that have one of these congestion controls.

    Runs without such a flow are left out: the simulator has them already.

    Args:
        keys: the runs.
        controls: names of congestion controls: ``cubic``.
        engine: the engine of the runs; the Linux engine alone has kernels next to models.

    Raises:
        UsageError: on another engine, or where no flow has such a control, with the nearest.
    """
    if engine.partition(":")[0] != ENGINE:
        raise UsageError(
            f"the engine {engine} runs no kernel next to models", help=f"--real-tcp needs --engine {ENGINE}"
        )
    there = dict.fromkeys(control_of(flow) for key in keys for flow in key.scenario.flows)
    for control in controls:
        if control not in there:
            raise UsageError.unknown("TCP flow with the congestion control", control, [own for own in there if own])
    chosen = [key for key in keys if any(control_of(flow) in controls for flow in key.scenario.flows)]
    scenarios: list[_core.Scenario] = []
    for _, own in groupby(chosen, lambda key: key.cell_digest):
        seeds = list(own)
        first = _core.Scenario(json.dumps(changed(seeds[0].scenario, controls)))
        scenarios += [first.with_seed(key.seed) for key in seeds]
    made = runner.run_keys(scenarios, engine=engine, warnings=[key.warnings for key in chosen])
    return [replace(new, keep=old.keep) for new, old in zip(made, chosen, strict=True)]


def control_of(flow: Flow) -> str:
    """Return the congestion control of a flow of Linux's TCP; empty for every other flow."""
    traffic = flow["traffic"]
    own = traffic if traffic["kind"] == "tcp" else traffic.get("tcp", {})
    return str(own.get("cc", ""))


def same_experiment(run: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two scenarios differ at most in who carries them out.

    The stack of the run's flows by a kernel belongs to that.
    """
    by_kernel = [flow.get("by") == "kernel" for flow in run["flows"]]
    return _without_hosts(run, by_kernel) == _without_hosts(other, by_kernel)


def _without_hosts(scenario: Mapping[str, Any], by_kernel: Sequence[bool]) -> Mapping[str, Any]:
    def without(mapping: Mapping[str, Any], *names: str) -> dict[str, Any]:
        return {key: value for key, value in mapping.items() if key not in names}

    if len(scenario["flows"]) != len(by_kernel):
        return scenario
    hops = [without(hop, "by") for hop in scenario["hops"]]
    pairs = zip(scenario["flows"], by_kernel, strict=True)
    return {**scenario, "hops": hops, "flows": [without(flow, "by", *["stack"][:kernel]) for flow, kernel in pairs]}


def changed(scenario: Scenario, controls: Collection[str]) -> dict[str, Any]:
    """Return a scenario with the flows of these controls by a kernel and everything else by the simulator."""

    def of(flow: Flow) -> dict[str, Any]:
        if control_of(flow) in controls:
            return {**flow, "by": "kernel", "stack": STACK}
        return {**flow, "by": "sojourn"}

    hops = [{**hop, "by": "sojourn"} for hop in scenario["hops"]]
    return {**scenario, "hops": hops, "flows": [of(flow) for flow in scenario.flows]}
