"""Compares every published table with runs of one build, and writes the results as CSV files to docs/validation.

    make validation PUBLISHED=where/the/tables/are [LINUX="a/folder another"]

Each published table (:data:`TABLES`) names its suites. The tool first makes the runs that the results folder lacks,
with the suites' own number of seeds or the table's. The site build makes pages of the files (tools/site_tables.py).
"""

import argparse
import csv
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn.evidence.validation import Judged, Noise, against, read_published, summarise, totals
from sojourn.evidence.validation.markdown import summary_rows, totals_rows, values_rows
from sojourn.experiments import library

FOLDER: Final = Path(__file__).parent.parent / "docs" / "validation"
NOISE: Final = "s1_replicate_noise.csv"


@dataclass(frozen=True, slots=True)
class Entry:
    """A published table and the suites to run for it."""

    page: str
    title: str
    table: str
    suites: Sequence[str]
    about: str
    same_runs_as: str = ""
    """The page of another table of the same runs. The totals have its rates, so that a run counts once."""
    chosen_on: Callable[[Judged], bool] = lambda _: False
    """Which of its rows a mechanism or a stack was chosen on, as docs/truth.md has them."""
    seeds: int | None = None
    """More than the suites' own, where runs scatter so that the ends of ten say little of the central 95 %: they
    contain one more run of the same kind in 79 of 100 cases, those of 40 in 90."""


def _chosen_in_the_rerun(judged: Judged) -> bool:
    """Return whether we chose a mechanism by the windows of this row, second by second."""
    row = judged.row
    rtt = row.senders[0].rtt_ms
    if any("netem" in text for text in row.besides):
        # ACE fields that are taken for the least: the rows behind jitter.
        return "slot" not in " ".join(row.besides)
    if len(row.senders) == 1:
        # The threshold that April's Prague begins a reduction with: 5 Mbit/s at 80 and 160 ms.
        return row.rate_mbit == 5 and rtt >= 80  # noqa: PLR2004
    # The send buffer's 2304 bytes a segment: slow starts at 80 and 160 ms. netperf's dialogue: the FIFO of 1000.
    # Small queues that nobody wakes: CoDel of 1 ms.
    return rtt >= 80 or row.queue in {"pfifo(1000)", "codel1q(20ms)"}  # noqa: PLR2004


TABLES: Final = (
    Entry(
        "s1",
        "Scenario 1: RTT fairness",
        "s1_50mbit.csv",
        ["l4s-tests/s1"],
        "the 96 rows at 50 Mbit/s",
    ),
    Entry(
        "s6",
        "Scenario 6: one RFC 3168 queue",
        "s6_default.csv",
        ["l4s-tests/s6"],
        "Prague against CUBIC and Reno",
        # What the application writes, and when.
        chosen_on=lambda _: True,
        seeds=40,
    ),
    Entry(
        "ect1",
        "The ECT(1) re-run, by `ss`",
        "ect1.csv",
        [f"sce-l4s-ect1-rerun/s{number}" for number in (1, 2, 5, 6)],
        "one flow, two flows, bursts, jitter",
        chosen_on=_chosen_in_the_rerun,
        seeds=40,
    ),
    Entry(
        "ect1_pcap",
        "The ECT(1) re-run, by captures",
        "ect1_pcap.csv",
        [f"sce-l4s-ect1-rerun/s{number}" for number in (1, 2, 5, 6)],
        "goodput, marks, true queue delay",
        same_runs_as="ect1",
    ),
    Entry(
        "ect1_phases",
        "The ECT(1) re-run, phase by phase",
        "ect1_phases.csv",
        ["sce-l4s-ect1-rerun/s3", "sce-l4s-ect1-rerun/s4"],
        "the bottleneck is another one for a while, or slower",
    ),
    Entry(
        "iccrg",
        "ICCRG",
        "iccrg.csv",
        ["iccrg"],
        "20 to 500 Mbit/s; not CUBIC at 500 Mbit/s and 80 ms, which its receive window limits",
        # Which text of Prague the bed had, and that it sent single packets; that iperf3 writes 128 kB at a time:
        # CUBIC at 500 Mbit/s and 40 ms.
        chosen_on=lambda judged: (
            any(sender.cc == "prague" for sender in judged.row.senders)
            or (judged.row.rate_mbit == 500 and judged.row.senders[0].rtt_ms == 40)  # noqa: PLR2004
        ),
    ),
    Entry(
        "rtt_independence",
        "RTT independence of Prague, step by step",
        "rtt_independence.csv",
        ["rtt-independence"],
        "100 Mbit/s, nine base RTTs a run, modes none, by rate and additive with CUBIC; by rate with none",
        # That the bed's Prague had no detector of classic queues.
        chosen_on=lambda _: True,
    ),
    Entry(
        "disproof",
        "The disproof of the fast lane, A to D",
        "disproof_summary.csv",
        ["fast-lane/disproof"],
        "at the rig's own ceiling of 49.74 Mbit/s of payload",
    ),
)


def main() -> None:
    """Make the missing runs, judge all of them, write the files."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("published", type=Path, help="the folder of the published tables")
    words.add_argument("results", type=Path, help="a results folder")
    words.add_argument("--linux", type=Path, nargs="*", default=[], help="results of the same cells on Linux")
    given = words.parse_args()
    for entry in TABLES:
        seeds = [] if entry.seeds is None else ["--seeds", str(entry.seeds)]
        subprocess.run(  # noqa: S603 - our own command
            [Path(sys.executable).parent / "sojourn", "run", *entry.suites, *seeds, "-o", given.results],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    noise = Noise.read(given.published / NOISE)
    every: list[Judged] = []
    chosen: set[int] = set()
    for entry in TABLES:
        rows = read_published(given.published / entry.table)
        named = {file for suite in entry.suites for file in (one.name for one in library.resolve(suite))}
        judged = against(rows, given.results, noise, named).judged
        linux = {j.row.line: j for folder in given.linux for j in against(rows, folder, noise).judged}
        _write(entry.page, values_rows(judged, linux))
        _write(f"{entry.page}-groups", summary_rows(summarise(judged)))
        if not entry.same_runs_as:
            every += judged
            chosen |= {id(j) for j in judged if entry.chosen_on(j)}
    tested = totals(every, lambda j: id(j) not in chosen)
    _write("totals", totals_rows("all rows, each run once", totals(every)))
    _write("totals-unchosen", totals_rows("the rows that nothing was chosen on", tested))


def _write(name: str, rows: Sequence[Sequence[str]]) -> None:
    with (FOLDER / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
