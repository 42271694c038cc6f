"""Results folders that were damaged: every fault has a message that names the file, none goes unnoticed."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from by_hand import frames
from conftest import Make
from sojourn.core.results import results
from sojourn.core.store import Folder, Record
from sojourn.core.store.atomic import write_file
from sojourn.errors import SojournError, StoreError


@pytest.fixture
def record(tmp_path: Path, make_run: Make) -> Record:
    run = make_run()
    with Folder.create(tmp_path / "r", version="1", command="sojourn run x") as folder:
        return folder.add(run.key, frames(run), command="sojourn run x")


def read_all(folder: Path) -> None:
    for run in results(folder):
        for table in run.tables:
            run.table(table)
        run.measure(["sum(goodput)"])


def edit(record: Record, **changes: Any) -> None:
    file = record.path / "scenario.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_flipped_bit_is_noticed(record: Record) -> None:
    draw = random.Random(1)  # noqa: S311
    file = record.path / "flows.parquet"
    whole = file.read_bytes()
    for _ in range(100):
        content = bytearray(whole)
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        file.write_bytes(content)
        with pytest.raises(StoreError, match=r"flows\.parquet is damaged: its SHA-256") as caught:
            record.table("flows")
        assert "made anew" in str(caught.value)
    file.write_bytes(whole)
    assert record.table("flows").height > 0


def test_folders_without_checksums_are_read_as_before(record: Record) -> None:
    tables = json.loads((record.path / "scenario.json").read_text())["tables"]
    edit(record, tables={name: {k: v for k, v in own.items() if k != "sha256"} for name, own in tables.items()})
    read_all(record.path.parents[1])


def test_a_table_outside_of_the_run_is_not_read(record: Record, tmp_path: Path) -> None:
    content = (record.path / "flows.parquet").read_bytes()
    (record.path.parent / "stolen.parquet").write_bytes(content)
    edit(record, tables={"../stolen": {"rows": 1, "bytes": len(content)}})
    with pytest.raises(StoreError, match=r"'\.\./stolen' is no name of a table"):
        read_all(tmp_path / "r")


@pytest.mark.parametrize("name", ["scenario.json", "manifest.json"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"3",
        b"{}",
        b'{"format": 1}',
        b"\xff",
        b"[" * 100_000,
        b'{"tables": []}',
        b'{"tables": 1e999}',
    ],
)
def test_a_damaged_head_is_named(record: Record, name: str, content: bytes) -> None:
    folder = record.path.parents[1]
    (record.path / name if name == "scenario.json" else folder / name).write_bytes(content)
    with pytest.raises(StoreError, match=name):
        read_all(folder)


@pytest.mark.parametrize("key", ["label", "engine", "version", "command", "scenario", "tables"])
@pytest.mark.parametrize("value", [None, 3, [], "x", {}])
def test_a_wrong_part_of_the_head_is_named(record: Record, key: str, value: object) -> None:
    if (isinstance(value, str) and key in {"label", "command", "version", "engine"}) or (key, value) == ("tables", {}):
        pytest.skip("it is what it should be")
    edit(record, **{key: value})
    with pytest.raises(SojournError):
        read_all(record.path.parents[1])


def test_a_folder_that_was_only_begun_is_taken(tmp_path: Path) -> None:
    (tmp_path / "r" / "runs").mkdir(parents=True)
    (tmp_path / "r" / ".unfinished-manifest.json-1234").write_text("{")
    Folder.create(tmp_path / "r", version="1", command="x").close()
    assert Folder.open(tmp_path / "r").version == "1"
    (tmp_path / "s" / "runs").mkdir(parents=True)
    (tmp_path / "s" / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match="is not a results folder"):
        Folder.create(tmp_path / "s", version="1", command="x")


def test_what_cannot_be_written_has_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="could not be written"):
        write_file(tmp_path / "file" / "below", b"x")
