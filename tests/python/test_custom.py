"""Congestion controls and queue disciplines that are classes in a Python file of the user's."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sojourn
from by_hand import exported
from sojourn.core.store import Folder
from sojourn.custom import watchdog
from sojourn.errors import ExperimentError, Refused, RunError
from sojourn.views.run import Run

CLASSES = Path(__file__).with_name("own_classes.py")
EXPERIMENT = """\
[experiment]
name = "own"
duration = "6s"
[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "one"
cc = "cubic"
[[flow]]
name = "two"
cc = "cubic"
start = "1s"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the classes."""
    shutil.copy(CLASSES, tmp_path / "own.py")
    return tmp_path


LOSSY = 'fq_codel"\nnetem = ["delay 1ms loss 20%"]  # "'
"""A queue behind which so much is lost that retransmission timers fire."""


def runs(folder: Path, *, cc: str = "cubic", qdisc: str = "fq_codel", threads: int = 1, seeds: int = 1) -> list[Run]:
    text = EXPERIMENT.replace('"cubic"', f'"{cc}"').replace('"fq_codel"', f'"{qdisc}"')
    experiment = sojourn.parse(text, "own.toml", seeds=seeds, folder=folder)
    return list(experiment.run(threads=threads, quiet=True))


def tables(run: Run) -> dict[str, pl.DataFrame]:
    return {name: run.table(name) for name in run.tables}


def totals_of(run: Run) -> dict[str, float]:
    """Return the totals of the first flow."""
    return dict(run.table("totals").filter(pl.col("subject") == "one").select("name", "value").iter_rows())


def assert_same(ours: Run, theirs: Run, *, but: tuple[str, ...] = ()) -> None:
    for name, table in tables(theirs).items():
        if name not in but:
            assert tables(ours)[name].equals(table), name


def call(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("qdisc", ["fq_codel", "pfifo limit 40", LOSSY], ids=["marks", "losses", "timeouts"])
def test_reno_in_python_has_the_bits_of_the_built_in(folder: Path, qdisc: str) -> None:
    """Whatever reduces the window: every table is the same."""
    (built_in,) = runs(folder, cc="reno", qdisc=qdisc)
    (ours,) = runs(folder, cc="python:own.py:Reno", qdisc=qdisc)
    totals = totals_of(ours)
    assert totals["ece_acks" if qdisc == "fq_codel" else "retransmits"] > 0
    assert (totals["timeouts"] > 0) == (qdisc == LOSSY)
    assert_same(ours, built_in)


def test_a_fifo_in_python_has_the_bits_of_pfifo(folder: Path) -> None:
    (built_in,) = runs(folder, qdisc="pfifo limit 30")
    (ours,) = runs(folder, qdisc="python:own.py:Fifo limit 30")
    assert built_in.metric("drops(bottleneck.down.qdisc)") > 0
    # The built-in reports the delay of its head; totals and tc's texts have the name of the discipline.
    named = ("queue_state", "totals", "tc")
    assert_same(ours, built_in, but=named)
    totals = pl.col("subject") == "bottleneck.down.qdisc"
    assert ours.table("totals").filter(totals)["value"].equals(built_in.table("totals").filter(totals)["value"])
    (under,) = runs(folder, qdisc="htb rate 10mbit python:own.py:Fifo limit 30")
    (own,) = runs(folder, qdisc="htb rate 10mbit pfifo limit 30")
    assert_same(under, own, but=named)


def test_the_same_bits_twice_and_by_four_threads(folder: Path) -> None:
    qdisc = "python:own.py:Step target 3ms share 30%"
    first, second, fourfold = (
        runs(folder, cc="python:own.py:Delay", qdisc=qdisc, seeds=4, threads=threads) for threads in (1, 1, 4)
    )
    for again in (second, fourfold):
        for ours, theirs in zip(again, first, strict=True):
            assert_same(ours, theirs)
    assert not first[0].table("queue_state").equals(first[1].table("queue_state"))


def test_window_pacing_gauges_reasons_and_marks(folder: Path) -> None:
    (run,) = runs(folder, cc="python:own.py:Delay", qdisc="python:own.py:Step target 40ms")
    assert 20_000 <= run.metric("mean(state.base_us, one)") < 25_000
    assert run.metric("max(state.rounds, one)") > 100
    assert run.metric("mean(queue_delay, bottleneck.down.qdisc)") < 0.015
    assert run.metric("utilisation(bottleneck.down.qdisc)") > 0.9
    (run,) = runs(folder, cc="python:own.py:Scalable", qdisc="python:own.py:Step target 2ms")
    signals = run.table("queue_signals").filter(pl.col("reason") == "too_late")
    assert set(signals["kind"]) == {"mark"}
    assert run.metric("max(state.late, bottleneck.down.qdisc)") > 10
    (run,) = runs(folder, cc="python:own.py:Scalable", qdisc="python:own.py:Step target 2ms noecn")
    assert set(run.table("queue_signals").filter(pl.col("reason") == "too_late")["kind"]) == {"drop"}


def test_a_timeout_and_the_first_window_are_the_class_s(folder: Path) -> None:
    """With full control, too: what on_start and on_timeout return is the window."""
    (run,) = runs(folder, cc="python:own.py:Delay", qdisc=LOSSY)
    assert totals_of(run)["timeouts"] > 0
    windows = run.table("flows").filter((pl.col("flow") == "one") & pl.col("cwnd").is_not_null())["cwnd"]
    assert windows.min() == 2
    with (folder / "own.py").open("a") as file:
        file.write(START)
    (run,) = runs(folder, cc="python:own.py:Still")
    windows = run.table("flows").filter((pl.col("flow") == "one") & (pl.col("t_s") > 1))["cwnd"]
    assert set(windows) == {7}


START = """
class Still(CongestionControl):
    full_control = True

    def on_start(self, view):
        return 7

    def on_ack(self, view):
        return None

    def on_loss(self, view):
        return 7
"""


def test_a_discipline_may_make_packets_wait(folder: Path) -> None:
    (run,) = runs(folder, qdisc="python:own.py:Slow")
    # 500 packets of 1514 bytes a second of 20 Mbit/s.
    assert run.metric("utilisation(bottleneck.down.qdisc)") == pytest.approx(0.303, abs=0.01)


def test_a_gauge_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"{HEAD}    gauges = {{'bese': ''}}\n    def on_ack(self, view): ...\n{FALLS}")
    with pytest.raises(RunError, match='its gauge "bese": AttributeError'):
        runs(tmp_path, cc="python:mine.py:Mine")


def test_a_run_knows_the_file_and_can_be_made_again(folder: Path) -> None:
    text = EXPERIMENT.replace('cc = "cubic"', 'cc = "python:own.py:Reno"', 1)
    axis = '[axis.cc]\nours = { flow.two.cc = "python:own.py:Reno" }\ncubic = {}\n'
    (folder / "own.toml").write_text(text.replace("[[hop]]", f"{axis}[[hop]]"))
    done = call(folder, "run", "own.toml", "-o", "results")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"{folder / 'own.py'}: Python code, which runs with your rights") == 1
    record = Folder.open(folder / "results").records()[0]
    (named,) = record.key.scenario["plugins"]
    assert (named["path"], named["name"]) == (str(folder / "own.py"), "own.py")
    assert f"python own.py {named['digest']}" in record.key.version
    again = call(folder, "run", exported(record, folder / "one"), "-o", "again")
    assert again.returncode == 0, again.stderr
    assert Folder.open(folder / "again").records()[0].table("flows").equals(record.table("flows"))
    first = sojourn.load(folder / "own.toml").run_keys
    with (folder / "own.py").open("a") as file:
        file.write("# another file\n")
    assert {key.digest for key in sojourn.load(folder / "own.toml").run_keys}.isdisjoint(key.digest for key in first)
    changed = call(folder, "run", exported(record, folder / "one"), "-o", "third")
    assert changed.returncode == 2
    assert "it is not the file of the run" in changed.stderr


def test_a_run_without_the_class_does_not_know_the_file(folder: Path) -> None:
    text = EXPERIMENT.replace(
        "[[hop]]", '[axis.cc]\nours = { flow.two.cc = "python:own.py:Reno" }\ncubic = {}\n[[hop]]'
    )
    ours, cubic = sojourn.parse(text, "own.toml", folder=folder).run_keys
    assert [plugin["name"] for plugin in ours.scenario["plugins"]] == ["own.py"]
    assert "plugins" not in cubic.scenario


def test_try_takes_it_and_ccs_says_how(folder: Path) -> None:
    tried = call(
        folder, "try", "python:own.py:Reno", "cubic", "--qdisc", "python:own.py:Step", "--duration", "2s", "--json"
    )
    assert tried.returncode == 0, tried.stderr
    flows = json.loads(tried.stdout)["queues"][0]["flows"]
    assert [flow["flow"] for flow in flows[:2]] == ["reno", "cubic"]
    for command in ("ccs", "qdiscs"):
        assert "python:FILE:CLASS" in call(folder, command).stdout
    shown = call(folder, "ccs", "python:own.py:Delay")
    assert shown.returncode == 0, shown.stderr
    assert "lowest RTT, µs" in shown.stdout
    shown = call(folder, "qdiscs", "python:own.py:Step")
    assert "packets that waited too long" in shown.stdout
    assert call(folder, "ccs", "python:own.py:Rena").returncode == 2


def test_linux_refuses_by_name(folder: Path) -> None:
    text = EXPERIMENT.replace('"cubic"', '"python:own.py:Reno"')
    with pytest.raises(Refused, match=r"python:own\.py:Reno.*a kernel runs no Python"):
        sojourn.parse(text, "own.toml", folder=folder, engine="linux").run(quiet=True)


HEAD = "from sojourn.custom import Aqm, CongestionControl\n\n\nclass Mine(CongestionControl):\n"
FALLS = "    def on_loss(self, view):\n        return view.cwnd // 2\n"

WRONG_CLASSES = [
    ("class Main:\n    pass\n", 'it has no class "Mine"', 'did you mean "Main"?'),
    (f"{HEAD}    def on_ack(self, view):\n        return 1\n", 'has no method "on_loss"', "write on_loss"),
    (f"{HEAD}    def on_akc(self, view):\n        return 1\n{FALLS}", 'no method "on_ack"', 'is "on_akc" meant'),
    (
        f"{HEAD}    def on_ack(self, view):\n        return 1\n{FALLS}    def on_time_out(self, view):\n        pass\n",
        '"on_time_out", which nobody calls',
        'did you mean "on_timeout"?',
    ),
    (f"{HEAD}    def on_ack(self):\n        return 1\n{FALLS}", "line 5, Mine.on_ack: too many", "itself and 1 more"),
    (
        f"{HEAD}    def __init__(self, gain):\n        pass\n    def on_ack(self, view): ...\n{FALLS}",
        "line 5, Mine()",
        "",
    ),
    (f"{HEAD}    ecn = 'yes'\n    def on_ack(self, view): ...\n{FALLS}", "its ecn is 'yes'", "'accecn'"),
    (f"{HEAD}    gauges = ['a']\n    def on_ack(self, view): ...\n{FALLS}", "its gauges are ['a']", "write a mapping"),
    ("import nothing_of_this_name\n", "line 1, in <module>: ModuleNotFoundError", "fix line 1"),
    ("class Mine\n    pass\n", "line 1: expected ':'", "fix this line"),
]


@pytest.mark.parametrize(("text", "message", "advice"), WRONG_CLASSES, ids=[m for _, m, _ in WRONG_CLASSES])
def test_what_is_wrong_with_a_class_is_named_where_the_experiment_names_it(
    tmp_path: Path, text: str, message: str, advice: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    experiment = EXPERIMENT.replace('"cubic"', '"python:mine.py:Mine"', 1)
    with pytest.raises(ExperimentError) as wrong:
        sojourn.parse(experiment, "own.toml", folder=tmp_path)
    assert wrong.value.line == 11
    assert f"{tmp_path / 'mine.py'}: " in wrong.value.message
    assert message in wrong.value.message
    assert advice in (wrong.value.help or "")


WRONG_WORDS = [
    ("python:none.py:Fifo", "there is no such file", "seen from the experiment's file"),
    ("python:own.py", "names no class of a Python file", "python:mine.py:Mine"),
    ("python:own.py:Fifo limits 10", 'Fifo takes no "limits"', 'did you mean "limit"?'),
    ("python:own.py:Fifo limit", '"limit" needs a value', "limit 10"),
    ("python:own.py:Step target 0", "in __init__: ValueError: target is a time above 0", "fix line"),
    ("python:own.py:Reno", 'class Reno has no method "dequeue"', "write dequeue"),
]


@pytest.mark.parametrize(("words", "message", "advice"), WRONG_WORDS, ids=[w for w, _, _ in WRONG_WORDS])
def test_what_is_wrong_with_words_is_named(folder: Path, words: str, message: str, advice: str) -> None:
    with pytest.raises(ExperimentError) as wrong:
        sojourn.parse(EXPERIMENT.replace("fq_codel", words), "own.toml", folder=folder)
    assert wrong.value.line == 8
    assert message in wrong.value.message
    assert advice in (wrong.value.help or "")


def test_a_discipline_in_python_is_replaced_and_not_changed(folder: Path) -> None:
    text = EXPERIMENT.replace("fq_codel", "python:own.py:Step target 500ms limit 60")
    event = '[[event]]\nname = "e"\nat = "3s"\nhop = "bottleneck"\n'
    with pytest.raises(ExperimentError, match="cannot be changed while it runs"):
        sojourn.parse(f'{text}{event}change = "python:own.py:Step target 1ms"\n', "own.toml", folder=folder)
    text = f'{text}{event}replace = "python:own.py:Fifo limit 20"\n'
    (run,) = sojourn.parse(text, "own.toml", folder=folder).run(quiet=True)
    assert "flushed" in set(run.table("queue_signals")["reason"])


CHANGED = '[[event]]\nname = "e"\nat = "3s"\nhop = "bottleneck"\nchange = "{}"\n'


def changed(folder: Path, words: str, change: str) -> "sojourn.Run":
    text = EXPERIMENT.replace("fq_codel", words)
    (run,) = sojourn.parse(f"{text}{CHANGED.format(change)}", "own.toml", folder=folder).run(quiet=True)
    return run


def test_a_fifo_in_python_is_changed_as_the_built_in_one_is(folder: Path) -> None:
    own = changed(folder, "python:own.py:Tunable limit 40", "python:own.py:Tunable limit 80")
    built_in = changed(folder, "pfifo limit 40", "pfifo limit 80")
    for table in ("flows", "queues", "pings"):
        assert own.table(table).equals(built_in.table(table)), table
    still = changed(folder, "pfifo limit 40", "pfifo limit 40")
    assert not own.table("queues").equals(still.table("queues"))


def test_a_change_may_drop_what_no_longer_fits(folder: Path) -> None:
    run = changed(folder, "python:own.py:Tunable limit 80", "python:own.py:Tunable limit 10")
    signals = run.table("queue_signals").filter(reason="cut")
    assert signals.height > 0
    assert set(signals["t_s"]) <= {3.0, 3.1, 3.2}
    later = run.table("queues").filter(queue="bottleneck.down.qdisc")
    assert max(later.filter(later["t_s"] > 3.5)["packets"].to_list()) <= 10


def test_what_goes_wrong_in_a_change_names_its_line(folder: Path) -> None:
    with pytest.raises(RunError) as caught:
        changed(folder, "python:own.py:Tunable limit 40", "python:own.py:Tunable limit 13")
    assert "thirteen" in str(caught.value)
    assert "own.py" in str(caught.value)
    assert "in change" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("python:own.py:Tunable limt 5", "limt"),
        ("python:own.py:Step target 5ms", 'no method "change"'),
        ("python:own.py:Tunabel limit 5", 'did you mean "Tunable"'),
    ],
)
def test_a_wrong_change_is_found_before_the_run(change: str, said: str, folder: Path) -> None:
    text = EXPERIMENT.replace("fq_codel", f"{change.split(maxsplit=1)[0].replace('Tunabel', 'Tunable')} limit 60")
    with pytest.raises(ExperimentError) as caught:
        sojourn.parse(f"{text}{CHANGED.format(change)}", "own.toml", folder=folder)
    assert said in f"{caught.value} {caught.value.help}"


def test_a_wrong_class_in_a_command_has_status_2(folder: Path) -> None:
    failed = call(folder, "try", "python:own.py:Rena")
    assert failed.returncode == 2
    assert 'did you mean "Reno"?' in failed.stderr
    assert "Traceback" not in failed.stderr


RETURNS = "return a window in segments, 1 or more; (window, pacing rate in bit/s); or None"
FAILING = [
    ("return 1 / (view.acked - view.acked)", "line 6, in on_ack: ZeroDivisionError: division by zero", "fix line 6"),
    ("return 'wide'", "line 5, Mine.on_ack returned 'wide'", RETURNS),
    ("return 0", "line 5, Mine.on_ack returned 0", RETURNS),
    ("return -3.5", "line 5, Mine.on_ack returned -3.5", RETURNS),
    ("return float('nan')", "line 5, Mine.on_ack returned nan", RETURNS),
    ("return float('inf')", "line 5, Mine.on_ack returned inf", RETURNS),
    ("return 10**30", "line 5, Mine.on_ack returned 1000000000000000000000000000000", RETURNS),
    ("return -2**70", "line 5, Mine.on_ack returned -1180591620717411303424", RETURNS),
    ("return [10]", "line 5, Mine.on_ack returned [10]", RETURNS),
    ("return True", "line 5, Mine.on_ack returned True", RETURNS),
    ("return 10, 20, 30", "line 5, Mine.on_ack returned (10, 20, 30)", RETURNS),
    ("return 10, 1e6", "line 5, Mine.on_ack returned a pacing rate", "write full_control = True"),
    ("return view.cwmd", "AttributeError", "fix line 6"),
    ("view.cwnd = 5", "line 6, in on_ack: AttributeError", "fix line 6"),
    ("return self.on_ack(view)", "line 6, in on_ack: RecursionError", "fix line 6"),
    ("return bytearray(1 << 62)", "line 6, in on_ack: MemoryError", "fix line 6"),
    ("raise SystemExit(3)", "line 6, in on_ack: SystemExit: 3", "fix line 6"),
    ("if view.now_ns > 2_000_000_000: raise ValueError('late')", "line 6, in on_ack: ValueError: late", "fix line 6"),
]


@pytest.mark.parametrize(("line", "message", "advice"), FAILING, ids=[line for line, _, _ in FAILING])
def test_what_goes_wrong_in_a_call_ends_its_run_and_no_other(
    tmp_path: Path, line: str, message: str, advice: str
) -> None:
    (tmp_path / "mine.py").write_text(f"{HEAD}    def on_ack(self, view):\n        {line}\n{FALLS}")
    text = EXPERIMENT.replace("[[hop]]", '[axis.cc]\ncubic = {}\nx = { flow.one.cc = "python:mine.py:Mine" }\n[[hop]]')
    (tmp_path / "own.toml").write_text(text)
    done = call(tmp_path, "run", "own.toml", "-o", "results")
    assert done.returncode == RunError.status
    assert f"{tmp_path / 'mine.py'}: " in done.stderr
    assert message in done.stderr
    assert advice in done.stderr
    assert "Traceback" not in done.stderr
    (record,) = Folder.open(tmp_path / "results").records()
    assert "cubic" in record.key.label


AQM = "from sojourn.custom import Aqm\n\n\nclass Mine(Aqm):\n    def __init__(self):\n        self.held = []\n"
WRONG_AQMS = [
    ("self.held.append(packet)", "return None", "Mine.dequeue returned None, and holds 1 packets"),
    ("self.held.append(packet)", "return queue.now_ns", "Mine.dequeue returned"),
    ("self.held.append(packet)", "return self.held[0]", "which the queue does not hold"),
    ("self.held.append(packet)", "return -1", "Mine.dequeue returned -1 at"),
    ("self.held.append(packet)", "return 10**30", "Mine.dequeue returned 1000000000000000000000000000000 at"),
    ("self.held.append(packet)", "return 10**400", f"Mine.dequeue returned 1{'0' * 79}… at"),
    ("self.held.append(packet)", "return float('nan')", "Mine.dequeue returned nan at"),
    ("self.held.append(packet)", "return 'soon'", "Mine.dequeue returned 'soon' at"),
    ("self.held.append(packet)", "return queue.now_ns + 1", "1000000 times in a row, and no packet left"),
    ("self.held.append(packet); return 1", "return None", "Mine.enqueue returned 1"),
    ("packet.drop('too_later')", "return None", 'gave the reason "too_later", which is not known'),
    ("packet.drop(); packet.mark()", "return None", "was dropped, or has left the queue"),
    ("self.hold.append(packet)", "return None", "in enqueue: AttributeError"),
]


@pytest.mark.parametrize(("enqueue", "dequeue", "message"), WRONG_AQMS, ids=[m for _, _, m in WRONG_AQMS])
def test_what_a_discipline_may_not_do_ends_the_run(tmp_path: Path, enqueue: str, dequeue: str, message: str) -> None:
    methods = (
        f"    def enqueue(self, packet, queue):\n        {enqueue}\n    def dequeue(self, queue):\n        {dequeue}\n"
    )
    (tmp_path / "mine.py").write_text(f"{AQM}{methods}")
    experiment = sojourn.parse(EXPERIMENT.replace("fq_codel", "python:mine.py:Mine"), "own.toml", folder=tmp_path)
    with pytest.raises(RunError) as wrong:
        experiment.run(quiet=True)
    assert message in str(wrong.value)
    assert str(tmp_path / "mine.py") in str(wrong.value)


@pytest.mark.parametrize("answer", ["10, float('nan')", "10, -5", "10, 1e300", "None, float('inf')", "10, 10**400"])
def test_a_pacing_rate_that_is_none_ends_the_run(tmp_path: Path, answer: str) -> None:
    head = f"{HEAD}    full_control = True\n"
    (tmp_path / "own.py").write_text(f"{head}    def on_ack(self, view):\n        return {answer}\n{FALLS}")
    with pytest.raises(RunError, match=r"own\.py: line 6, Mine\.on_ack returned \((10|None), ") as wrong:
        runs(tmp_path, cc="python:own.py:Mine")
    assert RETURNS in (wrong.value.help or "")


HTB = """
[[event]]
name = "e"
at = "3s"
hop = "bottleneck"
change = "python:own.py:Tunable limit {}"
"""


def test_a_child_of_htb_is_changed(folder: Path) -> None:
    """The shaper is the parent of the class: a change reaches the child, as it reaches a built-in one."""
    shaped = EXPERIMENT.replace('qdisc = "fq_codel"', 'qdisc = "{}"\nshaper = "htb"')
    made = []
    for name, change in (("python:own.py:Tunable", HTB), ("pfifo", HTB.replace("python:own.py:Tunable", "pfifo"))):
        text = shaped.format(f"{name} limit 40") + change.format(80)
        (run,) = sojourn.parse(text, "own.toml", folder=folder).run(quiet=True)
        made.append(run)
    own, built_in = made
    for table in ("flows", "pings"):
        assert own.table(table).equals(built_in.table(table)), table
    (still,) = sojourn.parse(shaped.format("pfifo limit 40"), "own.toml", folder=folder).run(quiet=True)
    assert not own.table("flows").equals(still.table("flows"))
    with pytest.raises(RunError, match="in change: ValueError: thirteen"):
        sojourn.parse(shaped.format("python:own.py:Tunable limit 40") + HTB.format(13), "own.toml", folder=folder).run(
            quiet=True
        )


ENDLESS = """\
from sojourn.custom import CongestionControl
class Mine(CongestionControl):
    calls = 0
    def on_ack(self, view):
        self.calls += 1
        while self.calls > 50:
            try:
                view.cwnd
            except Exception:
                pass
        return 10
    def on_loss(self, view):
        return 10
"""


def test_a_hook_that_does_not_come_back_ends_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends where it is, whatever it catches."""
    monkeypatch.setattr(watchdog, "PERIOD_S", 0.05)
    monkeypatch.setattr(watchdog, "LOOKS", 5)
    (tmp_path / "own.py").write_text(ENDLESS)
    with pytest.raises(RunError) as wrong:
        runs(tmp_path, cc="python:own.py:Mine")
    assert re.search(r"own\.py: line [6-9], in on_ack: it does not come back", wrong.value.message)
    assert "see why it does not get past line" in (wrong.value.help or "")
    good = tmp_path / "good"
    good.mkdir()
    shutil.copy(CLASSES, good / "own.py")
    assert runs(good, cc="python:own.py:Reno"), "who comes back is let alone"


def test_a_module_that_does_not_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "PERIOD_S", 0.05)
    monkeypatch.setattr(watchdog, "MODULE_LOOKS", 5)
    (tmp_path / "own.py").write_text("import sys\nwhile True:\n    pass\n")
    with pytest.raises(ExperimentError, match=r"line [23], in <module>: it does not come back"):
        runs(tmp_path, cc="python:own.py:Mine")


