"""A campaign on Dask with faults, compared with an undisturbed one.

    python tests/cluster/faults.py RUNS FOLDER [--every SECONDS] [--faults KIND,...]

Two workers, in turn; every few seconds (default: 4) the next fault of the list, over and over:

- ``kill``: a worker is killed with SIGKILL and started again;
- ``restart``: the scheduler is;
- ``stop``: a worker stops for three intervals (SIGSTOP), as on a machine that swaps;
- ``cut``: the second worker's network is down for as long. Neither end gets notice of it;
- ``partition``: it is down until both ends have given the other up.

The second worker has a network namespace of its own, at the other end of a pair of devices. For that the program starts
itself again in namespaces of this user's; where the machine has none, it says so and does without ``cut`` and
``partition``. Exits with 1 if a run is missing or has other bits than the undisturbed one.
"""

import argparse
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from sojourn.core.store import Folder

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


def stored(folder: Path) -> Mapping[str, object]:
    """Return head and digests of every run; the command that asked for it is no part of a run."""
    return {own.name: ({**own.head, "command": ""}, own.results().digests()) for own in Folder.open(folder).records()}


def begun(folder: Path) -> bool:
    """Whether a run is in the folder, which a command may be writing."""
    return (folder / "manifest.json").exists() and len(Folder.open(folder).store) > 0


HERE: Final = "10.99.0.1"
"""Where the scheduler, the first worker and the command are; the second worker is at the other end of a cable."""

OWN: Final = "SOJOURN_FAULTS_OWN_NETWORK"
"""Set where the program has a network of its own."""

GIVEN_UP_S: Final = 45.0
"""After this Dask has given a silent connection up (``distributed.comm.timeouts.tcp``, 30 s)."""


class Cable:
    """The second worker's network."""

    def __init__(self) -> None:
        words = ["unshare", "--net", "sleep", "infinity"]
        self._holder = subprocess.Popen(words)
        time.sleep(0.5)
        self.inside: Final = ["nsenter", f"--target={self._holder.pid}", "--net", "--"]
        for words in (
            f"ip link add near type veth peer name far netns {self._holder.pid}",
            f"ip address add {HERE}/24 dev near",
            "ip link set near up",
        ):
            subprocess.run(words.split(), check=True)
        for words in ("ip address add 10.99.0.2/24 dev far", "ip link set far up", "ip link set lo up"):
            subprocess.run([*self.inside, *words.split()], check=True)

    def plugged(self, state: str) -> None:
        """Pull it out (``down``), or put it in (``up``)."""
        subprocess.run(f"ip link set near {state}".split(), check=True)

    def close(self) -> None:
        """Leave nothing."""
        self._holder.kill()
        self._holder.wait()


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

    def send(self, number: signal.Signals) -> None:
        """Send all of it a signal."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Lab:
    """A scheduler and two workers of Dask, and the command that uses them."""

    def __init__(self, place: Path, sojourn: Sequence[str], cable: Cable | None) -> None:
        host = HERE if cable else "127.0.0.1"
        with socket.socket() as free:
            free.bind((host, 0))
            port = free.getsockname()[1]
        dask = [sys.executable, "-m", "dask"]
        words = [*dask, "scheduler", "--host", host, "--port", str(port), "--no-dashboard"]
        self._cable = cable
        self._scheduler = Process(words, place / "scheduler.log")
        self.workers = []
        for name, inside in (("one", []), ("two", cable.inside if cable else [])):
            words = [*dask, "worker", f"tcp://{host}:{port}", "--nthreads", "1", "--no-dashboard"]
            words += ["--local-directory", str(place / name)]
            self.workers.append(Process([*inside, *words], place / f"{name}.log"))
        # A fault before a worker has work disturbs nothing.
        end = time.monotonic() + 120
        while not all("Registered to" in (place / f"{name}.log").read_text() for name in ("one", "two")):
            if time.monotonic() > end:
                for process in (*self.workers, self._scheduler):
                    process.kill()
                raise SystemExit(f"a worker does not start; see {place}")
            time.sleep(0.1)
        words = [*sojourn, "-o", str(place / "disturbed"), "--on", f"dask://{host}:{port}"]
        self.asking = Process(words, place / "run.log")

    def rest(self, seconds: float) -> None:
        """Let it work for so long, or until the command has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.asking.ended():
            for worker in self.workers:
                # A worker ends with its scheduler; whoever keeps one running starts it again.
                if worker.ended():
                    worker.start()
            time.sleep(0.2)

    def suffer(self, kind: str, hit: Process, every: float) -> None:
        """Do one fault, to this worker."""
        if kind == "kill":
            hit.kill()
        elif kind == "restart":
            self._scheduler.kill()
            self._scheduler.start()
        elif kind == "stop":
            hit.send(signal.SIGSTOP)
            self.rest(3 * every)
            hit.send(signal.SIGCONT)
        elif self._cable:
            self._cable.plugged("down")
            self.rest(3 * every if kind == "cut" else GIVEN_UP_S)
            self._cable.plugged("up")

    def close(self) -> None:
        """End all of it."""
        for process in (self.asking, *self.workers, self._scheduler):
            process.kill()


