"""Controllers' own numbers by name: a name that nobody has is an error with the nearest."""

from pathlib import Path

import pytest

import sojourn as package
from sojourn.errors import UsageError
from test_cli import sojourn

TEXT = """\
[experiment]
name     = "own"
duration = "3s"
ping     = false

[axis.cc]
"cubic"  = { flow.one.cc = "cubic" }
"prague" = { flow.one.cc = "prague" }

[[hop]]
name  = "b"
rate  = "10mbit"
rtt   = "20ms"
qdisc = "dualpi2"

[[flow]]
name = "one"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("own")
    package.parse(TEXT, "own.toml").run(target / "r", quiet=True)
    return target / "r"


@pytest.mark.parametrize("which", ["fresh", "stored"])
def test_a_misspelt_number_is_an_error_with_the_nearest_name(folder: Path, which: str) -> None:
    runs = package.results(folder) if which == "stored" else package.parse(TEXT, "own.toml").run(quiet=True)
    prague = next(run for run in runs if "prague" in run.label)
    assert 0 <= prague.metric("mean(state.alpha, one)") <= 1
    with pytest.raises(UsageError, match='one has no number of its own called "alpah"') as wrong:
        prague.metric("mean(state.alpah, one)")
    assert str(wrong.value.help).startswith('did you mean "state.alpha"? it has alpha')
    with pytest.raises(UsageError, match='called "probb"') as wrong:
        prague.metric("max(state.probb, b.down.qdisc)")
    assert 'did you mean "state.prob"?' in str(wrong.value.help)


def test_a_table_of_what_nobody_has_is_an_error(folder: Path) -> None:
    wrong = sojourn("table", str(folder), "mean(state.alpah, one)")
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert (
        'error: no run has a value of mean(state.alpah, one): one has no number of its own called "alpah"'
        in wrong.stderr
    )
    assert 'did you mean "state.alpha"?' in wrong.stderr, "of the cell that has the nearest"


def test_a_table_says_which_cells_lack_what_others_have(folder: Path) -> None:
    shown = sojourn("table", str(folder), "mean(state.alpha, one)")
    assert shown.returncode == 0, shown.stderr
    assert 'cubic: one has no number of its own called "alpha"' in shown.stderr
    assert "prague" in shown.stdout
