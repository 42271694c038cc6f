"""Fills the disk at every write of a command that stores runs, and checks the folder afterwards.

    python tests/cluster/full.py FOLDER [STEP]

For each size of a file system in memory, from nothing to more than the runs need (STEP kB apart, 4 by default), a
command in a mount namespace of its own stores runs there until the disk is full: by threads, by a merge, by a
conversion. It must report the full disk. Then the file system grows: the runs that were stored are whole, and the
same command stores the others, with the bits of an undisturbed folder. The program exits with 1 and names the fault.
It needs unshare(1) and user namespaces.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from kills import EXPERIMENT, prepare, runs, ways, whole

from sojourn.errors import StoreError

ENOUGH_KB: Final = 64 * 1024

WAYS: Final = ("threads", "merge", "convert")


def filled(name: str, place: Path, size_kb: int) -> str:
    """Store runs on a file system of this size; return what happened, for the count."""
    disk = place / "disk"
    mount("-t", "tmpfs", "-o", f"size={size_kb}k", "none", str(disk))
    way = ways(place / "killed.toml", place)[name]
    folder, outcome = disk / "runs", "enough"
    try:
        way(folder)
    except StoreError as error:
        # The kernel refuses a folder in another word: "No space left on device".
        if "the disk is full" not in error.message and "No space left" not in error.message:
            raise
        outcome = f"full after {len(runs(folder))} runs"
    mount("-o", f"remount,size={ENOUGH_KB}k", str(disk))
    whole(folder)
    way(folder)
    whole(folder)
    if runs(folder) != runs(place / name):
        raise SystemExit("the folder is not what an undisturbed command makes")
    return outcome


def mount(*words: str) -> None:
    """Call mount(8)."""
    subprocess.run(["mount", *words], check=True)  # noqa: S607 - the system's


def main(place: Path, step_kb: int) -> str:
    """Return the fault; an empty text if there is none."""
    (place / "disk").mkdir(parents=True)
    (place / "killed.toml").write_text(EXPERIMENT)
    prepare(place / "killed.toml", place)
    for name in WAYS:
        ways(place / "killed.toml", place)[name](place / name)
        needed = sum(file.stat().st_size for file in (place / name).rglob("*"))
        outcomes: list[str] = []
        for size_kb in range(step_kb, needed // 1024 + 8 * step_kb, step_kb):
            words = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, __file__, str(place)]
            done = subprocess.run([*words, name, str(size_kb)], capture_output=True, text=True, check=False)
            if done.returncode:
                return f"{name}, {size_kb} kB: {done.stderr}"
            outcomes.append(done.stdout.strip())
        if len(set(outcomes)) < 3:
            return f"{name}: the disk was never full between two runs"
        full = len(outcomes) - outcomes.count("enough")
        sys.stdout.write(
            f"{name}: full at {full} of {len(outcomes)} sizes, reported each time, nothing stored was lost\n"
        )
    return ""


if __name__ == "__main__":
    place, *rest = sys.argv[1:]
    if len(rest) > 1:
        sys.stdout.write(filled(rest[0], Path(place), int(rest[1])))
    else:
        sys.exit(main(Path(place), int(rest[0]) if rest else 4) or 0)
