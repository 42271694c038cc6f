"""``sojourn conformance marking``: our queues keep the law of their words, and each case can fail."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import runner
from sojourn.core.store import RunKey
from sojourn.errors import UsageError
from sojourn.evidence.conformance import Verdict
from sojourn.evidence.marking import LAWS, Examination, examine
from sojourn.evidence.marking.observed import QUEUE, observed
from sojourn.evidence.marking.page import curve
from sojourn.evidence.marking.words import parameters
from sojourn.views.run import Run
from test_cli import sojourn

RED = "red limit 400k min 30k max 90k avpkt 1514 burst 30 ecn probability 0.1 bandwidth 12mbit"


def make(keys: Sequence[RunKey]) -> list[Run]:
    made: dict[str, Run] = {}

    def keep(key: RunKey, results: object) -> None:
        made[key.digest] = Run.fresh(key, results)  # type: ignore[arg-type]

    runner.make(keys, engine="sim", threads=2, keep=keep)
    return [made[key.digest] for key in keys]


def failed(own: Examination) -> set[str]:
    return {one.case.name for one in own.outcomes if one.verdict is Verdict.FAILED}


@pytest.mark.parametrize(
    "words",
    [
        RED,
        "red limit 200k min 20k max 60k avpkt 1000 burst 60 probability 0.02 bandwidth 12mbit harddrop ecn",
        "red limit 300k min 30k max 90k avpkt 1000 burst 50 probability 0.05 bandwidth 12mbit",
        "codel ecn",
        "codel target 10ms interval 50ms noecn",
        "codel target 2ms interval 40ms ecn",
        "fq_codel target 2ms interval 40ms",
        "pie ecn",
        "pie target 30ms tupdate 20ms",
        "dualpi2",
        "dualpi2 target 20ms coupling_factor 3 step_thresh 4ms limit 500",
    ],
)
def test_our_queues_keep_the_law_of_their_words(words: str) -> None:
    own = examine(words, make)
    assert own.is_passed, [
        (one.case.name, [f for f in one.findings if not f.holds])
        for one in own.outcomes
        if one.case.name in failed(own)
    ]
    assert sum(one.verdict is Verdict.PASSED for one in own.outcomes) >= 4


@pytest.mark.parametrize(
    ("words", "law", "caught"),
    [
        ("codel target 10ms ecn", "codel ecn", {"first"}),
        ("codel interval 70ms ecn", "codel ecn", {"first", "law"}),
        ("codel noecn", "codel ecn", {"marks"}),
        (RED.replace("min 30k", "min 43k"), RED, {"curve"}),
        (RED.replace("max 90k", "max 120k"), RED, {"curve", "reaction"}),
        (RED.replace("probability 0.1", "probability 0.2"), RED, {"curve", "overload"}),
        (RED.replace("burst 30", "burst 400"), RED, {"reaction"}),
        (RED.replace("limit 400k", "limit 300k"), RED, {"limit"}),
        ("pie target 25ms ecn", "pie ecn", {"target"}),
        ("pie alpha 8 ecn", "pie ecn", {"step"}),
        ("dualpi2 coupling_factor 1", "dualpi2", {"root"}),
        ("dualpi2 target 25ms", "dualpi2", {"target"}),
        ("dualpi2 step_thresh 5ms", "dualpi2", {"step"}),
        ("dualpi2 classic_protection 30", "dualpi2", {"share"}),
        ("pfifo limit 1000", "codel ecn", {"first", "law", "marks"}),
    ],
)
def test_a_queue_with_other_numbers_is_caught(words: str, law: str, caught: set[str]) -> None:
    assert caught <= failed(examine(words, make, law=law))


def test_a_queue_may_be_judged_by_the_law_of_another() -> None:
    own = examine("fq_codel flows 1", make, law="codel ecn", names=["first", "law", "marks", "below", "lone"])
    assert own.is_passed
    assert [one.case.name for one in own.outcomes] == ["first", "law", "marks", "below", "lone"]


CLASS = """
from collections import deque

from sojourn.custom import Aqm, Packet, QueueView


class Mine(Aqm):
    def __init__(self, step: int = 0) -> None:
        self.step, self.held = step, deque()

    def enqueue(self, packet: Packet, queue: QueueView) -> None:
        self.held.append((queue.now_ns, packet))

    def dequeue(self, queue: QueueView) -> Packet | None:
        if not self.held:
            return None
        came, packet = self.held.popleft()
        if self.step and queue.now_ns - came > self.step:
            packet.mark()
        return packet
