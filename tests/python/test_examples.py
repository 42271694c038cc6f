"""The examples as files: experiments hold what they say of themselves, notebooks are the tutorials and run."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

from test_tools import tool

ROOT = Path(__file__).parents[2]
EXPERIMENTS = sorted((ROOT / "examples" / "experiments").glob("*.toml"))
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that writes notebooks."""
    return tool("notebooks")


def test_there_are_some() -> None:
    assert len(EXPERIMENTS) >= 4
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_an_experiment_runs_and_its_checks_hold(file: Path, tmp_path: Path) -> None:
    """The status is 1 if a check does not hold. The comment at the top of the file has its command."""
    text = file.read_text()
    assert f"#     sojourn run examples/experiments/{file.name} -o results/" in text
    command = [sys.executable, "-m", "sojourn", "run", str(file), "--seeds", "1", "-o", str(tmp_path / "results")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{file.stem}: check " in done.stdout + done.stderr
    # That BBR and CUBIC take turns, slower than the window can see, is true and said.
    assert [line for line in done.stderr.splitlines() if "warning" in line and "up and down" not in line] == []


def test_every_notebook_is_its_tutorial(script: ModuleType) -> None:
    assert [file.stem for file in NOTEBOOKS] == sorted(script.TUTORIALS)
    for file in NOTEBOOKS:
        assert file.read_text() == script.notebook(file.stem), (
            f"{file.name} differs from its tutorial; write it again: python tools/notebooks.py examples/notebooks"
        )


def test_a_notebook_has_the_blocks_of_its_page_and_links_that_lead_somewhere(script: ModuleType) -> None:
    cells = nbformat.reads(script.notebook("first-experiment"), as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert code[0].startswith("%%writefile first.toml\n[experiment]\n")
    assert code[1] == "%%sh\nset -eu\nsojourn run first.toml -o results/first"
    assert code[-1].startswith("from pathlib import Path\n")
    assert not any("<!--" in cell.source for cell in cells)
    linked = script.links_from("[a](../metrics.md#x) [b](https://c.d/) [e](#f)", "docs/tutorials/first-experiment.md")
    assert linked == "[a](../../docs/metrics.md#x) [b](https://c.d/) [e](#f)"


def test_a_notebook_runs_from_its_first_cell_to_its_last(tmp_path: Path) -> None:
    """The blocks of the others are the same as those that test_docs.py runs."""
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "jupyter"),
    }
    (tmp_path / "first.ipynb").write_bytes((ROOT / "examples/notebooks/first-experiment.ipynb").read_bytes())
    command = [str(scripts / "jupyter-execute"), "--inplace", "--kernel_name=python3", "first.ipynb"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    cells = nbformat.read(tmp_path / "first.ipynb", as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert (tmp_path / "results" / "first" / "report.html").exists()
    assert any((tmp_path / "results").glob("fairness*"))
