"""A campaign on Dask while workers are killed and the scheduler is restarted, beside one that nobody disturbs.

    python tests/cluster/faults.py RUNS FOLDER [EVERY]

Two workers; every EVERY seconds (4 unless given) one of them is killed with SIGKILL and started again, and each fourth
time the scheduler is, too. Exits with 1 if a run is missing or has other bits than the undisturbed one.
"""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

EXPERIMENT: Final = """
[experiment]
name = "disturbed"
seeds = SEEDS
duration = "20s"

[[hop]]
name = "bottleneck"
rate = "20mbit"
rtt = "10ms"
qdisc = "fq_codel"

[[flow]]
name = "one"
cc = "cubic"
"""


def stored(folder: Path) -> Mapping[str, str]:
    """Return the digest of every file of every run; the command that asked for it is no part of a run."""
    found = {}
    for file in (folder / "runs").glob("[!.]*/*"):
        content = file.read_bytes()
        if file.name == "scenario.json":
            content = json.dumps({**json.loads(content), "command": ""}).encode()
        found[f"{file.parent.name}/{file.name}"] = hashlib.sha256(content).hexdigest()
    return found


class Process:
    """A program with all that it starts."""

    def __init__(self, words: Sequence[str], log: Path) -> None:
        self._words = words
        self._log = log
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._words, stdout=log, stderr=log, start_new_session=True)

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def main(runs: int, place: Path, every: float) -> str:
    """Return what went wrong; nothing if nothing did."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / "disturbed.toml"
    file.write_text(EXPERIMENT.replace("SEEDS", str(runs)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    sojourn = [sys.executable, "-m", "sojourn", "-q", "run", str(file)]
    began = time.monotonic()
    subprocess.run([*sojourn, "-o", str(place / "undisturbed")], check=True, stdout=subprocess.DEVNULL)
    alone_s = time.monotonic() - began
    dask = [sys.executable, "-m", "dask"]
    at = f"tcp://127.0.0.1:{port}"
    scheduler = Process(
        [*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], place / "scheduler.log"
    )
    workers = [
        Process(
            [*dask, "worker", at, "--nthreads", "1", "--no-dashboard", "--local-directory", str(place / name)],
            place / f"{name}.log",
        )
        for name in ("one", "two")
    ]
    began = time.monotonic()
    asking = Process([*sojourn, "-o", str(place / "disturbed"), "--on", f"dask://127.0.0.1:{port}"], place / "run.log")
    # There is nothing to disturb before.
    while not asking.ended() and not any((place / "disturbed" / "runs").glob("[!.]*")):
        time.sleep(0.1)
    faults = restarts = 0
    try:
        while not asking.ended():
            faults += 1
            hit = workers[faults % 2]
            hit.kill()
            if faults % 4 == 0:
                restarts += 1
                scheduler.kill()
                scheduler.start()
            hit.start()
            for worker in workers:
                # A worker ends with its scheduler; whoever keeps one running starts it again.
                if worker.ended():
                    worker.start()
            time.sleep(every)
    finally:
        for process in (asking, *workers, scheduler):
            process.kill()
    took_s = time.monotonic() - began
    if stored(place / "disturbed") != stored(place / "undisturbed"):
        return f"{place / 'disturbed'} is not what an undisturbed command makes; see {place / 'run.log'}"
    sys.stdout.write(
        f"{runs} runs, {faults} workers killed, {restarts} restarts of the scheduler: the same store to the bit; "
        f"{took_s:.0f} s, undisturbed and without Dask {alone_s:.0f} s\n"
    )
    return ""


if __name__ == "__main__":
    wrong = main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 4.0)
    sys.exit(wrong or 0)
