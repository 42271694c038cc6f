"""Results folders that were damaged: every fault has a message that names the file or the run, none goes unnoticed."""

import json
import os
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from by_hand import flip, forge, frames, segments
from conftest import Make
from sojourn.core.store import Folder, Record
from sojourn.core.store.atomic import TEMPORARY, write_file
from sojourn.core.store.merge import merge
from sojourn.core.store.verify import damages
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
        assert run.record is None or run.record.head
        run.measure(["sum(goodput)", "jain(delivery_rate)"])


def flipped(file: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def test_a_flipped_bit_is_noticed_or_changes_nothing(record: Record) -> None:
    draw = random.Random(1)  # noqa: S311
    [file] = segments(record.folder)
    whole = file.read_bytes()
    table = record.table("flows")
    for _ in range(200):
        flipped(file, draw)
        # The footer of a segment may be lost: its runs are then found block by block.
        assert list(damages(Folder.open(record.folder))) or file.read_bytes()[:-16] == whole[:-16]
        with suppress(StoreError):
            [again] = Folder.open(record.folder).records()
            assert again.table("flows").equals(table)
            assert again.head == record.head
        file.write_bytes(whole)
    assert not list(damages(Folder.open(record.folder)))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"3", b"{}", b'{"format": 1}', b"\xff", b"[" * 100_000, b'{"rows": []}', b'{"rows": 1e999}'],
)
def test_a_head_that_is_none_is_named(record: Record, content: bytes) -> None:
    forge(record.folder, content)
    with pytest.raises(StoreError, match=r"the run forged in .* is damaged"):
        read_all(record.folder)


@pytest.mark.parametrize("key", ["command", "scenario", "rows", "imported", "warnings"])
@pytest.mark.parametrize("value", [None, 3, [3], {"measured": 3}])
def test_a_wrong_part_of_the_head_is_named(record: Record, key: str, value: object) -> None:
    if (key, value) == ("rows", {"measured": 3}):
        pytest.skip("it is correct")
    forge(record.folder, json.dumps({**record.head, key: value}).encode())
    with pytest.raises(SojournError):
        read_all(record.folder)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{}", b'{"format": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_manifest_is_named(record: Record, content: bytes) -> None:
    (record.folder / "manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"manifest\.json"):
        read_all(record.folder)


def test_every_flipped_bit_of_the_manifest_is_noticed(record: Record) -> None:
    file = record.folder / "manifest.json"
    whole = file.read_bytes()
    draw = random.Random(2)  # noqa: S311
    for _ in range(300):
        flipped(file, draw)
        with pytest.raises(StoreError, match=r"manifest\.json"):
            Folder.open(record.folder).records()
        file.write_bytes(whole)


def test_a_folder_that_was_only_begun_is_taken(tmp_path: Path) -> None:
    (tmp_path / "r" / "segments").mkdir(parents=True)
    (tmp_path / "r" / ".unfinished-manifest.json-1234").write_text("{")
    Folder.create(tmp_path / "r", version="1", command="x").close()
    assert Folder.open(tmp_path / "r").version == "1"
    (tmp_path / "s" / "segments").mkdir(parents=True)
    (tmp_path / "s" / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match="is not a results folder"):
        Folder.create(tmp_path / "s", version="1", command="x")


def test_what_cannot_be_written_has_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="could not be written"):
        write_file(tmp_path / "file" / "below", b"x")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("hops", 0, "down", 1, "kind"), None),
        (("hops", 0, "down", 1, "kind"), "quoue"),
        (("flows", 0, "direction"), "dnwn"),
        (("flows", 0, "traffic"), None),
        (("flows", 0, "traffic", "kind"), None),
        (("hops", 0, "name"), None),
        (("hops", 0, "down", 1, "rate"), "fast"),
    ],
)
def test_a_scenario_that_the_model_refuses_is_named(record: Record, place: tuple[Any, ...], value: object) -> None:
    head = json.loads(json.dumps(record.head))
    at: Any = head["scenario"]
    for step in place[:-1]:
        at = at[step]
    if value is None:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    forge(record.folder, json.dumps(head).encode())
    with pytest.raises(StoreError, match=r"the run forged in .* has a scenario that this Sojourn does not read"):
        read_all(record.folder)


def test_tables_that_are_none_are_named(record: Record) -> None:
    forge(record.folder, json.dumps(record.head).encode(), brief={"tables": ["flows"]})
    with pytest.raises(SojournError):
        read_all(record.folder)


@pytest.mark.parametrize("what", ["pipe", "link", "device", "folder"])
@pytest.mark.parametrize("name", ["segment", "manifest.json"])
def test_what_is_not_a_plain_file_is_refused(record: Record, tmp_path: Path, name: str, what: str) -> None:
    file = segments(record.folder)[0] if name == "segment" else record.folder / name
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
    with pytest.raises(StoreError, match=file.name):
        read_all(record.folder)


def captured(folder: Path, make_run: Make) -> Record:
    run = make_run()
    with Folder.create(folder, version="1", command="x") as made, made.captures(run.key) as packets:
        for name in ("a.pcap", "client.pcap"):
            (packets / name).write_bytes(name.encode())
        record = made.add(run.key, frames(run), command="x")
        made.add_captures(run.key, packets)
    return record


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_merge_copies_nothing_that_is_not_a_file_of_the_run(tmp_path: Path, make_run: Make, kind: str) -> None:
    record = captured(tmp_path / "r", make_run)
    (tmp_path / "secret").write_text("topsecret")
    file = record.path / "notes.pcap"
    file.symlink_to(tmp_path / "secret") if kind == "link" else os.mkfifo(file)
    with pytest.raises(StoreError, match=r"notes\.pcap is not a plain file"):
        merge([record.folder], tmp_path / "all", command="x")
    file.unlink()
    assert merge([record.folder], tmp_path / "all", command="x") == (1, 0)
    [copy] = Folder.open(tmp_path / "all").records()
    assert [own.read_bytes() for own in copy.captures] == [b"a.pcap", b"client.pcap"]


def test_a_capture_that_changed_is_noticed(tmp_path: Path, make_run: Make) -> None:
    record = captured(tmp_path / "r", make_run)
    assert [file.name for file in record.captures] == ["a.pcap", "client.pcap"]
    assert not list(damages(Folder.open(tmp_path / "r")))
    flip(record.path / "a.pcap", 0.5)
    [damage] = damages(Folder.open(tmp_path / "r"))
    assert damage.run == record.name
    assert "does not have the SHA-256 that was written" in damage.message


def test_what_a_kill_left_in_the_folder_itself_is_swept(record: Record) -> None:
    left = record.folder / f"{TEMPORARY}manifest.json-1234"
    left.write_bytes(b"half")
    assert Folder.open(record.folder).unfinished() == [left]
    Folder.create(record.folder, version="1", command="x").close()
    assert not left.exists()
