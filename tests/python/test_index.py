"""The index of a results folder: it has a row for every run, or it is not there."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest

import sojourn
from by_hand import frames
from conftest import Make
from sojourn.core.cells import group
from sojourn.core.store import Folder
from sojourn.core.store.index import COLUMNS, NAME
from sojourn.errors import StoreError
from sojourn.views.run import Run


@pytest.fixture
def runs(make_run: Make) -> list[Run]:
    """Return two seeds of two cells: the flows' rates tell all four apart."""
    return [
        make_run((rate + seed, 1.0), seed=seed, labels={"buffer": buffer}, seconds=20)
        for buffer, rate in (("1", 10.0), ("4", 20.0))
        for seed in (1, 2)
    ]


def store(path: Path, runs: list[Run]) -> None:
    with Folder.create(path, version="1", command="by hand") as folder:
        for run in runs:
            folder.add(run.key, frames(run), command="by hand")


def test_the_index_has_a_row_for_every_run(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "r", runs)
    index = pl.read_parquet(tmp_path / "r" / NAME)
    assert tuple(index.columns[: len(COLUMNS)]) == COLUMNS
    assert index.select("experiment", "cell", "seed", "engine", "buffer").rows() == [
        ("by-hand", f"by-hand[{buffer}]", seed, "sim", buffer) for buffer in ("1", "4") for seed in (1, 2)
    ]
    for row, run in zip(index.iter_rows(named=True), runs, strict=True):
        assert row["run"] == run.key.folder_name
        for table in run.tables:
            assert pl.read_parquet(tmp_path / "r" / row[table]).equals(run.table(table))


def test_runs_of_one_cell_have_one_id(tmp_path: Path, runs: list[Run], make_run: Make) -> None:
    # The same labels and another rate: another cell.
    store(tmp_path / "r", [*runs, make_run((5.0, 5.0), labels={"buffer": "1"}, seconds=20, rate="10Mbit")])
    ids = pl.read_parquet(tmp_path / "r" / NAME)["cell_id"]
    assert ids.n_unique() == 3 == len(group(sojourn.open(tmp_path / "r")))


def test_runs_that_are_added_are_in_the_index(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "r", runs[:1])
    first = pl.read_parquet(tmp_path / "r" / NAME)
    store(tmp_path / "r", runs[1:])
    index = pl.read_parquet(tmp_path / "r" / NAME)
    assert index.height == 4
    assert index.filter(pl.col("run") == first["run"][0]).equals(first)
    # As if it had been written at once.
    store(tmp_path / "once", runs)
    assert index.equals(pl.read_parquet(tmp_path / "once" / NAME))


def test_a_run_that_was_removed_is_not(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "r", runs[:3])
    gone = tmp_path / "r" / "runs" / runs[0].key.folder_name
    for file in gone.iterdir():
        file.unlink()
    gone.rmdir()
    store(tmp_path / "r", runs[3:])
    assert pl.read_parquet(tmp_path / "r" / NAME).height == 3


KILLED = """
import os, sys
from pathlib import Path
from sojourn.core.store import Folder
source, target = map(Path, sys.argv[1:])
records = Folder.open(source).records()
folder = Folder.create(target, version="1", command="by hand")
for record in records[1:]:
    folder.add(record.key, {n: record.table(n) for n in record.tables}, command="by hand")
    if len(folder.records()) == 3:
        os.kill(os.getpid(), 9)
"""


def test_after_a_kill_there_is_no_index_rather_than_one_that_lacks_runs(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "all", runs)
    store(tmp_path / "r", runs[:1])
    command = [sys.executable, "-c", KILLED, str(tmp_path / "all"), str(tmp_path / "r")]
    assert subprocess.run(command, check=False).returncode == -9
    assert len(Folder.open(tmp_path / "r").records()) == 3
    assert not (tmp_path / "r" / NAME).exists()
    done = subprocess.run(
        [sys.executable, "-m", "sojourn", "index", str(tmp_path / "r")], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("3 runs in ")
    assert pl.read_parquet(tmp_path / "r" / NAME).height == 3


def test_an_old_folder_has_none_until_it_is_asked_for_or_added_to(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "r", runs[:2])
    (tmp_path / "r" / NAME).unlink()
    store(tmp_path / "r", runs[2:])
    assert pl.read_parquet(tmp_path / "r" / NAME).height == 4


def test_a_damaged_index_is_written_anew(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "r", runs[:2])
    (tmp_path / "r" / NAME).write_bytes(b"nonsense")
    store(tmp_path / "r", runs[2:])
    assert pl.read_parquet(tmp_path / "r" / NAME).height == 4


def test_who_writes_keeps_others_from_writing_the_index(tmp_path: Path, runs: list[Run]) -> None:
    store(tmp_path / "r", runs[:1])
    with (
        Folder.create(tmp_path / "r", version="1", command="by hand"),
        pytest.raises(StoreError, match="another command"),
        Folder.open(tmp_path / "r").locked(),
    ):
        pass


def test_an_axis_may_be_called_as_a_column_is(tmp_path: Path, make_run: Make) -> None:
    store(tmp_path / "r", [make_run(labels={"seed": "a", "flows": "b"}, seconds=20)])
    [row] = pl.read_parquet(tmp_path / "r" / NAME).rows(named=True)
    assert (row["axis.seed"], row["seed"], row["axis.flows"]) == ("a", 1, "b")
    assert row["flows"].endswith("/flows.parquet")


def test_queries_of_others_are_those_of_the_api(
    tmp_path: Path, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What DuckDB and Polars make of index and tables is what sojourn.Results makes of them, as docs/data.md says."""
    store(tmp_path / "results", runs)
    monkeypatch.chdir(tmp_path)
    frame = sojourn.open("results").frame("flows").with_columns(pl.col("buffer", "flow").cast(pl.String))
    ours = frame.group_by("buffer", "seed", "flow").agg(pl.col("goodput_bps").mean()).sort("buffer", "seed", "flow")
    query = """
        select i.buffer, i.seed, f.flow, avg(f.goodput_bps)
        from read_parquet('results/runs/*/flows.parquet', filename = true) f
        join 'results/index.parquet' i on f.filename = 'results/' || i.flows
        group by all order by all
    """
    assert duckdb.connect().execute(query).fetchall() == ours.rows()
    flows = pl.scan_parquet("results/runs/*/flows.parquet", include_file_paths="file")
    theirs = flows.join(pl.scan_parquet("results/index.parquet"), left_on="file", right_on="results/" + pl.col("flows"))
    means = theirs.group_by("buffer", "seed", "flow").agg(pl.col("goodput_bps").mean())
    assert means.sort("buffer", "seed", "flow").collect().rows() == ours.rows()
    assert isinstance(sojourn.open("results").to_pandas("flows"), pd.DataFrame)
