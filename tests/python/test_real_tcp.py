"""``--real-tcp``: who carries out which flow, and which runs a claim then counts. tests/linux runs it."""

import copy
import json
from collections.abc import Callable

import pytest

import sojourn
from sojourn import _core
from sojourn.core.scenario import Scenario
from sojourn.errors import UsageError
from sojourn.experiments import hosts


def of(cell: dict[str, str], suite: str = "sce-l4s-ect1/s2") -> Scenario:
    """Return the first run of a cell of a published experiment."""
    return Scenario(copy.deepcopy(dict(sojourn.load(suite, seeds=1).only(**cell).run_keys[0].scenario)))


SCE = {"architecture": "sce", "rtt": "20ms", "queue": "pie"}


def test_a_kernel_gets_the_flows_that_it_has_and_the_simulator_all_else() -> None:
    scenario = of(SCE)
    changed = hosts.changed(scenario, ["cubic"])
    by = {flow["name"]: (flow["by"], flow["stack"]) for flow in changed["flows"]}
    assert by == {
        "cubic": ("kernel", "linux-7.3"),
        "newcomer": ("sojourn", "sce-2020-03"),
        "ping": ("sojourn", "sce-2020-03"),
    }
    assert [hop["by"] for hop in changed["hops"]] == ["sojourn"]
    assert [hop["stack"] for hop in changed["hops"]] == [hop["stack"] for hop in scenario["hops"]]
    # The engines read it, and what the claim measures has its place in it still.
    read = Scenario(_core.Scenario(json.dumps(changed)).mapping)
    assert (read.label, read.labels, read.seconds) == (scenario.label, scenario.labels, scenario.seconds)


def test_a_cubic_that_is_not_linuxs_stays_the_simulators() -> None:
    text = """
    [experiment]
    name = "quic"
    duration = "5s"
    [[hop]]
    name = "h"
    rate = "5mbit"
    qdisc = "fq_codel"
    rtt = "20ms"
    [[flow]]
    name = "own"
    cc = "cubic"
    [[flow]]
    name = "web"
    cc = "reno"
    short_flows = { mean_interval = "1s", length_p5 = "30k", length_p95 = "50k" }
    [[flow]]
    name = "other"
    quic = { stack = "quinn", cc = "cubic" }
    """
    scenario = Scenario(sojourn.experiments.experiment.parse(text, "quic.toml").run_keys[0].scenario)
    found = {flow.name: hosts.control_of(flow) for flow in scenario.flows}
    assert found == {"own": "cubic", "web": "reno", "other": "", "ping": ""}


def _rate(own: Scenario) -> None:
    own["hops"][0]["down"][1]["rate"] = "49Mbit"


def _model(own: Scenario) -> None:
    own["flows"][1]["stack"] = "linux-5.4"


def _control(own: Scenario) -> None:
    own["flows"][0]["traffic"]["cc"] = "reno"


def _fewer(own: Scenario) -> None:
    del own["flows"][2]


@pytest.mark.parametrize("change", [_rate, _model, _control, _fewer])
def test_a_claim_counts_a_kernels_hosts_and_no_other_change(change: Callable[[Scenario], None]) -> None:
    scenario = of(SCE)
    run = Scenario(copy.deepcopy(hosts.changed(scenario, ["cubic"])))
    assert hosts.same_experiment(run, scenario)
    change(run)
    assert not hosts.same_experiment(run, scenario)


def test_mistakes_are_named() -> None:
    keys = sojourn.load("sce-l4s-ect1/s2", seeds=1).only(**SCE).run_keys
    with pytest.raises(UsageError, match="the engine sim runs no kernel next to models"):
        hosts.with_real_tcp(keys, ["cubic"], engine="sim")
    with pytest.raises(UsageError, match='"cubik"') as refused:
        hosts.with_real_tcp(keys, ["cubik"], engine="linux")
    assert "cubic" in str(refused.value.help)
