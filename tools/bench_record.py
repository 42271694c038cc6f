"""Compares the benchmark that was just run with the record, by ratios that do not depend on the machine.

    make bench                        # measures, writes target/bench.json, prints this comparison
    make bench RECORD=--write         # the measured numbers become the record, benches/record.json

Packets per CPU-second are a machine's; how they compare with a bare loop of the same packets is mostly the program's.
So each scenario is compared by its ratio to the bare loop, or, where a file has none, by its rate over A's. Peak
memory is compared as it is. Nothing here fails: a difference is for a person to judge, on an idle machine, and the
layout of the compiled code alone moves a ratio by some 4 % either way (docs/performance.md).
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
RECORD: Final = ROOT / "benches" / "record.json"
MEASURED: Final = ROOT / "target" / "bench.json"
RATIO: Final = "ratio_to_bare"
RATE: Final = "packets_per_cpu_second"
# The row that others are compared with where there is no ratio to the bare loop.
REFERENCE: Final = "A"
# Beyond this a row is pointed at: more than the compiler's layout moves by itself.
NOTICED: Final = 0.05

Row = Mapping[str, float]


def read(file: Path) -> dict[str, Row]:
    """Return the rows of a file by their scenario.

    Raises:
        SystemExit: if there is no such file, or it is not what the benchmark writes.
    """
    try:
        rows = json.loads(file.read_text())
        return {row["scenario"]: {k: float(v) for k, v in row.items() if k != "scenario"} for row in rows}
    except OSError as error:
        raise SystemExit(f"error: {file}: {error.strerror}; `make bench` writes it") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"error: {file} is not what the benchmark writes: {error}") from error


def ratios(name: str, was: Mapping[str, Row], now: Mapping[str, Row]) -> tuple[float, float]:
    """Return a scenario's ratio in the record and now.

    Raises:
        SystemExit: if neither that to the bare loop nor that to the reference is in both.
    """
    if RATIO in was[name] and RATIO in now[name]:
        return was[name][RATIO], now[name][RATIO]
    if REFERENCE not in was or REFERENCE not in now:
        raise SystemExit(f"error: {name} has no {RATIO}, and there is no {REFERENCE} in both files")
    return was[name][RATE] / was[REFERENCE][RATE], now[name][RATE] / now[REFERENCE][RATE]


def comparison(was: Mapping[str, Row], now: Mapping[str, Row]) -> list[str]:
    """Return the comparison, a line of a Markdown table a scenario."""
    lines = [
        "| scenario | ratio: record | now | change | peak MB: record | now | change |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in [*was, *(n for n in now if n not in was)]:
        if name not in now or name not in was:
            lines.append(f"| {name} | {'not measured now' if name in was else 'not in the record'} | | | | | |")
            continue
        old, new = ratios(name, was, now)
        held, holds = was[name]["peak_rss_mb"], now[name]["peak_rss_mb"]
        rate, memory = new / old - 1, holds / held - 1
        mark = " **look**" if rate < -NOTICED or memory > NOTICED else ""
        lines.append(
            f"| {name} | {old:.3f} | {new:.3f} | {rate:+.1%} | {held:.1f} | {holds:.1f} | {memory:+.1%}{mark} |"
        )
    return lines


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, default=RECORD, metavar="FILE.json")
    parser.add_argument("--measured", type=Path, default=MEASURED, metavar="FILE.json")
    parser.add_argument("--write", action="store_true", help="make what was measured the record")
    options = parser.parse_args()
    now = read(options.measured)
    if options.write:
        lines = ",\n  ".join(json.dumps({"scenario": name, **row}) for name, row in now.items())
        options.record.write_text(f"[\n  {lines}\n]\n")
        sys.stdout.write(f"wrote {len(now)} scenarios to {options.record}\n")
        return 0
    sys.stdout.write("\n".join(comparison(read(options.record), now)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
