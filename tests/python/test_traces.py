"""A link's trace: a user's file or a made-up one, the packets that it carries, and errors of a wrong one."""

import json
from pathlib import Path

import pytest

import sojourn
from by_hand import exported
from sojourn.core.store import Folder
from test_cli import sojourn as typed

EXPERIMENT = """
[experiment]
name     = "traced"
duration = "20s"
ping     = false

[[hop]]
name = "link"
rtt  = "20ms"
down = { trace = "TRACE", qdisc = "pfifo limit 100" }
up   = { rate = "10mbit", shaper = "line", qdisc = "pfifo limit 100" }

[[flow]]
name = "flood"
udp  = { rate = "30mbit", payload = 1472 }

[[window]]
name = "steady"
from = "5s"
to   = "15s"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "even.down").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    file = tmp_path / "traced.toml"
    file.write_text(EXPERIMENT.replace("TRACE", "even.down"))
    return file


def test_a_chance_a_millisecond_is_a_full_packet_a_millisecond(tmp_path: Path, file: Path) -> None:
    ran = typed("run", str(file), "-o", str(tmp_path / "r"), "--seeds", "1")
    assert ran.returncode == 0, ran.stderr
    [run] = sojourn.open(tmp_path / "r")
    # By hand: 1472 bytes of payload are 1500 of IP, which with four bytes use up a chance.
    assert run.metric("goodput(flood)") == pytest.approx(1472 * 8 * 1000, rel=1e-3)
    assert run.metric("utilisation(link.down.qdisc)") == 1.0
    assert run.metric("mean(sojourn, link.down.qdisc)") == pytest.approx(0.1, rel=0.02)


def test_the_run_holds_its_trace_and_can_be_made_again_without_the_file(tmp_path: Path, file: Path) -> None:
    first, again = tmp_path / "r", tmp_path / "again"
    assert typed("run", str(file), "-o", str(first), "--seeds", "1").returncode == 0
    (tmp_path / "even.down").unlink()
    [record] = Folder.open(first).records()
    stored = exported(record, tmp_path / "one")
    assert json.loads(stored.read_text())["scenario"]["traces"] == [" ".join(["1"] * 1000)]
    ran = typed("run", str(stored), "-o", str(again))
    assert ran.returncode == 0, ran.stderr
    [one], [other] = sojourn.open(first), sojourn.open(again)
    assert all(one.table(name).equals(other.table(name)) for name in one.tables)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("1\n2\n1\n", "line 3: 1 ms comes after 2 ms"),
        ("1\nsoon\n", 'line 2: "soon" is no time'),
        ("", "it has no chance to deliver anything"),
        ("0\n", "its last chance is at 0 ms"),
        (None, "there is no such file"),
        (b"\xff\xfe\x00", "it is no text"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(file: Path, content: str | bytes | None, says: str) -> None:
    trace = file.with_name("even.down")
    if content is None:
        trace.unlink()
    else:
        trace.write_bytes(content.encode() if isinstance(content, str) else content)
    ran = typed("run", str(file))
    assert ran.returncode == 2
    assert f"trace even.down: {says}" in ran.stderr
    assert "traced.toml:10" in ran.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ('trace = "even.down", rate = "5mbit"', "a link has a trace or a rate, not both"),
        ('trace = "even.down", shaper = "line"', "cannot have the shaper line"),
        ('trace = "even.down", burst = "10kb"', "ceil and burst are htb's"),
        ('trace = "cellular mx 5mbit"', 'cellular has no option "mx"'),
        ('trace = "cellular max 5"', '"5" is no max of cellular'),
        ('trace = "."', "it is no file"),
    ],
)
def test_words_that_do_not_go_together_are_refused(file: Path, change: str, says: str) -> None:
    file.write_text(file.read_text().replace('trace = "even.down"', change))
    ran = typed("run", str(file))
    assert ran.returncode == 2, ran.stdout
    assert says in ran.stderr


def test_an_event_sets_no_rate_of_a_trace_but_may_replace_it(tmp_path: Path, file: Path) -> None:
    text = file.read_text()
    file.write_text(text + '\n[[event]]\nname = "e"\nat = "3s"\nhop = "link"\nside = "down"\nrate = "5mbit"\n')
    ran = typed("run", str(file))
    assert ran.returncode == 2
    assert "the rate of hop link is its trace's" in ran.stderr
    file.write_text(
        text
        + '\n[[event]]\nname = "e"\nat = "3s"\nhop = "link"\nside = "down"\nrate = "5mbit"\n'
        + 'replace = "pfifo limit 50"\nshaper = "line"\n'
    )
    ran = typed("run", str(file), "-o", str(tmp_path / "r"), "--seeds", "1")
    assert ran.returncode == 0, ran.stderr
    [run] = sojourn.open(tmp_path / "r")
    assert run.metric("utilisation(link.down.qdisc)") == pytest.approx(1.0, rel=1e-3)
    assert run.metric("goodput(flood)") == pytest.approx(5e6 * 1472 / 1514, rel=1e-2)
