import errno
import hashlib
import json
import multiprocessing
import os
import pickle
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

import sojourn
from by_hand import a_key, a_scenario, flip, frames, segments
from conftest import Make
from sojourn import runner
from sojourn.core.run import columns, queue_facts
from sojourn.core.store import FORMAT, Folder, RunKey
from sojourn.core.store.atomic import TEMPORARY, write_file
from sojourn.core.store.convert import convert
from sojourn.core.store.verify import damages
from sojourn.errors import StoreError, UsageError
from sojourn.views.run import Run


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


def test_what_identifies_a_run(make_run: Make) -> None:
    one = make_run().key
    assert one.digest == make_run().key.digest
    assert one.digest != make_run(seed=2).key.digest
    assert one.digest != make_run(qdisc="pfifo limit 10").key.digest
    assert one.name == f"by-hand_1-{one.digest}"


def test_a_label_becomes_a_safe_name() -> None:
    scenario = a_scenario(labels={"queue": "../fq codel(1q)", "rtt": "x" * 200})
    name = a_key(scenario).name
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
    helps = {FORMAT - 1: "sojourn store convert", FORMAT + 1: "Sojourn 9 wrote it"}
    assert helps[other] in (raised.value.help or "")


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


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.9, 0.99, 1.0])
def test_a_flipped_bit_is_named_and_the_same_command_heals(tmp_path: Path, make_run: Make, place: float) -> None:
    run = make_run()
    with folder_at(tmp_path / "r") as folder:
        folder.add(run.key, frames(run), command="")
    [file] = segments(tmp_path / "r")
    flip(file, place)
    found = list(damages(Folder.open(tmp_path / "r")))
    # Without its footer a segment is as a killed command leaves it: its runs are found block by block.
    assert place == 1.0 or str(file) in found[0].message
    if place == 0.0:
        # Of a file that does not begin as a segment nothing can be read.
        with pytest.raises(StoreError, match="is not a segment") as raised:
            Folder.open(tmp_path / "r").records()
        assert "sojourn store prune --damaged" in (raised.value.help or "")
        return
    with folder_at(tmp_path / "r") as folder:
        if run.key not in folder:
            folder.add(run.key, frames(run), command="")
        assert folder.record(run.key).table("flows").equals(run.table("flows"))


def test_a_bit_flipped_in_one_run_leaves_the_others(tmp_path: Path, make_run: Make) -> None:
    runs = [make_run(seed=seed) for seed in (1, 2, 3)]
    for run in runs:
        with folder_at(tmp_path / "r") as folder:
            folder.add(run.key, frames(run), command="")
    segments(tmp_path / "r")[1].write_bytes(b"")
    with pytest.raises(StoreError, match="had 3 runs when the last command ended, and has 2: a segment is gone"):
        Folder.open(tmp_path / "r").records()
    assert [own.message for own in damages(Folder.open(tmp_path / "r"))] == [Folder.open(tmp_path / "r").missing]
    with folder_at(tmp_path / "r") as folder:
        assert [run.key in folder for run in runs] == [True, False, True]
        assert folder.record(runs[2].key).table("flows").equals(runs[2].table("flows"))
    assert len(Folder.open(tmp_path / "r").records()) == 2


