"""What people see at 80 columns, in a pipe, and how much of it."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from test_cli import EXPERIMENT, sojourn

SCREENS = [
    ("suites",),
    ("suites", "l4s-tests"),
    ("suites", "l4s-tests/s1"),
    ("qdiscs",),
    ("qdiscs", "fq_codel"),
    ("qdiscs", "cake"),
    ("ccs",),
    ("ccs", "cubic"),
    ("elements", "periodic_loss"),
    ("apps", "tcp_rr"),
    ("stacks",),
    ("stacks", "linux-5.4"),
    ("plot",),
    ("plot", "cdf"),
    ("run", "all", "--dry-run"),
    ("try", "cubic", "bbr", "--duration", "3s"),
    ("try", "cubic", "--qdisc", "pfifo", "--qdisc", "fq_codel target 5ms", "--voice", "--duration", "3s"),
]


def wide(*words: str, columns: str | None, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}} | environment
    if columns is not None:
        env["COLUMNS"] = columns
    ran = subprocess.run(
        [sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, check=False, timeout=120, env=env
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("words", SCREENS, ids=" ".join)
def test_every_table_fits_eighty_columns_in_a_pipe(words: tuple[str, ...]) -> None:
    shown = wide(*words, columns=None)
    long = [line for line in shown.splitlines() if cell_len(line.rstrip()) > 80 and not line.startswith("$ ")]
    assert not long
    assert "\x1b" not in shown


@pytest.mark.parametrize("kind", ["suites", "qdiscs", "ccs", "elements", "links", "apps", "stacks"])
def test_a_list_has_one_line_an_entry(kind: str) -> None:
    entries = json.loads(sojourn(kind, "--json").stdout)
    lines = wide(kind, columns="80").splitlines()
    for entry in entries:
        assert sum(line.split()[:1] == [entry["name"]] for line in lines) == 1
    assert len(lines) <= len(entries) + 5


def test_columns_are_respected() -> None:
    narrow, broad = (wide("qdiscs", columns=columns) for columns in ("60", "200"))
    assert max(map(cell_len, narrow.splitlines())) <= 60
    assert "…" in narrow
    assert "…" not in broad
    assert wide("qdiscs", columns="nonsense") == wide("qdiscs", columns=None)


def on_a_terminal(*words: str, **environment: str) -> str:
    """Run a command with a terminal as its output."""
    leader, follower = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}} | environment
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", *words], stdout=follower, stderr=subprocess.PIPE, env=env | {"TERM": "xterm"}
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    process.stderr.close()
    return shown.decode()


def test_a_terminal_has_colours_unless_no_color_says_otherwise() -> None:
    words = ("try", "cubic", "reno", "--duration", "2s")
    coloured = r"\x1b\[[0-9;]*3[0-9]"
    assert re.search(coloured, on_a_terminal(*words))
    assert not re.search(coloured, on_a_terminal(*words, NO_COLOR="1"))


def test_a_suite_is_shown_with_axes_runs_cost_and_source() -> None:
    shown = sojourn("suites", "L4S-Tests/S7").stdout
    for said in ("l4s-tests/s7", "source: l4s-tests, scenario 7", "axis cc: cubic, reno, prague", "6 cells", "60 runs"):
        assert said in shown
    assert re.search(r"cost: 1 h 5 min simulated, about .* on \d+ idle core", shown)
    wrong = sojourn("suites", "l4s-test")
    assert wrong.returncode == 2
    assert 'did you mean "l4s-tests' in wrong.stderr


def test_capitals_do_not_matter_in_names() -> None:
    assert sojourn("ccs", "CUBIC").stdout == sojourn("ccs", "cubic").stdout
    assert sojourn("qdiscs", "FQ_CoDel").stdout == sojourn("qdiscs", "fq_codel").stdout


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(EXPERIMENT)
    return path


def test_a_dry_run_counts_and_makes_nothing(tmp_path: Path, file: Path) -> None:
    dry = sojourn("run", str(file), "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert re.search(r"^small +2 +4 +0 ", dry.stdout, re.MULTILINE)
    assert "4 runs to make" in dry.stdout
    results = tmp_path / "results"
    assert sojourn("run", str(file), "-o", str(results), "--dry-run").returncode == 0
    assert not results.exists()
    assert sojourn("run", str(file), "-o", str(results), "--seeds", "1").returncode == 0
    planned = json.loads(sojourn("run", str(file), "-o", str(results), "--dry-run", "--json").stdout)
    assert [(own["cells"], own["runs"], own["there"]) for own in planned["experiments"]] == [(2, 4, 2)]
    assert planned["expected_s"] > 0
    assert "-o names no results folder" in sojourn("run", str(file)).stderr


def test_a_run_as_json_has_each_seed(tmp_path: Path, file: Path) -> None:
    ran = json.loads(sojourn("run", str(file), "-o", str(tmp_path / "r"), "--json").stdout)
    assert [cell["labels"] for cell in ran["cells"]] == [{"queue": "fifo"}, {"queue": "fq"}]
    [first, _] = ran["cells"]
    assert first["seeds"] == [1, 2]
    assert len(first["values"]["goodput_mbps"]["one"]) == 2
    assert ran["checks"][0]["held"] == 4


def test_how_much_is_said(tmp_path: Path, file: Path) -> None:
    quiet = sojourn("run", str(file), "-o", str(tmp_path / "q"), "-q")
    assert quiet.stderr == ""
    assert "fifo" in quiet.stdout
    verbose = sojourn("run", str(file), "-o", str(tmp_path / "v"), "-v")
    assert "4 runs to make, 36 simulated seconds" in verbose.stderr
    assert "4 of 4 runs done" in verbose.stderr
    assert verbose.stdout.replace(str(tmp_path / "v"), "") == quiet.stdout.replace(str(tmp_path / "q"), "")
    assert sojourn("-q", "run", str(file), "-o", str(tmp_path / "g")).stderr == ""


def test_pairs_have_heads_and_one_flow_has_no_index(tmp_path: Path, file: Path) -> None:
    both = sojourn("run", str(file), "-o", str(tmp_path / "both")).stdout
    assert both.count("one / two") == 2
    assert "Jain" in both
    file.write_text(EXPERIMENT.replace('[[flow]]\nname = "two"\ncc = "reno"\n', ""))
    alone = sojourn("run", str(file), "-o", str(tmp_path / "alone")).stdout
    assert "Jain" not in alone
    assert "–" not in alone


def test_calls_and_transfers_have_columns_of_their_own(tmp_path: Path, file: Path) -> None:
    file.write_text(EXPERIMENT.replace('cc = "reno"', "voip = {}") + '\n[[flow]]\nname = "web"\nshort_flows = {}\n')
    shown = sojourn("run", str(file), "-o", str(tmp_path / "r"), "--seeds", "1").stdout
    for head in ("loss", "delay 99 %", "jitter", "compl. 50 %"):
        assert head in shown
    assert "–" not in shown
    assert max(map(cell_len, (line for line in shown.splitlines() if "results in" not in line))) <= 80
    table = sojourn("table", str(tmp_path / "r")).stdout
    assert "jitter" in table
    assert "goodput" in table
    assert "–" not in table


def test_a_table_is_text_unless_asked(tmp_path: Path, file: Path) -> None:
    results = str(tmp_path / "r")
    assert sojourn("run", str(file), "-o", results, "--seeds", "1").returncode == 0
    shown = sojourn("table", results).stdout
    assert not shown.startswith("|")
    assert max(map(cell_len, shown.splitlines())) <= 80
    assert sojourn("table", results, "--format", "markdown").stdout.startswith("| queue |")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sojourn run l4s-tests/s1", ["l4s-tests/s1", "l4s-tests/s13"]),
        ("sojourn try bb", ["bbr"]),
        ("sojourn try cubic --qdisc fq_c", ["fq_codel"]),
        ("sojourn qdiscs dual", ["dualpi2"]),
        ("sojourn stacks linux-5", ["linux-5.4"]),
        ("sojourn suites icc", ["iccrg", "iccrg/two"]),
        ("sojourn table results 'sha", ["share("]),
        ("sojourn table results 'share(goo", ["share(goodput"]),
        ("sojourn compare a b -m '1-jain(good", ["1-jain(goodput"]),
        ("sojourn search x.toml --minimise uti", ["utilisation("]),
        ("sojourn plot results time", ["timeseries"]),
        ("sojourn plot results timeseries co", ["column="]),
        ("sojourn plot results fairness rate=g", ["rate=goodput"]),
    ],
)
def test_a_shell_completes_names(typed: str, offered: list[str]) -> None:
    words = typed.split()
    env = {"_SOJOURN_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("sojourn"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | env,
    )
    assert set(offered) <= set(ran.stdout.split()), ran.stderr


@pytest.mark.parametrize(
    ("shell", "env"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "sojourn qdiscs dual"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "sojourn qdiscs dual", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_shells_that_show_meanings_get_them(shell: str, env: dict[str, str]) -> None:
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("sojourn"))],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | env | {"_SOJOURN_COMPLETE": f"complete_{shell}"},
    )
    assert "dualpi2" in ran.stdout, ran.stderr
    assert "two coupled queues" in ran.stdout
    # One name, one line: to fish, a second line is another name.
    assert len(ran.stdout.strip().splitlines()) == 1
