"""The published experiments: whether all of them are there, and say what they are."""

import json
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from sojourn import _core, runner
from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment, load

CELLS: Final = {
    "l4s-tests/s1": 192,
    "l4s-tests/s1-cake": 48,
    "l4s-tests/s2": 64,
    "l4s-tests/s3": 16,
    "l4s-tests/s4": 36,
    "l4s-tests/s5": 8,  # the report's four, with a source port for each inner flow, and without a tunnel
    "l4s-tests/s6": 24,
    "l4s-tests/s7": 6,
    "l4s-tests/s8": 24,
    "l4s-tests/s9": 11,
    "l4s-tests/s10": 8,
    "l4s-tests/s11": 8,
    "l4s-tests/s12": 2,
    "l4s-tests/s13": 8,
    "l4s-tests/wifi": 6,
    "l4s-tests/replay-dos": 8,
    "l4s-tests/video-delay": 6,
    "l4s-tests/video-goodput": 10,
    "l4s-tests/fct": 15,
    "l4s-tests/streaming": 3,
    "sce-l4s-ect1/s1": 18,
    "sce-l4s-ect1/s2": (14 + 13) * 3,
    "sce-l4s-ect1/s3": 4,
    "sce-l4s-ect1/s4": 8,
    "sce-l4s-ect1/s5": 6,
    "sce-l4s-ect1/s6": 6,
    "sce-l4s-ect1/erased": 6,
    "sce-l4s-ect1/internet": 8,
    "overload/stable": 2,
    "overload/udp": 4 * 3 * 11,
    "fast-lane/disproof": 4,
    "fast-lane/objection": 2,
    "sce-l4s-ect1-rerun/s1": 9,
    "sce-l4s-ect1-rerun/s2": 13 * 3,
    "sce-l4s-ect1-rerun/s3": 2,
    "sce-l4s-ect1-rerun/s4": 4,
    "sce-l4s-ect1-rerun/s5": 2,
    "sce-l4s-ect1-rerun/s6": 3,
    "sce-l4s-ect1-rerun/loss-response": 9,
    "iccrg/single": 2 * 3 * 4 - 1,
    "iccrg/dctcp": 1,
    "iccrg/two": 2,
    "iccrg/four": 2,
    "rtt-independence/steps": 4,
    "imc-2019/bbr-share": 3 * 6,
    "links/bursts": 4 * 3 * 2,
    "links/cellular": 4 * 4 * 2,
    "links/docsis": 4 * 4 * 2,
    "links/handover": 2 * 5,
    "links/lte": 4 * 3 * 4,
    "links/starlink": 3 * 5,
    "quic/alone": 6 * 4 * 3 * 4,
    "quic/pairs": 6 * 3 * 6 * 3 * 3,
    "quic/quiche-1400": 8 * 4,
    "c4/alone": 5,
    "c4/changes": 2,
    "c4/compete": 3 * 3,
    "c4/rests": 2,
    "c4/short-long": 1,
    "known-results/bbr3-beside-cubic": 2 * 3 * 4,
    "known-results/bbr3-ecn": 4 * 2,
    "known-results/bbr3-pam-2024": 2 * 6,
    "known-results/comcast-pie": 2 * 4,
    "known-results/fq-pie": 2 * 3,
    "known-results/ns3-aqm": 6,
    "known-results/pam-2025": 9 * 5 * 5,
    "known-results/prague-neighbours": 5 * 2 * 2,
    "known-results/scream": 5 * 2,
    "nsperf/bufferbloat": 4,
    "nsperf/coexist": 6,
    "nsperf/ecn-bulk": 5,
    "nsperf/random-loss": 10,
    "nsperf/shallow": 5,
    "open-questions/bursty-links": 4 * 3 * 2,
    "open-questions/drain": 4 * 2 * 3 * 4,
    "open-questions/latecomers": 7 * 3 * 2,
    "open-questions/nqb": 4 * 4,
    "open-questions/slow-start": 4 * 3 * 3,
    "prudentia/pairs": 3 * 2 * 2,
    "prudentia/video": 2 * 2,
    "responsiveness/idle": 2,
    "responsiveness/loaded": 2 * 3,
    "rfc-7928/behind-others": 2,
    "rfc-7928/bursts": 4,
    "rfc-7928/congestion": 3,
    "rfc-7928/friendly": 2,
    "rfc-7928/mix": 1,
    "rfc-7928/packet-sizes": 1,
    "rfc-7928/rtt-fairness": 11 * 2,
    "rfc-7928/series": 1,
    "rfc-7928/short-flows": 2,
    "rfc-7928/two-way": 2,
    "rfc-7928/unresponsive": 3,
    "rfc-7928/varying-load": 1,
    "rfc-7928/varying-rate": 2,
    "rfc-8867/competing": 1,
    "rfc-8867/feedback": 1,
    "rfc-8867/hops": 1,
    "rfc-8867/long-tcp": 2,
    "rfc-8867/multiple-flows": 1,
    "rfc-8867/pause": 1,
    "rfc-8867/rtt-fairness": 1,
    "rfc-8867/short-tcp": 1,
    "rfc-8867/variable-capacity": 2,
    "rfc-8867-media/competing": 1,
    "rfc-8867-media/ecn": 2,
    "rfc-8867-media/feedback": 1,
    "rfc-8867-media/hops": 1,
    "rfc-8867-media/long-tcp": 2,
    "rfc-8867-media/multiple-flows": 1,
    "rfc-8867-media/pause": 1,
    "rfc-8867-media/rtt-fairness": 1,
    "rfc-8867-media/short-tcp": 1,
    "rfc-8867-media/variable-capacity": 2,
    "rfc-9743/coexist": 3 * 4 * 4,
    "rfc-9743/data-centre": 3 * 2,
    "rfc-9743/delay-changes": 2,
    "rfc-9743/disciplines": 6,
    "rfc-9743/disciplines-beside": 5,
    "rfc-9743/heavy-loss": 5,
    "rfc-9743/high-delay": 2 * 2,
    "rfc-9743/non-compliance": 3 * 2,
    "rfc-9743/numbers": 2 * 3,
    "rfc-9743/rate-changes": 5,
    "rfc-9743/real-time": 2,
    "rfc-9743/reordering": 6,
    "rfc-9743/shallow": 5 * 3,
    "rfc-9743/sharing": 6,
    "rfc-9743/short-flows": 3 * 2,
    "rfc-9743/silence": 2,
    "rfc-9743/standing-queue": 3 * 2,
    "rfc-9743/tiny": 3,
    "rfc-9743/tunnels": 4 * 2,
    "rfc-9743/wireless": 5,
}
"""What each report lists; issue 5."""