def refuse(code: int) -> Any:
    def fail(*_: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page"
    write_file(target, b"old")
    monkeypatch.setattr(Path, "replace", refuse(errno.EACCES))
    with pytest.raises(StoreError, match="could not be written"):
        write_file(target, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["page"]
    assert target.read_bytes() == b"old"


def write_for_ever(path: Path, run: Run) -> None:
    tables = frames(run)
    with folder_at(path) as folder:
        for seed in range(10**9):
            key = RunKey(run.key.resolved.with_seed(seed), run.key.engine, run.key.version)
            folder.add(key, tables, command="")


def test_kill_9_leaves_nothing_half_written_that_is_read(tmp_path: Path, make_run: Make) -> None:
    run, known = make_run(), 0
    for _ in range(3):
        writer = multiprocessing.get_context("fork").Process(target=write_for_ever, args=(tmp_path / "r", run))
        writer.start()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            time.sleep(0.05)
            if (tmp_path / "r/manifest.json").exists() and len(Folder.open(tmp_path / "r").store) > known + 1:
                break
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        records = Folder.open(tmp_path / "r").records()
        assert len(records) > known
        known = len(records)
        for record in records:
            assert record.table("flows").equals(run.table("flows"))
    with folder_at(tmp_path / "r") as folder:
        assert len(folder.store) == known
    assert list(damages(Folder.open(tmp_path / "r"))) == []


def test_what_a_killed_command_left_is_swept_and_never_read(tmp_path: Path) -> None:
    folder_at(tmp_path / "r").close()
    rest = tmp_path / "r/runs" / f"{TEMPORARY}run-x"
    rest.mkdir(parents=True)
    (rest / "client.pcap").write_bytes(b"half")
    assert Folder.open(tmp_path / "r").records() == []
    folder_at(tmp_path / "r").close()
    assert not rest.exists()


def test_more_of_a_run_takes_the_place_of_less(tmp_path: Path) -> None:
    experiment = sojourn.Experiment.dumbbell(duration="1s", keep="summary")
    [run] = sojourn.Campaign.of(experiment, folder=tmp_path / "r").run()
    assert sorted(run.tables) == ["events", "histograms", "totals"]
    assert run.metric("goodput(cubic)") > 0
    with pytest.raises(UsageError, match="flows"):
        run.table("flows")
    more = sojourn.Experiment.dumbbell(duration="1s", keep="series")
    campaign = sojourn.Campaign.of(more, folder=tmp_path / "r")
    assert len(campaign.plan().missing) == 1
    [again] = campaign.run()
    assert again.key.digest == run.key.digest
    assert "flows" in again.tables
    assert "flow_state" not in again.tables
    assert sojourn.Campaign.of(experiment, folder=tmp_path / "r").plan().missing == []
    [only] = sojourn.open(tmp_path / "r")
    assert only.tables == again.tables


def test_a_link_in_the_place_of_a_segment_is_not_followed(tmp_path: Path, make_run: Make) -> None:
    run = make_run()
    for name in ("r", "other"):
        with folder_at(tmp_path / name) as folder:
            folder.add(run.key, frames(run), command="")
    [file] = segments(tmp_path / "r")
    file.unlink()
    file.symlink_to(segments(tmp_path / "other")[0])
    with pytest.raises(StoreError, match="segments"):
        Folder.open(tmp_path / "r").records()


def test_an_older_folder_is_converted(tmp_path: Path) -> None:
    """The folder is as Sojourn 0.2 wrote it: a folder a run, with a Parquet file a table."""
    [run] = sojourn.Campaign.of(sojourn.Experiment.dumbbell(duration="1s")).run()
    place = tmp_path / "old/runs/dumbbell_1-0123456789ab"
    place.mkdir(parents=True)
    manifest = {"format": 2, "version": "0.2.0+x", "command": "sojourn run x"}
    (tmp_path / "old/manifest.json").write_text(json.dumps(manifest))
    stated = {}
    for name in run.tables:
        file = place / f"{name}.parquet"
        run.table(name).write_parquet(file)
        stated[name] = {"rows": run.table(name).height, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    (place / "setup.log").write_text(
        "# bottleneck.down.qdisc\nqdisc fq_codel 8001:\n\n# bottleneck.up.qdisc\nqdisc pfifo"
    )
    head = {"label": run.label, "engine": "sim", "version": "0.2.0+x", "command": "sojourn run x", "tables": stated}
    (place / "scenario.json").write_text(json.dumps(head | {"scenario": run.scenario}))
    failures: list[StoreError] = []
    assert convert(tmp_path / "old", tmp_path / "new", command="convert", failed=failures.append) == 1
    assert failures == []
    [record] = Folder.open(tmp_path / "new").records()
    assert record.brief.version == "0.2.0+x"
    for name in run.tables:
        if name != "tc":
            assert record.table(name).equals(run.table(name))
    assert record.text("setup.log").decode().startswith("# bottleneck.down.qdisc\nqdisc fq_codel 8001:")
    assert record.answers is not None
    (place / "flows.parquet").write_bytes(b"PAR1")
    assert convert(tmp_path / "old", tmp_path / "newer", command="convert", failed=failures.append) == 0
    assert "SHA-256" in failures[0].message


def test_many_runs_are_measured_as_each_alone(tmp_path: Path) -> None:
    """Their answers are read together, on several threads from 256 runs on; the tables have the other metrics."""
    experiment = sojourn.Experiment.dumbbell(rate="5mbit", qdisc=["pfifo", "pie"], seeds=150, duration="1s")
    runs = list(sojourn.Campaign.of(experiment, folder=tmp_path / "r").run())
    asked = ["goodput(cubic)", "mean(srtt, cubic) over last 300ms", "drops(bottleneck.down.qdisc)", "goodput(cubic)"]
    alone = [run.measured(asked) for run in runs]
    for index, column in enumerate(columns(runs, asked)):
        assert list(column.numbers) == [own[index].value for own in alone]
        assert column.windows == list(dict.fromkeys(span for own in alone for span in own[index].windows))
    sums = dict(queue_facts(runs))
    for path, facts in sums.items():
        own = [dict(run.answers.queues)[path] for run in runs if path in dict(run.answers.queues)]
        assert facts == pytest.approx([sum(numbers) for numbers in zip(*own, strict=True)])
    fresh = list(experiment.only(qdisc="pie").run(quiet=True))
    mixed = [*runs[:3], *fresh[:3]]
    assert [column.numbers for column in columns(mixed, asked[:1])] == [[run.metric(asked[0]) for run in mixed]]


def test_the_keys_of_a_cell_share_its_scenario(tmp_path: Path) -> None:
    experiment = sojourn.Experiment.dumbbell(qdisc=["pfifo", "pie"], seeds=2, duration="1s")
    first, second, other, _ = experiment.run_keys
    assert first.resolved.shares_cell(second.resolved)
    assert not first.resolved.shares_cell(other.resolved)
    assert first.scenario["hops"] is second.scenario["hops"]
    assert (first.scenario.seed, second.scenario.seed) == (1, 2)
    assert (first.digest, first.cell_digest) != (second.digest, other.cell_digest)
    assert first.cell_digest == second.cell_digest
    again = pickle.loads(pickle.dumps(second))  # noqa: S301 - our own
    assert (again, again.digest, again.seed) == (second, second.digest, 2)
    experiment.run(tmp_path / "r", quiet=True)
    stored = [record.key for record in Folder.open(tmp_path / "r").records()]
    assert sorted(stored, key=lambda key: key.digest) == sorted(experiment.run_keys, key=lambda key: key.digest)
    assert stored[0].resolved.shares_cell(stored[1].resolved)


@pytest.mark.parametrize("keep", ["summary", "series", "all"])
def test_the_estimate_of_the_disk_is_within_a_factor_of_three(tmp_path: Path, keep: str) -> None:
    experiment = sojourn.Experiment.dumbbell(flows=["cubic", "reno"], seeds=20, duration="10s")
    keys = [replace(key, keep=keep) for key in experiment.run_keys]
    runner.Campaign(keys=keys, folder=tmp_path / "r").run()
    foreseen = runner.needs(keys, engine="sim", threads=1).disk_bytes
    found = sum(file.stat().st_size for file in segments(tmp_path / "r"))
    assert found / 3 < foreseen < found * 3
