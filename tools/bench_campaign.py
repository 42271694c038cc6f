"""Measures what a campaign costs besides simulating: CPU, disk and memory of whole commands.

    make bench-campaign               # prints the table that docs/performance.md has, and compares with the record
    make bench-campaign RECORD=--write

Each command runs in a process of its own, and the same runs are simulated in this process with nothing kept. Both are
timed by CPU seconds (``resource``), alternately, and the median of the differences counts: the load of the machine
then matters little. The record, ``benches/campaign.json``, has the medians of one machine.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.experiments.experiment import load

ROOT: Final = Path(__file__).parent.parent
RECORD: Final = ROOT / "benches" / "campaign.json"

TWO: Final = """
[experiment]
name = "two"
duration = "{seconds}s"
[[hop]]
name = "bottleneck"
rate = "50mbit"
rtt = "20ms"
qdisc = "fq_codel"
[[flow]]
name = "one"
cc = "cubic"
[[flow]]
name = "two"
cc = "cubic"
"""
"""Two CUBIC flows through fq_codel: benchmark A, for two seconds or for sixty."""


def cpu(who: int) -> float:
    """Return the CPU seconds of this process or of those that it has waited for."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def command(*words: str) -> tuple[float, float, float]:
    """Run a command; return its CPU seconds, wall seconds and peak memory in MB."""
    began = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "sojourn", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"error: sojourn {' '.join(words)} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss / 1024


def bare(file: Path, seeds: int) -> float:
    """Simulate the same runs in this process and keep nothing; return the CPU seconds."""
    resolved = [key.resolved for key in load(file, seeds=seeds).run_keys]
    before = cpu(resource.RUSAGE_SELF)
    _core.run_many(resolved, threads=1, on_done=lambda *_: None)
    return cpu(resource.RUSAGE_SELF) - before


def size(folder: Path) -> tuple[int, int]:
    """Return the bytes of a folder's files, and how many files it has."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files), len(files)


def keeping(place: Path, keep: str, seconds: int, seeds: int, rounds: int) -> dict[str, float]:
    """Measure ``sojourn run`` with this number of runs, and with one for its start."""
    file = place / f"two-{seconds}.toml"
    file.write_text(TWO.format(seconds=seconds))
    extra, ratios, room, files, most = [], [], 0, 0, 0.0
    for number in range(rounds):
        target = place / f"{keep}-{seconds}-{number}"
        words = ("run", str(file), "--keep", keep, "--threads", "1", "-q")
        one, _, _ = command(*words, "--seeds", "1", "-o", f"{target}-one")
        all_, _, most = command(*words, "--seeds", str(seeds), "-o", str(target))
        simulating = bare(file, seeds)
        extra.append((all_ - one - simulating * (seeds - 1) / seeds) / (seeds - 1))
        ratios.append(all_ / simulating)
        room, files = size(target)
    return {
        "extra_ms": statistics.median(extra) * 1e3,
        "ratio": statistics.median(ratios),
        "bytes": room / seeds,
        "files": files,
        "peak_mb": most,
    }


def starting(words: Sequence[str], rounds: int) -> dict[str, float]:
    """Measure a short command."""
    return {"cpu_s": statistics.median(command(*words)[0] for _ in range(rounds))}


def main() -> None:
    """Measure, print, and write the record if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="the measured numbers become the record")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for keep in ("summary", "series", "all"):
            found[f"2 s, {keep}"] = keeping(Path(place), keep, 2, asked.seeds, asked.rounds)
        for seeds in (40, 200):
            found[f"60 s, {seeds} runs"] = keeping(Path(place), "series", 60, seeds, asked.rounds)
        found["--version"] = starting(["--version"], 5)
        found["try cubic"] = starting(["try", "cubic"], 3)
        one = Path(place) / "one.toml"
        one.write_text(TWO.format(seconds=2))
        found["run of one"] = starting(["run", str(one), "--seeds", "1", "-q", "-o", f"{place}/one"], 3)
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name, row in found.items():
        for what, value in row.items():
            was = known.get(name, {}).get(what)
            sys.stdout.write(f"{name:14} {what:10} {value:12.3f}{'' if was is None else f'   record {was:12.3f}'}\n")
    if asked.write:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
