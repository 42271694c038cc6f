"""Results folders that were damaged: every fault has a message that names the file, none goes unnoticed."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from by_hand import frames, reseal
from conftest import Make
from sojourn.core.store import Folder, Record
from sojourn.core.store.atomic import TEMPORARY, write_file
from sojourn.core.store.index import CHECKSUM, NAME
from sojourn.core.store.merge import merge
from sojourn.core.store.verify import damaged_index, damages
from sojourn.errors import SojournError, StoreError
from sojourn.views.results import results


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
    """Change the head and seal it again, as somebody does who knows the format."""
    file = record.path / "scenario.json"
    reseal(file, json.loads(file.read_text()) | changes)


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
        assert "it repeats this run alone" in str(caught.value)
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


def flipped(file: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["runs/{run}/scenario.json", "manifest.json"])
def test_every_flipped_bit_of_a_head_is_noticed(record: Record, name: str) -> None:
    folder = record.path.parents[1]
    file = folder / name.format(run=record.path.name)
    whole = file.read_bytes()
    draw = random.Random(2)  # noqa: S311
    for _ in range(300):
        flipped(file, draw)
        with pytest.raises(StoreError, match=file.name):
            Folder.open(folder).records()
        file.write_bytes(whole)
    assert not list(damages(Folder.open(folder)))


def test_a_damaged_index_is_not_read_and_is_written_again(record: Record, make_run: Make) -> None:
    folder = record.path.parents[1]
    whole = (folder / NAME).read_bytes()
    draw = random.Random(3)  # noqa: S311
    for seed in range(2, 12):
        flipped(folder / NAME, draw)
        assert "is damaged" in damaged_index(Folder.open(folder))
        with Folder.create(folder, version="1", command="x") as opened:
            run = make_run(seed=seed)
            opened.add(run.key, frames(run), command="x")
        assert damaged_index(Folder.open(folder)) == ""
    assert (folder / NAME).read_bytes() != whole
    (folder / CHECKSUM).write_text("0" * 64)
    assert "is damaged" in damaged_index(Folder.open(folder))
    # A command that has nothing to add puts it right, too.
    Folder.create(folder, version="1", command="x").close()
    assert damaged_index(Folder.open(folder)) == ""


def test_an_index_that_lacks_a_run_is_noticed(record: Record, make_run: Make, tmp_path: Path) -> None:
    other = make_run(seed=9)
    with Folder.create(tmp_path / "s", version="1", command="x") as folder:
        path = folder.add(other.key, frames(other), command="x").path
    path.rename(record.path.parent / path.name)
    assert "has other runs than the folder" in damaged_index(Folder.open(record.path.parents[1]))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("hops", 0, "down", 1, "kind"), None),
        (("hops", 0, "down", 1, "kind"), "quoue"),
        (("flows", 0, "direction"), "dnwn"),
        (("flows", 0, "traffic"), None),
        (("flows", 0, "traffic", "kind"), None),
        (("hops", 0, "name"), None),
        (("flows", 0, "hops"), [7]),
        (("hops", 0, "down", 1, "rate"), "fast"),
    ],
)
def test_a_scenario_that_the_model_refuses_is_named(record: Record, place: tuple[Any, ...], value: object) -> None:
    head = json.loads((record.path / "scenario.json").read_text())
    at: Any = head["scenario"]
    for step in place[:-1]:
        at = at[step]
    if value is None:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    edit(record, scenario=head["scenario"])
    with pytest.raises(StoreError, match=r"scenario\.json"):
        read_all(record.path.parents[1])


def test_a_run_in_the_folder_of_another_is_refused(record: Record, make_run: Make) -> None:
    moved = record.path.with_name(make_run(seed=5).key.folder_name)
    record.path.rename(moved)
    with pytest.raises(StoreError, match=f"it is of another run: the folder would be {record.path.name}"):
        read_all(moved.parents[1])


@pytest.mark.parametrize("name", ["scenario.json", "flows.parquet", "../../manifest.json"])
@pytest.mark.parametrize("what", ["pipe", "link", "device", "folder"])
def test_what_is_not_a_plain_file_is_refused(record: Record, tmp_path: Path, name: str, what: str) -> None:
    folder = record.path.parents[1]
    file = record.path / name
    file.rename(tmp_path / "kept")
    match what:
        case "pipe":
            os.mkfifo(file)
        case "link":
            file.symlink_to(tmp_path / "kept")
        case "device":
            file.symlink_to("/dev/zero")
        case _:
            file.mkdir()
    with pytest.raises(StoreError, match=f"{file.name} is damaged: "):
        read_all(folder)
    if "manifest" not in name:
        assert [own.run for own in damages(Folder.open(folder))] == [record.path]


def test_a_text_outside_of_the_run_is_not_read(record: Record) -> None:
    for name in ("/dev/zero", "../x", ".hidden", ""):
        edit(record, texts={name: "0" * 64})
        with pytest.raises(StoreError, match="is no name of a text"):
            read_all(record.path.parents[1])


def test_a_run_that_is_a_link_is_refused(record: Record, tmp_path: Path) -> None:
    record.path.rename(tmp_path / "elsewhere")
    record.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="it is a symbolic link"):
        read_all(record.path.parents[1])


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_merge_copies_nothing_that_is_not_a_file_of_the_run(record: Record, tmp_path: Path, kind: str) -> None:
    (tmp_path / "secret").write_text("topsecret")
    file = record.path / "notes.pcap"
    file.symlink_to(tmp_path / "secret") if kind == "link" else os.mkfifo(file)
    with pytest.raises(StoreError, match=r"notes\.pcap is damaged: it is not a plain file"):
        merge([record.path.parents[1]], tmp_path / "all", command="x")
    file.unlink()
    file.write_text("mine")
    merge([record.path.parents[1]], tmp_path / "all", command="x")
    assert not list((tmp_path / "all").rglob("notes.pcap"))


def test_a_capture_that_changed_is_noticed(tmp_path: Path, make_run: Make) -> None:
    run = make_run()
    with Folder.create(tmp_path / "r", version="1", command="x") as folder, folder.captures(run.key) as packets:
        for name in ("a.pcap", "client.pcap"):
            (packets / name).write_bytes(name.encode())
        record = folder.add(run.key, frames(run), command="x", captures=packets)
    assert [file.name for file in record.captures] == ["a.pcap", "client.pcap"]
    assert not list(damages(Folder.open(tmp_path / "r")))
    (record.path / "a.pcap").write_bytes(b"b.pcap")
    assert [own.message.partition(": ")[2] for own in damages(Folder.open(tmp_path / "r"))] == [
        "a capture does not have the SHA-256 that was written"
    ]


def test_what_a_kill_left_in_the_folder_itself_is_swept(record: Record) -> None:
    folder = record.path.parents[1]
    left = folder / f"{TEMPORARY}index.parquet-1234"
    left.write_bytes(b"half")
    assert Folder.open(folder).unfinished() == [left]
    Folder.create(folder, version="1", command="x").close()
    assert not left.exists()
