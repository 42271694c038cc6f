"""Cases of specifications: the words of their predicates, the judge, verdicts, formats, and what they catch."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from sojourn import runner
from sojourn.core import listings
from sojourn.core.run import Run
from sojourn.core.store import RunKey
from sojourn.errors import SojournError, StoreError, UsageError
from sojourn.evidence.conformance import CaseVerdict, Examination, Subject, Verdict, documents, examine, find
from sojourn.evidence.conformance.document import Expectation, Moment, read
from sojourn.evidence.conformance.examine import SEEDS
from sojourn.evidence.conformance.judge import COMPUTED, judge
from sojourn.evidence.conformance.words import Words, parse
from sojourn.reporting.conformance import formats, page
from test_tools import tool

STATES = {"Startup": 0.0, "Drain": 1.0, "DOWN": 2.0}


def make(keys: Sequence[RunKey]) -> Sequence[Run]:
    """Make runs, in the order of their keys."""
    return runner.Campaign(keys=keys, threads=2).run()


def examined(what: str, *names: str) -> Examination:
    document = find(what)
    return examine(document, [Subject(name, document.kind) for name in names] or document.subjects, make)


def only(what: str, name: str) -> CaseVerdict:
    (verdict,) = examined(what, name).verdicts
    return verdict


# --- predicates -----------------------------------------------------------------------------------------------------


def value(text: str, **columns: Sequence[object]) -> list[object]:
    words = parse(text, STATES)
    frame = pl.DataFrame(columns).with_columns(_visit=pl.lit(0))
    return frame.select(x=words.expression)["x"].to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 1 and not y", [False, True, True]),
        ("1 < x <= 2", [False, True, False]),
        ("prev(x)", [None, 1, 2]),
        ("next(x)", [2, 3, None]),
        ("ago(x, 2)", [None, None, 1]),
        ("start(x)", [1, 1, 1]),
        ("high(3 - x)", [2, 2, 2]),
        ("total(x)", [1, 3, 6]),
        ("mean(x)", [2.0, 2.0, 2.0]),
        ("near(x, 2, 50%)", [True, True, True]),
        ("where(x == DOWN, 20ms, 1mbit / 2)", [5e5, 0.02, 5e5]),
        ("min(x, 2) + max(x, 2)", [3, 4, 5]),
        ("-x", [-1, -2, -3]),
    ],
)
def test_a_predicate_says_what_it_says(text: str, expected: list[object]) -> None:
    got = value(text, x=[1, 2, 3], y=[True, False, False])
    assert got == pytest.approx(expected) if all(isinstance(own, float) for own in expected) else got == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x >", "no expression"),
        ("__import__('os')", "there is no function"),
        ("x.y.z", "no expression of steps can say"),
        ("[x for x in y]", "no expression of steps can say"),
        ("near(x, y)", "near takes 3 arguments, not 2"),
        ("lambda: 1", "no expression of steps can say"),
    ],
)
def test_nothing_else_is_a_predicate(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text, STATES)


# --- the judge, on steps written by hand ------------------------------------------------------------------------------


def steps(**columns: Sequence[object]) -> pl.DataFrame:
    count = len(next(iter(columns.values())))
    return pl.DataFrame({"t": [0.001 * n for n in range(1, count + 1)], **columns})


def words(text: str) -> Words:
    return parse(text, STATES)


def asked(kind: str, text: str, **more: object) -> Expectation:
    plain = {"start": None, "end": None, "says": "it is so", "section": "1", **more}
    return Expectation(kind=kind, words=words(text) if text else None, **plain)  # type: ignore[arg-type] # as it is


@pytest.fixture(scope="module")
def run() -> Run:
    """A run for its events alone: the steps are written by hand."""
    return only("bbr/3", "bbr3").runs[0]


def verdict(run: Run, expectation: Expectation, frame: pl.DataFrame) -> tuple[object, ...]:
    outcome = judge(expectation, run, frame, STATES)
    if outcome.deviation is None:
        return outcome.verdict, math.nan, outcome.reason
    return outcome.verdict, outcome.deviation.at_s, outcome.deviation.seen


def test_the_first_step_that_deviates_is_named(run: Run) -> None:
    frame = steps(x=[1, 2, 3, 4])
    assert verdict(run, asked("that", "x < 3"), frame) == (Verdict.FAILED, pytest.approx(0.003), "x = 3")
    assert verdict(run, asked("that", "x < 5"), frame)[0] is Verdict.PASSED
    assert verdict(run, asked("never", "x == 2"), frame) == (Verdict.FAILED, pytest.approx(0.002), "x = 2")


def test_what_is_looked_at_nowhere_does_not_hold(run: Run) -> None:
    frame = steps(x=[1, 2], state=[0.0, 0.0])
    expectation = asked("that", "x > 0", steps="during", where=words("state == DOWN"))
    assert verdict(run, expectation, frame) == (
        Verdict.FAILED,
        pytest.approx(math.nan, nan_ok=True),
        "there was no step during state == DOWN",
    )


def test_a_visit_is_entered_and_left(run: Run) -> None:
    frame = steps(x=[1, 2, 3, 4, 5, 6], state=[0.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    drain = words("state == Drain")
    entering = asked("that", "x == 2 or x == 5", steps="entering", where=drain)
    leaving = asked("that", "x == 3 and next(state) == Startup", steps="leaving", where=drain)
    assert verdict(run, entering, frame)[0] is Verdict.PASSED
    # The visit that the run ends in was not left.
    assert judge(leaving, run, frame, STATES).steps == 1
    assert verdict(run, leaving, frame)[0] is Verdict.PASSED


def test_a_number_that_is_none_is_not_observable(run: Run) -> None:
    frame = steps(x=[1.0, None, 1.0])
    expectation = asked("that", "x == 1")
    assert judge(expectation, run, frame, STATES).verdict is Verdict.NOT_OBSERVABLE
    assert judge(expectation, run, frame, STATES).reason == "x has no value at 0.002 s"
    assert verdict(run, asked("that", "default(x, 1) == 1"), frame)[0] is Verdict.PASSED
    # A control that says of its own number that it is none has answered.
    result = judge(expectation, run, frame, STATES, reported={"x"})
    assert (result.verdict, result.deviation and result.deviation.seen) == (Verdict.FAILED, "x = none")
    # What does not hold at another step does not hold.
    assert verdict(run, expectation, steps(x=[None, 2.0]))[0] is Verdict.FAILED


def test_a_predicate_looks_back_to_when_another_held() -> None:
    frame = pl.DataFrame({"t": [0.1, 0.2, 0.3, 0.4], "x": [1, 2, 3, 4]})
    since, last = (parse(text, STATES).expression for text in ("since(x < 3)", "last(x * x, x < 3)"))
    found = frame.select(since=since, last=last)
    assert found["since"].to_list() == [None, *(pytest.approx(own) for own in (0.1, 0.1, 0.2))]
    assert found["last"].to_list() == [None, 1, 4, 4]


def test_what_happens_too_late_does_not(run: Run) -> None:
    frame = steps(x=[0, 0, 0, 1])
    start = Moment("0.001s", at_s=0.001)
    assert verdict(run, asked("happens", "x == 1", start=start, within_s=0.003), frame)[0] is Verdict.PASSED
    late = verdict(run, asked("happens", "x == 1", start=start, within_s=0.001), frame)
    assert late == (Verdict.FAILED, pytest.approx(0.002), "x = 0")


def test_states_are_passed_in_their_order(run: Run) -> None:
    frame = steps(state=[0.0, 0.0, 1.0, 0.0])
    order = asked("passes", "", passes=[("Startup", 0.0, False), ("DOWN", 2.0, True), ("Drain", 1.0, False)])
    assert verdict(run, order, frame)[0] is Verdict.PASSED
    wrong = asked("passes", "", passes=[("Startup", 0.0, False), ("DOWN", 2.0, False)])
    assert verdict(run, wrong, frame) == (Verdict.FAILED, pytest.approx(0.003), "state = Drain")
    stays = asked("passes", "", passes=[("Startup", 0.0, False)] * 2)
    assert verdict(run, stays, steps(state=[0.0, 0.0]))[2] == "it stays Startup"


def test_an_event_that_never_came_skips(run: Run) -> None:
    start = Moment("event flood", event="flood")
    assert verdict(run, asked("that", "x > 0", start=start), steps(x=[1]))[0] is Verdict.SKIPPED


# --- the documents ----------------------------------------------------------------------------------------------------


def test_every_case_asks_for_what_there_is() -> None:
    known = {one["name"] for entry in [*listings.ccs(), *listings.implementations()] for one in entry["gauges"]}
    known |= {"goodput", "delivery_rate", "recovery", "rtt", "srtt", "rttvar", "pacing_rate", "cwnd", "ssthresh"}
    known |= {"inflight", "retransmits", "lost", "delivered", "ce", "ece"} | COMPUTED
    known |= {"hystart_phase"}  # of slow_start = "hystart++", whatever the control
    for document in documents().values():
        for case in document.cases:
            for one in case.expectations:
                for own in (one.words, one.where, *(m.words for m in (one.start, one.end) if m)):
                    plain = {name for name in (own.names if own else ()) if "." not in name}
                    assert plain <= known, f"{case.name}: {plain - known}"


def test_the_drafts_22_cases_are_all_there() -> None:
    numbers = {re.match(r"bbr/(\d+)", case.name)[1] for case in documents()["bbr"].cases}  # type: ignore[index] # all do
    assert numbers == {f"{n:02}" for n in range(1, 23)}


@pytest.mark.parametrize("name", sorted(documents()))
def test_ours_keeps_what_its_text_promises(name: str) -> None:
    found = examined(name)
    assert found.is_passed
    for own in found.verdicts:
        assert own.verdict is Verdict.PASSED or own.known, (own.case.name, own.reason)
        assert sum(own.by_run.values()) >= SEEDS
        # A case that a seed in five never tries says little.
        assert own.by_run.get(Verdict.SKIPPED, 0) <= 1, own.case.name


def test_a_known_deviation_is_reported_and_does_not_fail() -> None:
    own = only("bbr/4", "bbr3-google")
    assert own.verdict is Verdict.FAILED
    assert not own.is_unexpected
    assert own.deviation is not None
    assert "rounds" in own.deviation.seen
    assert "no limit in rounds" in own.known


def replaced(what: str, old: str, new: str, tmp_path: Path) -> Examination:
    """Return what came of our case on its subjects, with a text in its file replaced."""
    document = find(what)
    (case,) = document.cases
    (tmp_path / "document.toml").write_bytes((case.file.parent / "document.toml").read_bytes())
    text = case.file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    (tmp_path / case.file.name).write_text(text.replace(old, new), encoding="utf-8")
    own = read(tmp_path)
    return examine(own, own.subjects, make, seeds=2)


BY_A_TENTH = 'that    = "cwnd <= 2"'


def test_a_known_deviation_is_of_one_expectation(tmp_path: Path) -> None:
    asked_too_much = 'that    = "cwnd <= 0"\nknown.cubic = "it keeps one"'
    found = replaced("cubic/5", BY_A_TENTH, asked_too_much, tmp_path)
    (own,) = found.verdicts
    assert (own.verdict, own.known, own.is_unexpected) == (Verdict.FAILED, "it keeps one", False)
    assert own.share == "2 of 2"
    # What else fails is not known by it.
    (tmp_path / "05-timeout.toml").write_text(
        (tmp_path / "05-timeout.toml").read_text().replace("0.7 * prev(cwnd), 5%", "0.6 * prev(cwnd), 5%")
    )
    own = examine(read(tmp_path), read(tmp_path).subjects, make, seeds=2).verdicts[0]
    assert own.is_unexpected
    assert own.reason.startswith("ssthresh is 0.7 of the window before")


def test_a_known_deviation_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    found = replaced("cubic/5", BY_A_TENTH, f'{BY_A_TENTH}\nknown.cubic = "it keeps more"', tmp_path)
    (own,) = found.verdicts
    assert own.is_unexpected
    assert own.reason == "a deviation is known of cubic that is not there any more: the window begins at one packet"


def test_a_seed_that_fails_decides(tmp_path: Path) -> None:
    # With seed 2 a heap is taken for a rate of 62 Mbit/s, with seed 1 for one of 59.
    found = replaced("bbr/12", "max_bw < 47.8mbit * 4 / 3", "max_bw < 60mbit", tmp_path)
    (own,) = found.verdicts
    assert own.is_unexpected
    assert own.by_run == {Verdict.FAILED: 1, Verdict.PASSED: 1}
    assert own.share == "1 of 2"


def bad(what: str, control: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, CaseVerdict]:
    monkeypatch.chdir(Path(__file__).parent)
    document = find(what)
    subject = Subject(f"python:bad_controls.py:{control}", document.kind)
    found = examine(document, [subject], make, seeds=1)
    assert not found.is_passed
    return {own.case.name.partition("/")[2]: own for own in found.verdicts}


def test_a_control_that_never_backs_off_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ecn", "rack"):
        found = bad(name, "NeverBacksOff", monkeypatch)
        failed = [own.reason for own in found.values() if own.verdict is Verdict.FAILED]
        assert len(failed) == 1, failed
        assert re.fullmatch(r"its window was not reduced after \d+ losses.* in the runs of this document", failed[0])
    assert found["01-loss-by-time"].verdict is Verdict.SKIPPED


def test_a_control_that_ignores_marks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = bad("ecn", "IgnoresCe", monkeypatch)
    assert "marks" in found["reaction"].reason
    assert "losses" not in found["reaction"].reason


def test_who_never_grows_fails_the_case_of_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    found = bad("cubic/8", "NeverGrows", monkeypatch)
    assert found["08-growth"].verdict is Verdict.FAILED


def test_who_is_silent_is_not_observable() -> None:
    own = only("bbr/4", "cubic")
    assert (own.verdict, own.reason) == (
        Verdict.NOT_OBSERVABLE,
        "the stimulus waits for state, which cubic does not tell",
    )


def test_a_quic_stack_that_tells_its_model_is_judged_by_it() -> None:
    own = only("bbr/1", "noq/bbr3")
    assert (own.verdict, own.held) == (Verdict.PASSED, len(own.case.expectations))


def test_what_did_not_come_about_is_skipped() -> None:
    # A flow as thin as that loses nothing.
    document = find("cubic/1")
    found = examine(document, document.subjects, make, settings=["flow.subject.app_rate=1mbit"])
    (own,) = found.verdicts
    assert own.verdict is Verdict.SKIPPED
    assert own.reason.startswith("the precondition did not come about: losses come after slow start")
    assert not found.is_passed


def test_a_wrong_name_is_a_mistake_of_the_user() -> None:
    with pytest.raises(SojournError, match='no congestion control "bbr4"'):
        examined("bbr/1", "bbr4")
    with pytest.raises(UsageError, match='no document "bbx"'):
        find("bbx")
    with pytest.raises(UsageError, match='no case "bbr/99"'):
        find("bbr/99")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[[expect]]\nsays = "a"', "asks for nothing"),
        ('[[expect]]\nsays = "a"\nthat = "x"\nnever = "y"', "say one of them"),
        ('[[expect]]\nsays = "a"\nthat = "x >"', "no expression"),
        ('[[expect]]\nsays = "a"\npasses = "Up"', 'there is no word "Up"'),
        ('[[expect]]\nsays = "a"\ncheck = "none"', 'no \\[\\[check\\]\\] "none"'),
        ('[[expect]]\nsays = "a"\nthat = "x"\nwhile = "y"', 'no key "while"'),
        ('[case.known]\ncubic = "why"', "a known deviation belongs to one expectation"),
        ('[[require]]\nsays = "a"\nthat = "x"\nknown.cubic = "why"', "skipped, not known"),
        ('[[require]]\nsays = "a"\nthat = "x"', "cannot fail"),
    ],
)
def test_what_is_wrong_with_a_case_is_said(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "document.toml").write_text(
        'title = "t"\nsource = "s"\nabout = "a"\ntests = "sender"\nsubjects = ["cubic"]\n[words]\nStartup = 0\n'
    )
    case = '[case]\ntitle = "t"\nsection = "1"\nprecondition = "p"\nstimulus = "s"\nexpected = "e"\n'
    (tmp_path / "01.toml").write_text(f"{case}{table}\n")
    with pytest.raises(StoreError, match=message):
        read(tmp_path)


# --- for programs -----------------------------------------------------------------------------------------------------


def test_formats_agree() -> None:
    found = [examined("bbr/4", "bbr3", "bbr3-google", "bbr", "cubic")]
    assert "bbr/04-drain-three-rounds  failed (known) in 5 of 5:" in "\n".join(page.lines(found, details=False))
    lines = formats.tap(found).splitlines()
    assert lines[:2] == ["TAP version 14", "1..4"]
    assert [line.split(" - ")[0] for line in lines if re.match("(not )?ok", line)] == [
        "ok 1",
        "not ok 2",
        "ok 3",
        "ok 4",
    ]
    assert "# TODO" in next(line for line in lines if line.startswith("not ok"))
    assert sum("# SKIP" in line for line in lines) == 2
    suites = ET.fromstring(formats.junit(found))  # noqa: S314 - our own
    assert [suite.get("failures") for suite in suites] == ["0"] * 4
    assert [suite.get("skipped") for suite in suites] == ["0", "1", "1", "1"]
    result = json.loads(json.dumps(formats.as_json(found)))
    assert [one["verdict"] for one in result["cases"]] == ["passed", "failed", "not applicable", "not observable"]
    assert result["passed"]
    assert [one["runs_by_verdict"] for one in result["cases"]] == [
        {"passed": 5},
        {"failed": 5},
        {},
        {"not observable": 5},
    ]
    assert "| passed 5 of 5 | deviates 5 of 5 | not applicable | not observable |" in page.markdown(found, {})


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sojourn", "conformance", *words], check=False, capture_output=True, text=True
    )


def test_the_command_keeps_runs_figures_and_a_page(tmp_path: Path) -> None:
    done = command("dualq/1", "-o", str(tmp_path / "out"))
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert "dualq/01-l-queue  passed in 10 of 10" in done.stdout
    assert (tmp_path / "out" / "conformance.html").exists()
    assert [path.suffix for path in (tmp_path / "out" / "figures").iterdir()] == [".png"]
    assert (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["bbr/1", "--cc", "cubic"], 1, "not observable"),
        (["bbr", "--qdisc", "pie"], 2, "bbr tests senders"),
        (["dualq", "--cc", "cubic"], 2, "dualq tests queues"),
        (["bbr", "--format", "yaml"], 2, 'no format "yaml"'),
        ([], 0, "l4s-sender"),
    ],
)
def test_exit_status(words: list[str], status: int, said: str) -> None:
    done = command(*words)
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


# --- seeded mistakes --------------------------------------------------------------------------------------------------


def test_every_seeded_mistake_finds_its_place() -> None:
    mutants = tool("mutants")
    found = mutants.lists()
    assert {own.document for own in found} - {"marking"} == set(documents())
    for own in found:
        assert len(own.mutations) >= 10, own.name
        # Nine of ten have to be caught.
        assert own.least >= 0.9 * len(own.mutations), own.name
    for text in mutants.patched_files(found).values():
        assert "sojourn_units::mutant(" in text


def test_a_mistake_stands_behind_its_switch() -> None:
    mutants = tool("mutants")
    one, two = (mutants.Mutation(n, "", "f", "x = a + b;", "a", new) for n, new in ((1, "0"), (2, "1")))
    assert mutants.patched("x = a + b;", [one, two]) == (
        "x = (if sojourn_units::mutant(2) { 1 } else { (if sojourn_units::mutant(1) { 0 } else { a }) }) + b;"
    )
    with pytest.raises(ValueError, match="2 times in the file"):
        mutants.patched("x = a + b; x = a + b;", [one])


def test_what_an_assertion_ends_no_case_has_caught() -> None:
    mutants = tool("mutants")
    (own, *_) = mutants.lists(["rto"])
    one, two, *_ = own.mutations
    text = mutants.markdown(
        [(own, [mutants.Caught(one, ["rto/01-first-sample"]), mutants.Caught(two, [], stopped=True)])]
    )
    assert "## `cubic` by `rto`: 1 of 2" in text
    assert f"| {two.what} | **not caught**: an assertion of the implementation ended the run |" in text
