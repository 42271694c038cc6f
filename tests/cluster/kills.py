"""Kills commands that write results folders, at random moments, and checks each folder afterwards.

    python tests/cluster/kills.py KILLS FOLDER [SEED]

The kills are spread over the ways to write: runs by threads, runs by other processes, two commands at a time in one
folder, a merge of two shards, a conversion of an older folder. After each kill no earlier run is gone, every run is
as it was written, and the next command goes on without a repair. The program compares each complete folder with one
that was written without kills, to the bit, and begins a new one. It exits with 1 and names the fault. A process that
has imported everything forks the processes that are killed, so that kills hit the work and not the start.
``faults.py`` does the same with Dask.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from sojourn import runner
from sojourn.core.store import Folder
from sojourn.core.store.convert import convert
from sojourn.core.store.merge import merge
from sojourn.core.store.verify import damages
from sojourn.errors import StoreError
from sojourn.experiments.experiment import load
from sojourn.runner.shard import Shard
from sojourn.views.run import Run

EXPERIMENT: Final = """
[experiment]
name = "killed"
seeds = 8
duration = "1s"

[[hop]]
name = "bottleneck"
rate = "2mbit"
rtt = "10ms"
qdisc = "fq_codel"

[[flow]]
name = "one"
cc = "cubic"
"""


Way = Callable[[Path], None]
"""Writes what a folder lacks."""


def campaign(file: Path, folder: Path, *, on: str | None = None, shard: str | None = None) -> None:
    """Make the runs that the folder lacks."""
    keys = load(file).run_keys if shard is None else Shard.parse(shard).part(load(file).run_keys)
    runner.Campaign(keys=keys, folder=folder, threads=2, on=on, command="kills").run()


def two_commands(file: Path, folder: Path) -> None:
    """Make the runs with two commands at a time: the one that finds the folder locked gives up, as a user's would."""
    if os.fork() == 0:
        try:
            time.sleep(0.01)
            campaign(file, folder)
        finally:
            os._exit(0)
    with suppress(StoreError):
        campaign(file, folder)
    os.wait()
    campaign(file, folder)


def older(results: Sequence[Run], place: Path) -> None:
    """Write a folder as Sojourn 0.2 did: a folder a run, with a Parquet file a table."""
    place.mkdir()
    version = "0.2.0+x"
    (place / "manifest.json").write_text(json.dumps({"format": 2, "version": version, "command": "kills"}))
    for run in results:
        folder = place / "runs" / f"{run.seed}"
        folder.mkdir(parents=True)
        tables: dict[str, dict[str, object]] = {}
        for name in run.tables:
            file = folder / f"{name}.parquet"
            run.table(name).write_parquet(file)
            tables[name] = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        head = {"engine": "sim", "version": version, "command": "kills", "tables": tables, "scenario": run.scenario}
        (folder / "scenario.json").write_text(json.dumps(head))


def converted(place: Path, folder: Path) -> None:
    """Convert the runs of an older folder, into a new one: a conversion that was killed begins again."""
    failures: list[StoreError] = []
    convert(place, folder, command="kills", failed=failures.append)
    if failures:
        raise failures[0]


def prepare(file: Path, place: Path) -> None:
    """Make the folders that a merge and a conversion read."""
    for number in (1, 2):
        campaign(file, place / f"shard-{number}", shard=f"{number}/2")
    older(runner.Campaign(keys=load(file).run_keys).run(), place / "older")


def ways(file: Path, place: Path) -> Mapping[str, Way]:
    """Return the ways to write a folder, by name."""
    shards = [place / f"shard-{number}" for number in (1, 2)]
    return {
        "threads": partial(campaign, file),
        "processes": partial(campaign, file, on="processes:2"),
        "two commands": partial(two_commands, file),
        "merge": lambda folder: void(merge(shards, folder, command="kills")),
        "convert": partial(converted, place / "older"),
    }


def void(_: object) -> None:
    """Drop what a function returns."""


def whole(folder: Path) -> None:
    """Fail if a file is not as it was written."""
    if (folder / "manifest.json").exists():
        for damage in damages(Folder.open(folder)):
            raise SystemExit(damage.message)


def child(does: Callable[[], None]) -> int:
    """Start a process that does this; return its number."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            # Its own children die with it.
            os.setpgid(0, 0)
            does()
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    return pid


def succeeded(does: Callable[[], None]) -> bool:
    """Whether a process that does this ends well."""
    return os.waitpid(child(does), 0)[1] == 0


def runs(folder: Path) -> Mapping[str, object]:
    """Return head and digests of every run that readers see."""
    if not (folder / "manifest.json").exists():
        return {}
    return {own.name: (own.head, own.results().digests()) for own in Folder.open(folder).records()}


def killed(way: Way, kills: int, place: Path, draw: random.Random) -> tuple[int, str]:
    """Kill commands that write in this way; return how many folders became complete, and the fault, if there is one."""
    place.mkdir()
    began = time.monotonic()
    if not succeeded(partial(way, place / "undisturbed")):
        return 0, "the command fails without a kill"
    takes = time.monotonic() - began
    expected = runs(place / "undisturbed")
    number, before, done = 0, set[str](), 0
    while True:
        folder = place / f"killed-{number}"
        if done == kills:
            well = succeeded(partial(way, folder)) and runs(folder) == expected
            return number, "" if well else f"{folder} is not what an undisturbed command makes"
        pid = child(partial(way, folder))
        time.sleep(draw.uniform(0.0, takes * 0.7))
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        ended = os.waitpid(pid, 0)[1]
        done += ended == signal.SIGKILL
        there = set(runs(folder))
        if wrong := _wrong(folder, ended, before - there):
            return number, f"kill {done}: {wrong}"
        before = there
        if len(there) == len(expected):
            if runs(folder) != expected:
                return number, f"{folder} is not what an undisturbed command makes"
            number, before = number + 1, set()


def main(kills: int, place: Path, seed: int) -> str:
    """Return the fault; an empty text if there is none."""
    draw = random.Random(seed)  # noqa: S311 - moments, not secrets
    place.mkdir(parents=True, exist_ok=True)
    file = place / "killed.toml"
    file.write_text(EXPERIMENT)
    # A process with threads must not fork, so a child makes the folders.
    if not succeeded(partial(prepare, file, place)):
        return "the folders to read cannot be made"
    complete, all_ways = 0, ways(file, place)
    for number, (name, way) in enumerate(all_ways.items()):
        share = kills // len(all_ways) + (number < kills % len(all_ways))
        found, wrong = killed(way, share, place / name.replace(" ", "-"), draw)
        if wrong:
            return f"{name}: {wrong}"
        complete += found
        sys.stdout.write(f"{name}: {share} kills, {found} complete folders\n")
    sys.stdout.write(f"{kills} kills, {complete} complete folders between them: nothing lost, nothing torn\n")
    return ""


def _wrong(folder: Path, ended: int, lost: set[str]) -> str:
    if ended not in {0, signal.SIGKILL}:
        return f"the command does not go on in {folder}"
    if lost:
        return f"lost {sorted(lost)[:3]} of {folder}"
    return "" if succeeded(partial(whole, folder)) else f"damaged {folder}"


if __name__ == "__main__":
    wrong = main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    sys.exit(wrong or 0)
