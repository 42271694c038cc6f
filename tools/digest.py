"""Digests every table of every suite, one seed, and compares with the record.

    make digest                       # exits with status 1 and names the tables that differ
    make digest ARGS=--write          # writes the record again, after an intended change of behaviour
    make digest ARGS='--only l4s-tests/s1 --only parity'

A table's digest is of its values alone, bit for bit: a change of code that keeps behaviour keeps every line. The
record, `tests/golden/digests.txt`, has a line a run: its label, then each table with the first eight digits of its
SHA-256. The golden cells have theirs next to their tables (`tests/golden/*.digests.txt`), which
`cargo test -p sojourn-sim` compares.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.experiments import experiment, library

RECORD: Final = Path(__file__).parent.parent / "tests" / "golden" / "digests.txt"
SHOWN: Final = 40
FOREIGN: Final = frozenset({"quic"})
"""Suites of others' implementations, which use the platform's mathematics: no record holds for all machines."""


def digests(only: list[str], threads: int) -> dict[str, str]:
    """Return a line of digests for every cell of the suites, by its label."""
    labels, scenarios = [], []
    for suite, files in library.suites().items():
        if suite in FOREIGN:
            continue
        for name, file in files.items():
            if only and not any(o in {f"{suite}/{name}", suite} for o in only):
                continue
            for key in experiment.load(file, seeds=1, yes=True).run_keys:
                labels.append(f"{suite}/{name} {key.label.replace(' ', '_')}")
                scenarios.append(key.resolved)
    lines: dict[str, str] = {}

    def done(index: int, run: object) -> None:
        if not isinstance(run, _core.Run):
            lines[labels[index]] = f"failed: {run}"
            return
        lines[labels[index]] = " ".join(f"{table}={digest[:8]}" for table, digest in sorted(run.digests()))

    # What an engine refuses whole (suites for Linux alone) has no digest.
    wanted = [i for i, s in enumerate(scenarios) if not _core.refusals([s])]
    labels, scenarios = [labels[i] for i in wanted], [scenarios[i] for i in wanted]
    _core.run_many(scenarios, threads=threads, on_done=done)
    return lines


def differences(was: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return what differs, a line a run, with the tables that do."""
    said = []
    for label, line in now.items():
        before = was.get(label)
        if before is None:
            said.append(f"{label}: not in the record")
        elif before != line:
            old = dict(word.partition("=")[::2] for word in before.split())
            new = dict(word.partition("=")[::2] for word in line.split())
            tables = [t for t in sorted({*old, *new}) if old.get(t) != new.get(t)]
            said.append(f"{label}: {', '.join(tables)}")
    return said


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="SUITE[/SCENARIO]", help="only these")
    parser.add_argument("--write", action="store_true", help="write the record again")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    now = digests(options.only, options.threads)
    was = dict(line.rsplit(" | ", 1) for line in RECORD.read_text().splitlines()) if RECORD.exists() else {}
    if options.write:
        RECORD.write_text("".join(f"{label} | {line}\n" for label, line in sorted({**was, **now}.items())))
        sys.stdout.write(f"wrote {len(now)} runs to {RECORD}\n")
        return 0
    said = differences(was, now)
    if not options.only:
        said += [f"{label}: in the record, not run" for label in was if label not in now]
    if said:
        more = len(said) - SHOWN
        sys.stdout.write("\n".join(said[:SHOWN]) + (f"\nand {more} more" if more > 0 else "") + "\n")
    sys.stdout.write(f"{len(now)} runs, {len(said)} differ from the record\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