def test_imports_from_a_files_folder_identify_the_run(folder: Path) -> None:
    """And is read again, also where somebody else has a module of that name."""
    text = (folder / "own.py").read_text()
    plain = runs(folder, cc="python:own.py:Reno")[0].key.digest
    (folder / "own.py").write_text(f"import steps\nfrom tools.more import NUMBER\n{text}")
    (folder / "steps.py").write_text("import json\nSTEP = 1\n")
    (folder / "tools").mkdir()
    (folder / "tools" / "__init__.py").write_text("")
    (folder / "tools" / "more.py").write_text("from steps import STEP\nNUMBER = STEP\n")
    [one] = runs(folder, cc="python:own.py:Reno")
    [same] = runs(folder, cc="python:own.py:Reno")
    (folder / "tools" / "more.py").write_text("from steps import STEP\nNUMBER = STEP + 1\n")
    [other] = runs(folder, cc="python:own.py:Reno")
    assert one.key.digest == same.key.digest
    assert len({plain, one.key.digest, other.key.digest}) == 3
    assert not {"steps", "tools", "tools.more"} & sys.modules.keys()
    assert str(folder) not in sys.path
    (folder / "steps.py").unlink()
    with pytest.raises(ExperimentError, match=r"in <module>: ModuleNotFoundError: No module named 'steps'"):
        runs(folder, cc="python:own.py:Reno")


def test_two_files_of_one_name_are_two(folder: Path) -> None:
    (folder / "other").mkdir()
    shutil.copy(folder / "own.py", folder / "other")
    text = EXPERIMENT.replace('"cubic"', '"python:own.py:Reno"')
    for where in (folder, folder / "other"):
        (where / "own.toml").write_text(text)
    same = call(folder, "run", "own.toml", "other/own.toml", "-o", "results")
    assert same.returncode == 0, same.stderr
    with (folder / "other" / "own.py").open("a") as file:
        file.write("# another\n")
    differ = call(folder, "run", "own.toml", "other/own.toml", "-o", "results")
    assert differ.returncode == 2
    assert "two experiments call different files own.py" in differ.stderr


def test_what_may_differ_from_run_to_run_is_said(folder: Path) -> None:
    with (folder / "own.py").open("a") as file:
        file.write("\nimport time\n")
    said = call(folder, "try", "python:own.py:Reno", "--duration", "1s").stderr
    assert "imports time: results that depend on it are not reproducible" in said
