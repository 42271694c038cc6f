import errno
import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

from by_hand import a_key, a_scenario, frames
from conftest import Make
from sojourn.core.store import FORMAT, Folder
from sojourn.core.store.atomic import TEMPORARY, write_file, write_folder
from sojourn.errors import StoreError


def folder_at(path: Path) -> Folder:
    return Folder.create(path, version="1", command="sojourn run x -o y")


def test_a_run_comes_back_as_it_was_stored(tmp_path: Path, make_run: Make) -> None:
    run = make_run()
    with folder_at(tmp_path / "r") as folder:
        assert run.key not in folder
        folder.add(run.key, frames(run), command="sojourn run x")
        assert run.key in folder
    [record] = Folder.open(tmp_path / "r").records()
    assert record.key == run.key
    assert record.head["command"] == "sojourn run x"
    assert record.tables == run.tables
    for name in run.tables:
        assert record.table(name).equals(run.table(name))
        assert record.scan(name).collect().equals(run.table(name))


def test_what_identifies_a_run(make_run: Make) -> None:
    one = make_run().key
    assert one.digest == make_run().key.digest
    assert one.digest != make_run(seed=2).key.digest
    assert one.digest != make_run(qdisc="pfifo limit 10").key.digest
    assert one.folder_name == f"by-hand_1-{one.digest}"


def test_a_label_becomes_a_safe_name() -> None:
    scenario = a_scenario(labels={"queue": "../fq codel(1q)", "rtt": "x" * 200})
    name = a_key(scenario).folder_name
    assert "/" not in name
    assert " " not in name
    assert len(name) < 120


@pytest.mark.parametrize("other", [FORMAT - 1, FORMAT + 1])
def test_another_format_is_refused(tmp_path: Path, other: int) -> None:
    folder_at(tmp_path / "r").close()
    manifest = {"format": other, "version": "9", "command": ""}
    (tmp_path / "r/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match=f"has format {other}, and this Sojourn reads format {FORMAT}") as raised:
        Folder.open(tmp_path / "r")
    assert "written by Sojourn 9" in (raised.value.help or "")


def test_another_version_does_not_add_to_a_folder(tmp_path: Path) -> None:
    folder_at(tmp_path / "r").close()
    with pytest.raises(StoreError, match="was written by Sojourn 1, and this is 2"):
        Folder.create(tmp_path / "r", version="2", command="")
    assert Folder.open(tmp_path / "r").version == "1"


def test_a_place_that_is_taken_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match="is there already and is not a results folder"):
        folder_at(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_no_results_folder_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder"):
        Folder.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"it has no manifest\.json"):
        Folder.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match=r"manifest\.json is damaged"):
        Folder.open(tmp_path)


def test_two_commands_do_not_write_into_one_folder(tmp_path: Path) -> None:
    with folder_at(tmp_path / "r"), pytest.raises(StoreError, match="another command is writing"):
        folder_at(tmp_path / "r")
    folder_at(tmp_path / "r").close()


@pytest.mark.parametrize("damage", ["truncated", "garbled", "missing", "head"])
def test_a_damaged_file_is_named(tmp_path: Path, make_run: Make, damage: str) -> None:
    run = make_run()
    with folder_at(tmp_path / "r") as folder:
        record = folder.add(run.key, frames(run), command="")
    victim = record.path / ("scenario.json" if damage == "head" else "flows.parquet")
    content = victim.read_bytes()
    match damage:
        case "truncated" | "head":
            victim.write_bytes(content[: len(content) // 2])
        case "garbled":
            victim.write_bytes(bytes(len(content)))
        case "missing":
            victim.unlink()
    with pytest.raises(StoreError, match="is damaged") as raised:
        for found in Folder.open(tmp_path / "r").records():
            found.table("flows")
    assert str(victim) in raised.value.message
    assert f"remove {record.path}" in (raised.value.help or "")


def refuse(code: int) -> Any:
    def fail(*_: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_full_disk_keeps_what_is_finished(tmp_path: Path, make_run: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_run(seed=1), make_run(seed=2)
    with folder_at(tmp_path / "r") as folder:
        folder.add(first.key, frames(first), command="")
        monkeypatch.setattr("os.fsync", refuse(errno.ENOSPC))
        with pytest.raises(StoreError, match="the disk is full") as raised:
            folder.add(second.key, frames(second), command="")
        assert "finished runs are kept" in (raised.value.help or "")
        monkeypatch.undo()
        assert [r.key for r in folder.records()] == [first.key]
        assert not list((tmp_path / "r/runs").glob(f"{TEMPORARY}*"))


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page"
    write_file(target, b"old")
    monkeypatch.setattr(Path, "replace", refuse(errno.EACCES))
    with pytest.raises(StoreError, match="could not be written"):
        write_file(target, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["page"]
    assert target.read_bytes() == b"old"


def write_for_ever(path: Path) -> None:
    for number in range(10**9):
        write_folder(path / f"run-{number}", {f"{n}.parquet": os.urandom(200_000) for n in range(4)})


def test_kill_9_leaves_nothing_half_written_that_is_read(tmp_path: Path) -> None:
    folder_at(tmp_path / "r").close()
    runs = tmp_path / "r/runs"
    for _ in range(3):
        writer = multiprocessing.get_context("fork").Process(target=write_for_ever, args=(runs / str(time.time()),))
        writer.start()
        deadline = time.monotonic() + 10
        while not list(runs.glob("*/run-1")) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
    whole = [p for p in runs.glob("*/run-*") if not p.name.startswith(TEMPORARY)]
    assert whole
    for path in whole:
        assert [f.stat().st_size for f in path.iterdir()] == [200_000] * 4


def test_what_a_killed_command_left_is_swept_and_never_read(tmp_path: Path) -> None:
    folder_at(tmp_path / "r").close()
    rest = tmp_path / "r/runs" / f"{TEMPORARY}run-x"
    rest.mkdir()
    (rest / "flows.parquet").write_bytes(b"half")
    assert Folder.open(tmp_path / "r").records() == []
    folder_at(tmp_path / "r").close()
    assert not rest.exists()
