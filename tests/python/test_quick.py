"""``sojourn try``: its questions, and its words for the numbers."""

import json
import math
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import sojourn as package
from sojourn.core import cells
from sojourn.core.spread import Spread
from sojourn.errors import ExperimentError
from sojourn.experiments.experiment import parse
from sojourn.quick import answer, router
from sojourn.quick.asked import FILE, Asked, Programs
from sojourn.quick.facts import (
    CallFacts,
    Facts,
    FlowFacts,
    Peak,
    ProgramFacts,
    QueueFacts,
    SenderFacts,
    WebFacts,
    facts_of,
)
from sojourn.views.remarks import Remark, SharedRemark
from test_cli import sojourn


def of(value: float, low: float | None = None, high: float | None = None) -> Spread:
    return Spread(value, value if low is None else low, value if high is None else high, 1 if low is None else 5)


def flow(name: str, rate: float) -> FlowFacts:
    return FlowFacts(name, name, of(rate))


FACTS = Facts(
    name="download",
    qdisc="pfifo limit 1000",
    rate=100e6,
    base_rtt=0.02,
    window=(20.0, 30.0),
    flows=[flow("cubic", 30e6), flow("bbr", 40e6)],
    senders=[],
    total=of(70e6),
    calls=[],
    web=[],
    programs=[],
    jain=of(0.98),
    utilisation=of(0.995),
    queue=of(0.043),
    queue_tail=of(0.061),
    queue_least=of(0.0),
    queue_most=of(500),
    most_s=0.06056,
    marks=of(0),
    drops=of(12),
    others=[],
    idle=of(0.02),
    loaded=of(0.063),
    worst=of(0.081),
    remarks=[],
)


