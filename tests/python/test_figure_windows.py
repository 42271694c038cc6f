"""Metrics look at the default window, distributions of every packet at the whole run: a figure says which it shows."""

import re
from pathlib import Path

import pytest

import sojourn as package
from test_cli import sojourn
from test_own_numbers import TEXT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("windows")
    package.parse(TEXT, "own.toml").run(target / "r", quiet=True)
    return target / "r"


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["cdf", "quantity=sojourn"], "from the origin on"),
        (["cdf", "quantity=srtt", "window=over last 2s"], "over last 2s"),
        (["box", "quantity=sojourn"], "from the origin on"),
        (["delays"], "whole run"),
    ],
)
def test_a_figure_of_every_packet_says_where_it_looks(
    words: list[str], where: str, folder: Path, tmp_path: Path
) -> None:
    target = tmp_path / "p.svg"
    made = sojourn("plot", str(folder), *words, "-o", str(target))
    assert made.returncode == 0, made.stderr
    assert where in made.stdout + made.stderr
    assert where in " ".join(re.findall(r">([^<]+)<", target.read_text())), "in the picture itself"
