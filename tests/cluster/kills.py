"""Kills a command that stores runs, at random moments, and asks after each what the folder is worth.

    python tests/cluster/kills.py KILLS FOLDER [SEED]

Of every kill: no run that was there before is gone, every file of every run is as it was written, and the next command
goes on without repair. A folder that is complete is compared with one that nobody disturbed, to the bit, and a new one
is begun. Exits with 1 and names what is wrong. A process that has imported everything forks those that are killed, so
that kills fall into the work and not into the start.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from sojourn import runner
from sojourn.core.store import Folder
from sojourn.core.store.verify import damages
from sojourn.experiments.experiment import load

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


def campaign(file: Path, folder: Path) -> None:
    """Make what the folder lacks."""
    runner.Campaign(keys=load(file).run_keys, folder=folder, threads=2, command="kills").run()


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


def main(kills: int, place: Path, seed: int) -> str:
    """Return what went wrong; nothing if nothing did."""
    draw = random.Random(seed)  # noqa: S311 - moments, not secrets
    place.mkdir(parents=True, exist_ok=True)
    file = place / "killed.toml"
    file.write_text(EXPERIMENT)
    began = time.monotonic()
    if not succeeded(partial(campaign, file, place / "undisturbed")):
        return "the campaign cannot be run"
    takes = time.monotonic() - began
    expected = runs(place / "undisturbed")
    number, before, done = 0, set[str](), 0
    while done < kills:
        folder = place / f"killed-{number}"
        pid = child(partial(campaign, file, folder))
        time.sleep(draw.uniform(0.0, takes / 2))
        os.kill(pid, signal.SIGKILL)
        ended = os.waitpid(pid, 0)[1]
        done += ended == signal.SIGKILL
        there = set(runs(folder))
        if wrong := _wrong(folder, ended, before - there):
            return f"kill {done}: {wrong}"
        before = there
        if len(there) == len(expected):
            if runs(folder) != expected:
                return f"{folder} is not what an undisturbed command makes"
            number, before = number + 1, set()
    if not succeeded(partial(campaign, file, folder)) or runs(folder) != expected:
        return f"{folder} is not what an undisturbed command makes"
    sys.stdout.write(f"{done} kills, {number} campaigns that were complete between them: nothing lost, nothing torn\n")
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