@pytest.mark.parametrize(
    ("rule", "change", "said"),
    [
        (answer.shares, {}, "cubic gets 30 % of the bottleneck (30 Mbit/s), bbr 40 % (40 Mbit/s)."),
        (answer.shares, {"rate": None}, "cubic gets 30 Mbit/s, bbr 40 Mbit/s."),
        (answer.shares, {"flows": []}, ""),
        (
            answer.shares,
            {"flows": [FACTS.flows[0]] * 5, "senders": [SenderFacts("cubic", 5, of(90e6, 80e6, 95e6))]},
            "5 cubic together get 90 % [80 to 95] of the bottleneck (90 Mbit/s [80 to 95]).",
        ),
        (answer.fairness, {}, "bbr gets a little more than cubic (Jain's index 0.98, where 1 is even)."),
        (answer.fairness, {"flows": FACTS.flows[:1]}, ""),
        (answer.hidden, {}, ""),
        (
            answer.hidden,
            {
                "remarks": [
                    SharedRemark(
                        Remark("send_buffer", ("bbr",), "bbr is limited", "a shorter RTT would do"), 1, "try#1"
                    )
                ]
            },
            "Note: bbr is limited (a shorter RTT would do).",
        ),
        (
            answer.fairness,
            {"flows": [FACTS.flows[0], flow("reno", 31e6)], "jain": of(1.0)},
            "They share evenly (Jain's index 1.00, where 1 is even).",
        ),
        (
            answer.fairness,
            {"flows": [FACTS.flows[0], flow("reno", 3e6)], "jain": of(0.6)},
            "cubic gets 10 times as much as reno (Jain's index 0.60, where 1 is even).",
        ),
        (
            answer.fairness,
            {"flows": [FACTS.flows[0], flow("reno", 0.0)], "jain": of(0.5)},
            "reno gets nothing at all (Jain's index 0.50).",
        ),
        (answer.use, {}, "Link utilisation is 100 %."),
        (answer.use, {"utilisation": of(1.002)}, "Link utilisation is 100 %."),
        (answer.use, {"utilisation": of(0.8, 0.75, 0.82)}, "Link utilisation is 80 % [75 to 82]."),
        (
            answer.queue,
            {},
            "The queue adds 43 ms on average to the base RTT of 20 ms; 99 % of the packets wait less than 61 ms.",
        ),
        (answer.queue, {"queue": of(math.nan)}, ""),
        (answer.others, {}, ""),
        (
            answer.signals,
            {"others": [QueueFacts("upload", "pfifo", of(0.79), of(1.11), of(0), of(3))]},
            "The download queue drops 12 packets and marks none.",
        ),
        (
            answer.others,
            {"others": [QueueFacts("upload", "pfifo", of(0.79), of(1.11), of(0), of(3))]},
            "In the upload queue packets wait 790 ms on average, 99 % less than 1.11 s; it drops 3 packets.",
        ),
        (
            answer.others,
            {"others": [QueueFacts("upload", "cake", of(0.17), of(0.2), of(0), of(0), acks_alone=True)]},
            (
                "In the upload queue packets wait 170 ms on average, 99 % less than 200 ms; it drops none.\n"
                "ACKs of the other direction's data fill the upload queue: try cake ack-filter."
            ),
        ),
        (answer.back, {}, ""),
        (
            answer.back,
            {"back": [flow("upload-1", 9e6), flow("upload-2", 1e6)], "back_rate": 20e6},
            "upload-1 gets 45 % of the other direction (9 Mbit/s), upload-2 5 % (1 Mbit/s).",
        ),
        (answer.outside, {}, ""),
        (
            answer.outside,
            {"peak": Peak(of(1.02), 0.9)},
            "Outside the measuring window the queue was longer: before it, at 0.9 s, packets waited up to 1.02 s.",
        ),
        (
            answer.others,
            {"others": [QueueFacts("upload", "codel", of(0.004), of(0.02), of(7), of(0))]},
            (
                "In the upload queue packets wait 4.0 ms on average, 99 % less than 20 ms; it drops none and marks "
                "7 packets."
            ),
        ),
        (
            answer.latency,
            {},
            "Ping under load: 63 ms; idle: 20 ms (medians; maximum 81 ms).",
        ),
        (
            answer.latency,
            {"loaded": of(0.0205), "worst": of(0.022)},
            "Ping under load: 20 ms, same as idle (maximum 22 ms).",
        ),
        (answer.latency, {"idle": of(math.nan)}, ""),
        (answer.signals, {}, "The queue drops 12 packets and marks none."),
        (answer.signals, {"drops": of(0), "marks": of(9)}, "The queue marks 9 packets and drops none."),
        (answer.signals, {"marks": of(1)}, "The queue marks 1 packet and drops 12."),
        (answer.signals, {"drops": of(0)}, "The queue neither drops nor marks a packet."),
        (answer.calls, {}, ""),
        (
            answer.calls,
            {"calls": [CallFacts("voice-up", "voice", of(0.014), of(0.2))]},
            (
                "voice-up loses 1.4 % of its packets; 99 % of those that arrive take less than 200 ms, "
                "above the 150 ms of ITU-T G.114."
            ),
        ),
        (
            answer.calls,
            {"calls": [CallFacts("voice-up", "voice", of(0.0), of(0.15))]},
            "voice-up loses no packet; 99 % of those that arrive take less than 150 ms.",
        ),
        (
            answer.web,
            {"web": [WebFacts("web", of(30), of(2), of(0.5), of(2.4), of(4.1))]},
            (
                "Half of the web transfers take less than 500 ms, 95 % less than 2.4 s "
                "(30 completed, 2 still running at the end)."
            ),
        ),
        (
            # The 95th percentile of ten is the largest.
            answer.web,
            {"web": [WebFacts("web", of(10), of(2), of(0.5), of(2.4), of(2.4))]},
            (
                "Half of the web transfers take less than 500 ms, the slowest of those completed 2.4 s "
                "(10 completed, 2 still running at the end)."
            ),
        ),
        (
            answer.web,
            {"web": [WebFacts("web", of(0), of(2), of(math.nan), of(math.nan), of(math.nan))]},
            "No web transfer was completed.",
        ),
        (answer.programs, {}, ""),
        (
            answer.programs,
            {"programs": [ProgramFacts("curl", of(1.82)), ProgramFacts("wget", of(math.nan))]},
            "curl took 1.82 s.\nwget was still running at the end.",
        ),
        (answer.limit, {}, ""),
        (answer.limit, {"qdisc": "codel", "queue_least": of(0.01)}, ""),
        (answer.limit, {"drops": of(0), "queue_least": of(0.01)}, ""),
        (
            # 12.112 ms at 100 Mbit/s are 100 packets of 1514 bytes.
            answer.limit,
            {"queue_least": of(0.012112)},
            (
                "The queue never ran empty: its minimum delay was 12 ms. Try a smaller limit or an AQM: "
                "--qdisc 'pfifo limit 400' --qdisc fq_codel."
            ),
        ),
        (
            # Full whatever it drops.
            answer.limit,
            {"queue_least": of(0.022), "most_s": 0.024, "drops": of(993)},
            (
                "The queue never ran empty: its minimum delay was 22 ms, of 24 ms when full. The flows did not "
                "slow down after 993 drops: a smaller limit would only drop more and wait less."
            ),
        ),
        (
            answer.limit,
            {"utilisation": of(0.9)},
            "The queue dropped packets and ran empty: try a larger limit.",
        ),
    ],
)
def test_each_rule_says_what_the_numbers_carry_and_no_more(
    rule: answer.Rule, change: dict[str, object], said: str
) -> None:
    assert rule(replace(FACTS, **change)) == said  # type: ignore[arg-type]