def main(runs: int, place: Path, every: float, kinds: Sequence[str], cable: Cable | None) -> str:
    """Return what went wrong; nothing if nothing did."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / "disturbed.toml"
    file.write_text(EXPERIMENT.replace("SEEDS", str(runs)))
    sojourn = [sys.executable, "-m", "sojourn", "-q", "run", str(file)]
    began = time.monotonic()
    subprocess.run([*sojourn, "-o", str(place / "undisturbed")], check=True, stdout=subprocess.DEVNULL)
    alone_s = time.monotonic() - began
    began = time.monotonic()
    lab = Lab(place, sojourn, cable)
    count = dict.fromkeys(kinds, 0)
    try:
        # There is nothing to disturb before.
        while not lab.asking.ended() and not begun(place / "disturbed"):
            time.sleep(0.1)
        for kind, hit in zip(itertools.cycle(kinds), itertools.cycle(lab.workers), strict=False):
            if lab.asking.ended():
                break
            count[kind] += 1
            lab.suffer(kind, hit, every)
            lab.rest(every)
    finally:
        lab.close()
    took_s = time.monotonic() - began
    if stored(place / "disturbed") != stored(place / "undisturbed"):
        return f"{place / 'disturbed'} is not what an undisturbed command makes; see {place / 'run.log'}"
    faults = ", ".join(f"{number} {kind}" for kind, number in count.items())
    sys.stdout.write(
        f"{runs} runs among {faults}: the same store to the bit; "
        f"{took_s:.0f} s, undisturbed and without Dask {alone_s:.0f} s\n"
    )
    return ""


def own_network() -> None:
    """Start this program again in a network of its own, where that can be had."""
    enter = ["unshare", "--user", "--map-root-user", "--net", "--"]
    ready = ["sh", "-c", "ip link set lo up && unshare --net true"]
    have = all(shutil.which(name) for name in ("unshare", "nsenter", "ip"))
    if have and subprocess.run([*enter, *ready], check=False, stderr=subprocess.DEVNULL).returncode == 0:
        command = [*enter, "sh", "-c", 'ip link set lo up; exec "$@"', "sh", sys.executable, *sys.argv]
        os.execvpe(command[0], command, {**os.environ, OWN: "1"})  # noqa: S606 - this very program


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=int)
    parser.add_argument("place", type=Path)
    parser.add_argument("--every", type=float, default=4.0)
    parser.add_argument("--faults", default="kill,cut,stop,restart,kill,partition")
    asked = parser.parse_args()
    if OWN not in os.environ:
        own_network()
    kinds = asked.faults.split(",")
    cable = Cable() if OWN in os.environ else None
    if cable is None:
        sys.stdout.write("This machine has no namespaces for its users: no network is cut. ")
        kinds = [kind for kind in kinds if kind not in {"cut", "partition"}]
    try:
        wrong = main(asked.runs, asked.place, asked.every, kinds, cable)
    finally:
        if cable:
            cable.close()
    sys.exit(wrong or 0)
