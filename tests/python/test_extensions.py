"""What other distributions add: a small one is installed into a folder, and found by its metadata."""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from by_hand import frames
from conftest import Make
from sojourn.core.extensions import FIGURES, ExtensionWarning
from sojourn.core.store import Folder
from sojourn.errors import UsageError

CODE = '''
import polars as pl
from sojourn.plotting.kind import Drawn, Kind, Option

def make(runs, options):
    data = pl.DataFrame({"run": [run.label for run in runs], "size": [float(options["size"])] * len(runs)})
    return Drawn('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>', data, "Dots, one a run.")

DOTS = Kind("dots", "A dot for each run.", "Nobody's.", make, (Option("size", "of a dot, mm", "2"),))

def rows(run):
    """How many rows its flows have."""
    return run.flows.height

def worst(page, experiment, cells=""):
    return f"worst of {len(page.runs(experiment, cells))} runs"
'''

GOOD = {
    "sojourn.figures": {"dots": "dots_of_mine:DOTS"},
    "sojourn.metrics": {"rows": "dots_of_mine:rows"},
    "sojourn.report": {"worst": "dots_of_mine:worst"},
}


def install(site: Path, name: str, groups: Mapping[str, Mapping[str, str]], code: str) -> None:
    """Put a distribution with these entry points into a folder, as an installer does."""
    module = name.replace("-", "_")
    (site / f"{module}.py").write_text(code)
    info = site / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    points = [f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in own.items()) for group, own in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(points))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site"
    path.mkdir()
    install(path, "dots-of-mine", GOOD, CODE)
    return path


@pytest.fixture
def folder(tmp_path: Path, make_run: Make) -> Path:
    path = tmp_path / "results"
    with Folder.create(path, version="1", command="sojourn run by-hand -o results") as made:
        for seed in (1, 2):
            run = make_run(seed=seed, labels={"queue": "fq"})
            made.add(run.key, frames(run), command="by hand")
    return path


def sojourn(site: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sojourn", *words]
    environment = {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def found(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Lend this process the distribution."""
    with monkeypatch.context() as lent:
        lent.syspath_prepend(str(site))
        FIGURES.refresh()
        yield site
    FIGURES.refresh()
    sys.modules.pop("dots_of_mine", None)


def test_a_figure_of_another_distribution_is_listed_and_drawn(site: Path, folder: Path, tmp_path: Path) -> None:
    shown = sojourn(site, "plot", "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "delivery, timeseries, lines" in shown.stdout
    assert "dots." in shown.stdout.replace("\n", " ")
    listed = sojourn(site, "plot", cwd=tmp_path)
    assert "A dot for each run." in listed.stdout
    assert "of a dot, mm" in sojourn(site, "plot", "dots", cwd=tmp_path).stdout
    drawn = sojourn(site, "plot", str(folder), "dots", "size=3", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "dots.svg").read_text().startswith("<svg")
    assert (tmp_path / "dots.csv").read_text().splitlines()[0] == "run,size"
    assert drawn.stderr.startswith("Dots, one a run.")
    wrong = sojourn(site, "plot", str(folder), "dot", cwd=tmp_path)
    assert (wrong.returncode, 'did you mean "dots"?' in wrong.stderr) == (2, True)
    # Without the distribution there is none.
    assert "dots" not in sojourn(tmp_path, "plot", cwd=tmp_path).stdout


def test_a_metric_of_another_distribution_is_one_more_metric(site: Path, folder: Path, tmp_path: Path) -> None:
    said = sojourn(site, "table", str(folder), "rows", "sum(goodput)", "--json", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    (cell,) = json.loads(said.stdout)
    assert cell["metrics"]["rows"]["mean"] == 720
    assert cell["metrics"]["sum(goodput)"]["mean"] == pytest.approx(47e6)
    code = (
        "import sojourn, sys; results = sojourn.open(sys.argv[1]); "
        "print(results[0].metric('rows'), results.metric('rows')['value'].to_list())"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", code, str(folder)]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout == "720.0 [720.0, 720.0]\n"
    unknown = sojourn(site, "table", str(folder), "rowes", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "Traceback" not in unknown.stderr


def test_a_function_of_another_distribution_writes_in_templates(site: Path, folder: Path, tmp_path: Path) -> None:
    template = tmp_path / "mine.md"
    template.write_text('# Mine\n\n{{ worst("by-hand") }}\n')
    made = sojourn(site, "report", str(folder), "-t", str(template), cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "worst of 2 runs" in (folder / "mine.md").read_text()


def test_what_cannot_be_imported_is_named_and_the_rest_goes_on(site: Path, folder: Path, tmp_path: Path) -> None:
    install(site, "broken", {"sojourn.figures": {"cracks": "broken:KIND"}}, "import nothing_of_this_name\n")
    install(site, "wrong", {"sojourn.figures": {"plain": "wrong:KIND", "gone": "wrong:NONE"}}, "KIND = 3\n")
    install(site, "rude", {"sojourn.figures": {"delivery": "rude:KIND"}}, "KIND = 3\n")
    listed = sojourn(site, "plot", cwd=tmp_path)
    assert listed.returncode == 0
    assert "A dot for each run." in listed.stdout
    assert "cracks" not in listed.stdout
    said = " ".join(listed.stderr.split())
    for line in (
        'warning: the kind of figure "cracks" of broken 1.2 (broken:KIND) is left out: ModuleNotFoundError: No module',
        'the kind of figure "plain" of wrong 1.2 (wrong:KIND) is left out: it is int, not a sojourn.plotting.kind.Kind',
        'the kind of figure "gone" of wrong 1.2 (wrong:NONE) is left out: AttributeError',
        'the kind of figure "delivery" of rude 1.2 (rude:KIND) is left out: Sojourn itself has one of that name',
    ):
        assert line in said
        assert said.count(line) == 1
    assert "Traceback" not in listed.stderr
    drawn = sojourn(site, "plot", str(folder), "dots", cwd=tmp_path)
    assert drawn.returncode == 0
    asked = sojourn(site, "plot", str(folder), "cracks", cwd=tmp_path)
    assert asked.returncode == 2
    assert 'there is no kind of figure "cracks"' in asked.stderr


def test_names_are_known_before_anything_is_imported(found: Path) -> None:
    assert FIGURES.names[-1] == "dots"
    assert "dots_of_mine" not in sys.modules
    assert FIGURES.own == FIGURES.names[:-1]
    # Of ours, one is imported without the others' being so.
    assert FIGURES["cdf"]
    assert "dots_of_mine" not in sys.modules
    assert list(FIGURES)[-1] == "dots"
    assert len(FIGURES) == len(FIGURES.names)


def test_two_distributions_with_one_name_are_said(found: Path) -> None:
    install(found, "zoo", {"sojourn.figures": {"dots": "zoo:KIND"}}, "KIND = 3\n")
    with pytest.warns(ExtensionWarning, match=r"of zoo 1\.2 .* dots-of-mine 1\.2 has one of that name"):
        assert "dots" in FIGURES


def test_what_fails_is_said_once_and_stays_away(found: Path) -> None:
    install(found, "broken", {"sojourn.figures": {"cracks": "broken:KIND"}}, "raise RuntimeError('no')\n")
    with pytest.warns(ExtensionWarning, match=r'"cracks" of broken 1\.2 .* RuntimeError: no'):
        assert "cracks" not in list(FIGURES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "cracks" not in FIGURES
        with pytest.raises(UsageError, match='there is no kind of figure "cracks"'):
            FIGURES.find("cracks")
