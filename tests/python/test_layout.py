"""The contracts of ``pyproject.toml``: which part of the package may import which."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn

PACKAGE = Path(sojourn.__file__).parent
CONTRACTS = Path(__file__).parents[2] / "pyproject.toml"


def lint(folder: Path) -> str:
    """Return what import-linter reports of the package in this folder."""
    run = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", run, "--no-cache", "--no-logo", str(CONTRACTS)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def test_every_contract_is_kept() -> None:
    assert "2 kept, 0 broken" in lint(PACKAGE.parent)


@pytest.mark.parametrize(
    ("file", "line", "found"),
    [
        ("core/cells.py", "from sojourn.views import summary", "sojourn.core.cells -> sojourn.views.summary"),
        ("errors.py", "def late():\n    from sojourn.core import run", "sojourn.errors -> sojourn.core.run"),
        ("runner/runs.py", "if TYPE_CHECKING:\n    import sojourn.search", "sojourn.runner.runs -> sojourn.search"),
        ("core/run.py", "from sojourn.core import cells", ".run -> .cells"),
    ],
)
def test_an_import_against_the_arrows_is_found(tmp_path: Path, file: str, line: str, found: str) -> None:
    shutil.copytree(PACKAGE, tmp_path / "sojourn", ignore=shutil.ignore_patterns("*.so", "*.html", "site"))
    with (tmp_path / "sojourn" / file).open("a", encoding="utf-8") as text:
        text.write(f"\n{line}\n")
    assert found in lint(tmp_path)