def test_every_rule_is_tested_and_the_answer_is_theirs_in_order() -> None:
    assert {rule.__name__ for rule in answer.RULES} == {
        "programs",
        "shares",
        "back",
        "fairness",
        "hidden",
        "use",
        "queue",
        "outside",
        "others",
        "latency",
        "signals",
        "calls",
        "web",
        "limit",
    }
    assert answer.answer(FACTS)[0].startswith("cubic gets")
    assert answer.answer(FACTS)[-1] == "The queue drops 12 packets and marks none."


@pytest.mark.parametrize(
    ("rule", "change", "said"),
    [
        (
            answer.least_delay,
            {"queue": of(0.005)},
            "fq_codel adds the least delay: 5.0 ms, against 43 ms with pfifo limit 1000.",
        ),
        (answer.least_delay, {"queue": of(0.042)}, ""),
        (
            # Less in the download, and far more in the upload.
            answer.least_delay,
            {"queue": of(0.002), "others": [QueueFacts("upload", "fq_codel", of(0.176), of(0.2), of(0), of(0))]},
            (
                "pfifo limit 1000 adds the least delay to a round trip: 43 ms, against 178 ms (176 ms of it in the "
                "upload queue) with fq_codel."
            ),
        ),
        (answer.throughput, {}, "The flows' rates together are the same within 1 %."),
        (
            answer.throughput,
            {"total": of(60e6)},
            "The flows together get most with pfifo limit 1000 (70 Mbit/s) and least with fq_codel (60 Mbit/s).",
        ),
        (answer.evenness, {}, ""),
        (
            answer.evenness,
            {"jain": of(0.6)},
            "pfifo limit 1000 shares most evenly (Jain's index 0.98), fq_codel least (0.60).",
        ),
    ],
)
def test_several_queues_are_compared(rule: answer.Comparison, change: dict[str, object], said: str) -> None:
    other = replace(FACTS, qdisc="fq_codel", **change)  # type: ignore[arg-type]
    assert rule([FACTS, other]) == said


def test_ranges_that_overlap_are_no_difference() -> None:
    one, other = replace(FACTS, queue=of(0.043, 0.03, 0.05)), replace(FACTS, queue=of(0.02, 0.01, 0.035))
    assert answer.least_delay([one, other]) == ""
    assert answer.comparison([FACTS]) == []