SLOW: Final = {"rfc-9743/high-delay": 1, "rfc-9743/tiny": 1}
"""Packets in a second and a half, where a round trip takes nearly as long."""

PUBLISHED: Final = [
    (f"{s}/{n}", file) for s, own in library.suites().items() if s != "parity" for n, file in own.items()
]


@pytest.fixture(scope="module")
def experiments() -> dict[str, Experiment]:
    return {name: load(file, seeds=1) for name, file in PUBLISHED}


def test_matrices_are_complete(experiments: dict[str, Experiment]) -> None:
    there = {name: len(experiment.cells) for name, experiment in experiments.items()}
    assert there == CELLS


def test_each_says_what_it_is_and_where_it_is_from(experiments: dict[str, Experiment]) -> None:
    for name, experiment in experiments.items():
        assert experiment.name == name
        assert experiment.about
        assert experiment.source
        for key in experiment.run_keys:
            measured = [*key.scenario["windows"], *key.scenario["phases"]]
            assert measured, f"{key.label} says nowhere where to measure"


def test_the_simulator_refuses_none(experiments: dict[str, Experiment]) -> None:
    for experiment in experiments.values():
        runner.refuse(experiment.run_keys, engine="sim")


def test_the_simulator_runs_every_scenario(experiments: dict[str, Experiment]) -> None:
    """The first cell of each, its first second and a half: packets leave queues, or probes are answered."""
    brief = {"duration": "1500ms", "windows": [], "phases": [], "events": [], "checks": []}
    names = list(experiments)
    scenarios = [_core.Scenario(json.dumps({**experiments[name].run_keys[0].scenario, **brief})) for name in names]
    seen: dict[str, int] = {}

    def done(place: int, run: _core.Run | Exception | None) -> None:
        assert isinstance(run, _core.Run), run
        sent = pl.DataFrame(run.table("queues"))["sent_packets"].to_list()
        seen[names[place]] = max(sent, default=0) + len(run.table("pings"))

    _core.run_many(scenarios, on_done=done)
    assert seen.keys() == experiments.keys()
    assert {name: packets for name, packets in seen.items() if packets < 10} == SLOW


@pytest.mark.parametrize(("name", "file"), PUBLISHED)
def test_names_within_are_right(name: str, file: Path) -> None:
    """Phases, windows and checks are resolved with the scenario: a wrong name would be refused when it is read."""
    loaded = _core.load(file.read_text(), str(file), seeds=1)
    for resolved in loaded.scenarios:
        scenario: dict[str, Any] = json.loads(resolved.json)
        assert scenario["experiment"] == name
        names = [flow["name"] for flow in scenario["flows"]]
        assert len(names) == len(set(names))


def test_all_stands_for_what_is_published() -> None:
    named = [one.name for one in library.resolve("all")]
    ours = {
        "c4",
        "known-results",
        "links",
        "nsperf",
        "open-questions",
        "prudentia",
        "quic",
        "responsiveness",
        "rfc-7928",
        "rfc-8867",
        "rfc-8867-media",
        "rfc-9743",
    }
    assert sorted(named) == sorted(name for name, _ in PUBLISHED if name.partition("/")[0] not in ours)


def test_overload_is_the_product_of_what_the_source_varies(experiments: dict[str, Experiment]) -> None:
    cells = {tuple(label for _, label in s.scenario["cell"]) for s in experiments["overload/udp"].run_keys}
    for queue in ("pie", "pi2", "dualpi2", "codel"):
        for udp in ("not-ect", "ect0", "ect1"):
            for load_mbit in (50, 70, 100, 105, 110, 115, 120, 125, 130, 140, 200):
                assert (queue, udp, f"{load_mbit}mbit") in cells


def test_replay_windows_of_128_and_256_are_at_100_mbit_only(experiments: dict[str, Experiment]) -> None:
    cells = [dict(map(tuple, s.scenario["cell"])) for s in experiments["l4s-tests/s9"].run_keys]
    assert {c["window"] for c in cells if c["bandwidth"] == "100mbit"} == {"0", "32", "64", "128", "256"}
    assert {c["window"] for c in cells if c["bandwidth"] == "20mbit"} == {"0", "32", "64"}
