"""What a newcomer begins with: an experiment to start from, and the documentation of the installation."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sojourn
from sojourn import manual
from sojourn.cli import complete
from sojourn.errors import UsageError
from sojourn.experiments import library, starts


def command(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *words], capture_output=True, text=True, cwd=cwd, check=False, timeout=120
    )


def test_an_experiment_to_start_from_runs_as_it_is(tmp_path: Path) -> None:
    made = command("init", cwd=tmp_path)
    assert (made.returncode, made.stdout) == (0, "experiment.toml\n")
    assert "sojourn run experiment.toml -o results/experiment" in made.stderr
    ran = command("run", "experiment.toml", "--seeds", "1", "-o", "results/experiment", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "examples/" not in (tmp_path / "experiment.toml").read_text()


def test_what_is_there_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("# mine")
    made = command("init", "mine.toml", cwd=tmp_path)
    assert made.returncode == 2
    assert "mine.toml exists already" in made.stderr
    assert (tmp_path / "mine.toml").read_text() == "# mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x.txt"], "x.txt is not an experiment file name"),
        (["no/such/x.toml"], "cannot write no/such/x.toml"),
        (["--like", "two-flow"], 'did you mean "two-flows"?'),
        (["--like", "l4s-tests/s66"], 'there is no scenario "l4s-tests/s66"'),
    ],
)
def test_what_cannot_be_begun_is_said(words: list[str], said: str, tmp_path: Path) -> None:
    made = command("init", *words, cwd=tmp_path)
    assert made.returncode == 2
    assert said in made.stderr
    assert "Traceback" not in made.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", list(starts.starts()))
def test_each_start_is_an_experiment_named_after_its_file(name: str) -> None:
    text = starts.begun(name, Path("a b.toml"))
    experiment = sojourn.parse(text, "a b.toml", seeds=1)
    assert experiment.name == "a-b"
    assert starts.about(starts.starts()[name])


def test_each_scenario_can_be_copied_and_is_not_taken_for_the_suites() -> None:
    for suite, scenarios in library.suites().items():
        for scenario, file in scenarios.items():
            text = starts.begun(f"{suite}/{scenario}", Path("mine.toml"))
            was, now = tomllib.loads(file.read_text()), tomllib.loads(text)
            assert now["experiment"].pop("name") == "mine"
            assert was["experiment"].pop("name") == f"{suite}/{scenario}"
            assert now == was


def site(tmp_path: Path) -> Path:
    for name, title in (
        ("index", "Sojourn"),
        ("metrics", "Metrics - Sojourn"),
        ("tutorials/first-experiment", "A first experiment &amp; its report - Sojourn"),
        ("howto/run-a-suite", "Run a suite - Sojourn"),
        ("404", "Sojourn"),
    ):
        page = tmp_path / f"{name}.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"<html><head><title>{title}</title></head></html>")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("index", "index"),
        ("metrics", "metrics"),
        ("Metrics.html", "metrics"),
        ("docs/metrics.md", "metrics"),
        ("first experiment", "tutorials/first-experiment"),
        ("first-experiment", "tutorials/first-experiment"),
        ("its report", "tutorials/first-experiment"),
        ("howto/run-a-suite", "howto/run-a-suite"),
    ],
)
def test_a_page_is_found_by_its_name_or_its_words(words: str, page: str, tmp_path: Path) -> None:
    assert manual.find(words, site(tmp_path)) == tmp_path / f"{page}.html"


def test_what_is_no_page_is_said_with_the_nearest(tmp_path: Path) -> None:
    where = site(tmp_path)
    with pytest.raises(UsageError) as caught:
        manual.find("metriks", where)
    assert caught.value.help == 'did you mean "metrics"?'
    with pytest.raises(UsageError, match="several pages fit"):
        manual.find("s", where)
    with pytest.raises(UsageError, match="not in this installation"):
        manual.find("metrics", tmp_path / "nothing")


def test_titles_are_what_pages_call_themselves(tmp_path: Path) -> None:
    named = manual.pages(site(tmp_path))
    assert list(named) == ["index", "howto/run-a-suite", "metrics", "tutorials/first-experiment"]
    assert manual.title(named["tutorials/first-experiment"]) == "A first experiment & its report"


def test_a_shell_completes_what_there_is_to_start_from() -> None:
    assert complete.starts("two") == ["two-flows"]
    assert "l4s-tests/s6" in complete.starts("l4s-tests/s")
    assert "l4s-tests" not in complete.starts("l4s")