ASKED = Asked(["cubic", "cubic", "bbr"], "50mbit", "20ms", ["pfifo"], "6s", "linux-7.3", range(3, 5))


def test_what_is_asked_is_an_experiment_file() -> None:
    asked = replace(ASKED, up="5mbit", loads=["voice", "web", "video"])
    read = tomllib.loads(asked.toml())
    assert read["experiment"] == {"name": "try", "stack": "linux-7.3", "duration": "6s", "seeds": [3, 4]}
    assert read["hop"][0]["up"] == {"rate": "5mbit"}
    names = [flow["name"] for flow in read["flow"]]
    assert names == ["cubic-1", "cubic-2", "bbr", "voice-down", "voice-up", "web", "video-down", "video-up"]
    # It is measured where every other run is.
    assert [window["name"] for window in read["window"]] == ["idle"]
    assert len(parse(asked.toml(), FILE).run_keys) == 2


def test_programs_are_a_flow_of_the_experiment_file(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("print('it')\n")
    programs = Programs(["/usr/bin/curl", "a b"], ["python3", "serve.py"], "port 80", [tmp_path / "serve.py"])
    asked = replace(ASKED, flows=["cubic"], programs=programs, engine="linux")
    read = tomllib.loads(asked.toml())
    table = {
        "client": ["/usr/bin/curl", "a b"],
        "server": ["python3", "serve.py"],
        "ready": "port 80",
        "files": {"serve.py": "print('it')\n"},
    }
    assert read["flow"] == [{"name": "curl", "program": table}, {"name": "cubic", "cc": "cubic"}]
    assert read["window"][1] == {"name": "steady", "from": "0s", "to": "6s"}
    words = shlex.split(asked.command)
    assert words[words.index("--engine") :][:4] == ["--engine", "linux", "--server", "python3 serve.py"]
    assert words[-3:] == ["--", "/usr/bin/curl", "a b"]


def test_the_command_asks_for_the_same() -> None:
    asked = replace(ASKED, qdiscs=["pfifo limit 20", "fq_codel"], loads=["web"])
    words = shlex.split(asked.command)
    assert words[:5] == ["sojourn", "try", "cubic", "cubic", "bbr"]
    assert json.loads(sojourn(*words[1:], "--json").stdout)["command"] == asked.command


@pytest.mark.parametrize(
    ("change", "line", "mark"),
    [
        ({"rate": "50"}, "  | --rate 50", "  |        ^^"),
        ({"flows": ["cubic", "bbrr"]}, "  | bbrr", "  | ^^^^"),
        ({"qdiscs": ["fq_codel targt 5ms"]}, "  | --qdisc fq_codel targt 5ms", "  |                  ^^^^^"),
        ({"qdiscs": ["pfifo", "pfifo limt 5"]}, "  | --qdisc pfifo limt 5", "  |               ^^^^"),
        ({"qdiscs": ['pfifo "x"']}, '  | --qdisc pfifo "x"', "  |         ^^^^^^^^^"),
        ({"up": "5mbits"}, "  | --up 5mbits", "  |      ^^^^^^"),
        ({"rate": "5x", "up": "5mbit"}, "  | --rate 5x", "  |        ^^"),
        ({"duration": "6"}, "  | --duration 6", "  |            ^"),
        ({"stack": "linux"}, "  | --stack linux", "  |         ^^^^^"),
    ],
)
def test_a_mistake_is_pointed_at_in_the_command(change: dict[str, object], line: str, mark: str) -> None:
    asked = replace(ASKED, **change)  # type: ignore[arg-type]
    with pytest.raises(ExperimentError) as raised:
        parse(asked.toml(), FILE)
    shown = asked.pointed_at(raised.value).render().splitlines()
    assert line in shown
    assert shown[shown.index(line) + 1] == mark
    assert not any("-->" in one for one in shown)


def test_facts_are_those_of_the_run() -> None:
    asked = replace(ASKED, flows=["cubic", "reno"], loads=["voice"], seeds=range(1, 3))
    [cell] = cells.group(parse(asked.toml(), FILE).run().__iter__())
    facts = facts_of(cell)
    assert [flow.name for flow in facts.flows] == ["cubic", "reno"]
    assert facts.total.mean == pytest.approx(sum(flow.rate.mean for flow in facts.flows))
    assert facts.window == pytest.approx((3.4, 5.4))
    assert facts.ecn == ["cubic", "reno"]
    assert facts.seeds == 2
    assert 0.0199 < facts.idle.mean < 0.0205 < facts.loaded.mean <= facts.worst.mean
    assert facts.queue_least.mean <= facts.queue.mean <= facts.queue_tail.mean
    assert [call.name for call in facts.calls] == ["voice-down", "voice-up"]
    assert all(0.01 <= call.delay.mean < 0.5 for call in facts.calls)


def test_the_window_is_that_of_every_run(tmp_path: Path) -> None:
    asked = replace(ASKED, duration="5s")
    [cell] = cells.group(parse(asked.toml(), FILE).run().select(seed="3"))
    facts = facts_of(cell)
    assert facts.window == pytest.approx((5.0 - 0.5 - 5 / 3, 4.5))
    assert facts.utilisation.mean < 1.002
    (tmp_path / "run.toml").write_text(
        '[experiment]\nname = "run"\nduration = "5s"\n[[hop]]\nname = "bottleneck"\nrate = "50mbit"\nrtt = "20ms"\n'
        'qdisc = "pfifo"\n[[flow]]\nname = "cubic"\ncc = "cubic"\n'
    )
    assert package.load(tmp_path / "run.toml").run()[0].window() == facts.window


def test_an_upload_has_a_base_rtt_and_the_download_its_own_share() -> None:
    asked = replace(ASKED, flows=[], uploads=2, up="5mbit", seeds=[1], ecn="off")
    facts = facts_of(cells.group(parse(asked.toml(), FILE).run().__iter__())[0])
    assert (facts.base_rtt, facts.ecn) == (0.02, [])
    assert [own.name for own in facts.flows] == ["upload-1", "upload-2"]
    assert 4e6 < facts.total.mean < 5e6 == facts.rate
    both = replace(asked, flows=["cubic", "noq/cubic"], uploads=1)
    facts = facts_of(cells.group(parse(both.toml(), FILE).run().__iter__())[0])
    assert ([own.name for own in facts.flows], [own.name for own in facts.back]) == (["cubic", "noq-cubic"], ["upload"])
    assert facts.back_rate == 5e6
    assert facts.added.mean == pytest.approx(facts.queue.mean + sum(own.delay.mean for own in facts.others))
    words = shlex.split(both.command)
    assert words[words.index("--upload") :][:4] == ["--upload", "1", "--ecn", "off"]


def test_a_link_that_varies_may_be_asked_for() -> None:
    asked = replace(ASKED, trace="cellular max 40mbit seed 3", up="10mbit")
    assert tomllib.loads(asked.toml())["hop"][0]["down"] == {"trace": "cellular max 40mbit seed 3"}
    assert len(parse(asked.toml(), FILE).run_keys) == 2
    assert "--trace 'cellular max 40mbit seed 3'" in asked.command
    # Its rate differs between windows, so there is no share of it.
    facts = facts_of(cells.group(parse(asked.toml(), FILE).run().__iter__())[0])
    assert (facts.rate, router.commands(facts)) == (None, [])


def test_a_shaper_below_the_line_is_what_shares_are_of() -> None:
    asked = replace(ASKED, flows=["cubic"], rate="30mbit", qdiscs=["cake bandwidth 20mbit"], seeds=[1])
    experiment = parse(asked.toml(), FILE)
    assert list(experiment.warnings) == []
    facts = facts_of(cells.group(experiment.run().__iter__())[0])
    assert facts.rate == 20e6
    assert 0.97 < facts.utilisation.mean < 1.001


def test_what_a_router_is_set_to_is_said() -> None:
    fifo, cake = (replace(FACTS, qdisc=words, links={"down": 50e6, "up": 5e6}) for words in ("pie", "cake docsis"))
    assert router.commands(cake) == [
        'tc qdisc replace dev "$WAN" root cake docsis bandwidth 4750kbit  # uploads',
        'tc qdisc replace dev "$LAN" root cake docsis bandwidth 47500kbit  # downloads',
    ]
    assert router.commands(fifo)[:3] == [
        'tc qdisc replace dev "$WAN" root handle 1: htb default 1  # uploads',
        'tc class replace dev "$WAN" parent 1: classid 1:1 htb rate 4750kbit',
        'tc qdisc replace dev "$WAN" parent 1:1 pie',
    ]
    # Nobody's kernel has it as it is shipped, or the line has no rate.
    assert router.commands(replace(fifo, qdisc="cobalt")) == router.commands(replace(fifo, links={})) == []


def test_a_saved_experiment_gives_the_same_numbers(tmp_path: Path) -> None:
    words = ["cubic", "--qdisc", "pfifo", "--qdisc", "codel", "--duration", "3s"]
    tried = json.loads(sojourn("try", *words, "--save", "kept.toml", "--json", cwd=tmp_path).stdout)
    ran = json.loads(sojourn("run", "kept.toml", "-o", "r", "--json", cwd=tmp_path).stdout)
    assert [cell["labels"]["qdisc"] for cell in ran["cells"]] == ["pfifo", "codel"]
    for queue, cell in zip(tried["queues"], ran["cells"], strict=True):
        assert queue["queue"]["queue_delay_ms"] == cell["values"]["queue_delay_ms"][0]
        assert queue["queue"]["drops"] == cell["values"]["drops"][0]


def test_queues_stand_side_by_side_with_one_seed() -> None:
    words = ("try", "cubic", "--qdisc", "pfifo", "--qdisc", "fq_codel", "--duration", "3s")
    shown = sojourn(*words).stdout
    assert any(line.split() == ["what", "pfifo", "fq_codel"] for line in shown.splitlines())
    assert "adds the least delay" in shown
    tried = json.loads(sojourn(*words, "--json").stdout)
    assert [own["scenario"]["seed"] for own in tried["queues"]] == [1, 1]
    assert "is given twice" in sojourn("try", "cubic", "--qdisc", "pfifo", "--qdisc", "pfifo").stderr


def test_each_kind_of_flow_has_its_own_numbers_and_no_dash() -> None:
    shown = sojourn("try", "cubic", "--voice", "--web", "--video", "--duration", "6s").stdout
    table = shown[: shown.index("goodput: ")]
    heads = [line.split() for line in table.splitlines() if "flow" in line.split()[:1] or "queue" in line.split()[:1]]
    assert len(heads) >= 5
    assert "–" not in table
    assert "jitter" in table
    assert "not done" in table
    tried = json.loads(sojourn("try", "cubic", "--voice", "--duration", "6s", "--seeds", "1", "--json").stdout)
    voice = next(flow for flow in tried["queues"][0]["flows"] if flow["flow"] == "voice-up")
    assert voice.keys() >= {"loss_percent", "owd_ms", "owd_p99_ms", "jitter_ms"}
    assert 10 <= voice["owd_ms"] <= voice["owd_p99_ms"]


def test_packets_of_each_queue_have_a_folder(tmp_path: Path) -> None:
    words = ("try", "reno", "--qdisc", "pfifo", "--qdisc", "codel", "--duration", "1s", "--pcap", "p")
    ran = sojourn(*words, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert all(list((tmp_path / "p" / number).iterdir()) for number in ("1", "2"))
    assert "try[codel]#1" in ran.stderr
