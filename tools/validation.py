"""Makes the tables of docs/validation.md and the pages in docs/validation, all by one build.

    make validation PUBLISHED=where/the/tables/are [LINUX="a/folder another"]

Every published table (:data:`BOOK`) is held against runs of the suites that stand beside it; those that the results
folder lacks are made first, with the suites' own number of seeds or the table's. What stands in docs/validation.md
outside of its two marks is text and stays.
"""

import argparse
import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn.evidence.validation import CLOSE, Judged, Noise, against, read_published, summarise
from sojourn.evidence.validation.markdown import summary_table, values_table
from sojourn.experiments import library

DOCS: Final = Path(__file__).parent.parent / "docs"
BEGIN: Final = "<!-- made by tools/validation.py: -->"
END: Final = "<!-- end of what is made -->"
NOISE: Final = "s1_replicate_noise.csv"


@dataclass(frozen=True, slots=True)
class Entry:
    """A published table, and what is run for it."""

    page: str
    title: str
    table: str
    suites: Sequence[str]
    about: str
    counted: bool = True
    """Whether its rows are in the totals: not if another table is of the same runs, nor where the stack is inferred."""
    bounded: Callable[[Judged], bool] = lambda _: True
    """Which of its rows the project's bounds are on, 80 % of coverage a queue and 90 % of sums within 1 %."""
    seeds: int | None = None
    """More than the suites' own, where runs scatter so that the ends of ten say little of the central 95 %: one more
    run of the same kind lies between them in 79 of 100 cases, between those of 40 in 90."""


BOOK: Final = (
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
        seeds=40,
    ),
    Entry(
        "ect1",
        "The ECT(1) re-run, by `ss`",
        "ect1.csv",
        [f"sce-l4s-ect1-rerun/s{number}" for number in (1, 2, 5, 6)],
        "one flow, two flows, bursts, jitter",
        seeds=40,
    ),
    Entry(
        "ect1_pcap",
        "The ECT(1) re-run, by captures",
        "ect1_pcap.csv",
        [f"sce-l4s-ect1-rerun/s{number}" for number in (1, 2, 5, 6)],
        "goodput, marks, true queue delay",
        counted=False,
    ),
    Entry(
        "ect1_phases",
        "The ECT(1) re-run, phase by phase",
        "ect1_phases.csv",
        ["sce-l4s-ect1-rerun/s3", "sce-l4s-ect1-rerun/s4"],
        "the bottleneck is another one for a while, or slower",
        bounded=lambda _: False,
    ),
    Entry(
        "iccrg",
        "ICCRG",
        "iccrg.csv",
        ["iccrg"],
        "20 to 500 Mbit/s; not CUBIC at 500 Mbit/s and 80 ms, which its receive window limits",
        bounded=lambda judged: len(judged.row.senders) == 1,
    ),
    Entry(
        "rtt_independence",
        "RTT independence of Prague, step by step",
        "rtt_independence.csv",
        ["rtt-independence"],
        "100 Mbit/s, nine base RTTs a run, modes none, by rate and additive beside CUBIC; by rate beside none",
        seeds=5,
        counted=False,
        bounded=lambda _: False,
    ),
    Entry(
        "disproof",
        "The disproof of the fast lane, A to D",
        "disproof_summary.csv",
        ["fast-lane/disproof"],
        "at the rig's own ceiling of 49.74 Mbit/s of payload",
    ),
)

FAMILIES: Final = {
    "fq_codel": r"fq_codel",
    "cnq_codel_af": r"cnq_codel_af",
    "dualpi2": r"dualpi2",
    "CoDel in one queue": r"(codel1q|fq_codel\(1q).*",
    "PIE": r"pie.*",
    "RED": r"red.*",
    "pfifo": r"pfifo.*",
}
"""Queues that are one discipline, by the names that the tables have for them."""


def main() -> None:
    """Run what is missing, judge it, write the documents."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("published", type=Path, help="the folder of the published tables")
    words.add_argument("results", type=Path, help="a results folder")
    words.add_argument("--linux", type=Path, nargs="*", default=[], help="results of the same cells on Linux")
    given = words.parse_args()
    for entry in BOOK:
        seeds = [] if entry.seeds is None else ["--seeds", str(entry.seeds)]
        subprocess.run(  # noqa: S603 - our own command
            [Path(sys.executable).parent / "sojourn", "run", *entry.suites, *seeds, "-o", given.results],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    noise = Noise.read(given.published / NOISE)
    parts: list[str] = []
    counted: list[Judged] = []
    bounded: list[Judged] = []
    for entry in BOOK:
        rows = read_published(given.published / entry.table)
        named = {file for suite in entry.suites for file in (one.name for one in library.resolve(suite))}
        judged, _ = against(rows, given.results, noise, named)
        linux = {j.row.line: j for folder in given.linux for j in against(rows, folder, noise)[0]}
        parts.append(_part(entry, judged, linux))
        if entry.counted:
            counted += judged
        bounded += filter(entry.bounded, judged)
    document = DOCS / "validation.md"
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    totals = [_totals("all tables together, each run once", counted), _totals("the rows that have bounds", bounded)]
    made = "\n".join([BEGIN, "", *totals, *parts, END])
    document.write_text(f"{before}{made}{after}", encoding="utf-8")


def _part(entry: Entry, judged: Sequence[Judged], linux: Mapping[int, Judged]) -> str:
    """Write the page of a table; return what the document says of it."""
    summary = summary_table(summarise(judged))
    page = DOCS / "validation" / f"{entry.page}.md"
    page.write_text(
        f"# {entry.title}\n\nMade by `tools/validation.py` against `{entry.table}`; see [validation](../validation.md) "
        f"for how to read it.\n\n{summary}\n{values_table(judged, linux)}",
        encoding="utf-8",
    )
    suites = ", ".join(f"`{suite}`" for suite in entry.suites)
    beside = "; Linux beside ours where it can run the row" if linux else ""
    return (
        f"### {entry.title}\n\n{suites} against `{entry.table}`: {entry.about}{beside}. Every row: "
        f"[validation/{entry.page}.md](validation/{entry.page}.md).\n\n{summary}"
    )


def _totals(which: str, judged: Sequence[Judged]) -> str:
    """Return coverage by family, and sums."""
    lines = [
        f"| rates, {which} | rows | agree | coverage | sums within 1 % |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    families = {name: [j for j in judged if re.fullmatch(pattern, j.row.queue)] for name, pattern in FAMILIES.items()}
    for name, own in [*families.items(), ("all", judged)]:
        if own:
            agree = sum(_rates_agree(j) for j in own)
            sums = [abs(j.sum_error) <= CLOSE for j in own if not math.isnan(j.sum_error)]
            close = f"{_share(sum(sums), len(sums))} ({sum(sums)} of {len(sums)})"
            lines.append(f"| {name} | {len(own)} | {agree} | {_share(agree, len(own))} | {close} |")
    rest = [j for j in judged if not any(j in own for own in families.values())]
    if rest:
        raise SystemExit(f"of no family: {', '.join(sorted({j.row.queue for j in rest}))}")
    return "\n".join(lines) + "\n"


def _rates_agree(judged: Judged) -> bool:
    return all(value.agrees for value in judged.values if value.figure.is_rate)


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "–"


if __name__ == "__main__":
    main()