"""


def test_a_class_in_python_is_judged_by_the_law_that_it_claims(tmp_path: Path) -> None:
    """L's threshold of DualPI2 alone: its step is right, its coupling is not there."""
    file = tmp_path / "mine.py"
    file.write_text(CLASS)
    own = examine(f"python:{file}:Mine step 1ms", make, law="dualpi2", names=["step", "root", "classic"])
    assert failed(own) == {"root", "classic"}
    assert examine(f"python:{file}:Mine step 1ms", make, law="dualpi2", names=["step"]).is_passed
    assert failed(examine(f"python:{file}:Mine", make, law="dualpi2", names=["step"])) == {"step"}


def test_the_curve_rises_from_nothing_to_everything() -> None:
    points = curve(examine(RED, make, names=["curve"]))
    assert points[0]["signalled"] == 0
    assert points[-1]["signalled"] > 0.95
    between = [own for own in points if 35e3 < own["bytes"] < 80e3]
    assert between[0]["signalled"] < between[len(between) // 2]["signalled"] < between[-1]["signalled"]


def test_words_are_read_back() -> None:
    own = parameters("qdisc dualpi2 limit 10000p target 15ms alpha 0.156250 classic_protection 10% l4s_ect\n Sent 0")
    assert (own.discipline, own["limit"], own["target"], own["classic_protection"]) == ("dualpi2", 10000, 0.015, 0.1)
    assert own.flags == {"l4s_ect"}
    with pytest.raises(UsageError, match='does not state "beta"'):
        own["beta"]


def test_every_law_has_cases_with_a_source() -> None:
    for law, cases in LAWS.items():
        names = [case.name for case in cases]
        assert len(names) == len(set(names)) >= 4, law
        assert all(case.source and case.about for case in cases)


def test_the_command() -> None:
    done = sojourn("conformance", "marking", "--qdisc", "codel ecn", "--details")
    assert done.returncode == 0, done.stdout
    assert "10 passed, 0 failed" in done.stdout
    done = sojourn(
        "conformance", "marking/first", "--qdisc", "codel target 9ms ecn", "--law", "codel ecn", "--format", "json"
    )
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert [own["verdict"] for own in said["cases"]] == ["failed"]
    for words, why in (
        (["marking"], "marking judges a queue"),
        (["marking", "--qdisc", "cake"], 'no queue with a marking law "cake"'),
        (["marking/frist", "--qdisc", "codel"], "frist"),
        (["dualq", "--law", "codel"], "--law goes with marking"),
        (["marking", "--qdisc", "codel tarrget 5ms"], "tarrget"),
    ):
        done = sojourn("conformance", *words)
        assert (done.returncode, why in done.stderr) == (2, True), done.stderr


def test_a_kernels_engine_gets_the_kernels_own_queue() -> None:
    """Every case but RED's after an idle time: only a line asks an empty queue."""
    for law, cases in LAWS.items():
        own = examine(RED if law == "red" else law, make, names=[cases[0].name]).parameters
        for case in cases:
            stimulus = case.stimulus(own)
            ours, kernels = (stimulus.said(law, engine)["hop"][0] for engine in ("sim", "linux:mine"))
            assert "by" not in ours
            assert kernels == {**ours, "by": "kernel"}
            assert (ours.get("shaper") == "line") == stimulus.is_asked_when_empty == (case.name == "idle")


def test_a_kernels_only_count_of_marks_goes_before_those_found_where_packets_leave() -> None:
    def own(reasons: dict[str, int]) -> list[float]:
        t = [0.001, 0.002, 0.003]
        tables = {
            "queues": {
                "t_s": t,
                "queue": [QUEUE] * 3,
                "bytes": [0] * 3,
                "sojourn_mean_s": [0.0] * 3,
                "marks": [0, 0, 4],
                "drops": [0] * 3,
                "sent_packets": [0] * 3,
            },
            "queue_signals": {
                "t_s": [0.002 for _ in reasons],
                "queue": [QUEUE for _ in reasons],
                "reason": list(reasons),
                "kind": ["mark" for _ in reasons],
                "count": list(reasons.values()),
            },
            "flows": {"t_s": t, "flow": ["load"] * 3, "delivered": [0] * 3, "ce": [0] * 3, "lost": [0] * 3},
        }
        run = SimpleNamespace(seed=1, table=lambda name: tables[name])
        return list(observed(run, on_kernel=True).marks)  # type: ignore[arg-type]

    assert own({"early": 7}) == [0, 7, 0]
    assert own({"early": 7, "step": 2}) == [0, 0, 4]
    assert own({}) == [0, 0, 4]


def test_what_a_kernel_cannot_is_refused_before_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    for words, why in (
        (["--engine", "linux:nosuch"], 'there is no kernel "nosuch"'),
        (["--engine", "linux"], "no kernel has been built"),
        (["--kernel", "mine"], "--kernel goes with --engine linux"),
        (["--engine", "linux", "--set", "hop.bottleneck.rate=1mbit"], "--set does not go with marking"),
    ):
        done = sojourn("conformance", "marking", "--qdisc", "codel", *words)
        assert (done.returncode, why in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
