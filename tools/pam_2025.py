"""Compares known-results/pam-2025 with the bed's cells, build by build; writes the file and the page of findings.

tools/pam_2025.py             # all variants, some ten minutes on two cores
tools/pam_2025.py --only bed  # one variant again; the others stay as the file has them

A variant is today's build with other stacks. The prediction by build 79a184b is part of the bed's table and is never
run again.
"""

import argparse
import csv
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import sojourn
from sojourn.runner import cores

ROOT: Final = Path(__file__).parents[1]
BED: Final = ROOT / "python" / "sojourn" / "suites" / "known-results" / "pam-2025.csv"
OURS: Final = ROOT / "docs" / "findings" / "pam-2025.csv"
PAGE: Final = ROOT / "docs" / "findings" / "pam-2025.md"
SUITE: Final = "known-results/pam-2025"

PREDICTION: Final = "predicted"
_HOSTS: Final = ("flow.rival.stack=linux-5.10", "hop.bottleneck.stack=l4steam-2024")
VARIANTS: Final[Mapping[str, Sequence[str]]] = {
    "today": (),
    "bed-2021": ("flow.prague.stack=l4steam-2021-06", *_HOSTS),
    "bed-2024": ("flow.prague.stack=l4steam-2024", *_HOSTS),
}
"""What is changed of the suite."""

METRICS: Final = ("goodput(prague)", "goodput(rival)", "mean(srtt, prague)", "mean(srtt, rival)")
SCALES: Final = (1e-6, 1e-6, 1e3, 1e3)
CLOSE: Final = (0.02, 0.05, 0.10)

Cell = tuple[str, str, str]


class Values(NamedTuple):
    """Rates in Mbit/s and mean smoothed RTTs in ms, Prague's and its rival's."""

    prague: float
    rival: float
    prague_srtt: float
    rival_srtt: float

    @property
    def share(self) -> float:
        """Prague's share of the sum."""
        return self.prague / (self.prague + self.rival)


def bed() -> tuple[dict[Cell, Values], dict[Cell, Values]]:
    """Return what was measured, and what build 79a184b predicted."""
    measured, predicted = {}, {}
    for row in _rows(BED):
        cell = (row["queue"], row["buffer_bdp"], row["rival"])
        names = ("prague_mbps", "rival_mbps", "prague_srtt_ms", "rival_srtt_ms")
        measured[cell] = Values(*(float(row[name]) for name in names))
        predicted[cell] = Values(*(float(row[f"predicted_{name}"]) for name in names))
    return measured, predicted


def run(variant: str, labels: Mapping[str, Sequence[str]] | None = None) -> dict[Cell, Values]:
    """Run a variant, all of it or the cells with these labels; return the medians of the seeds."""
    experiment = sojourn.load(SUITE, settings=VARIANTS[variant])
    if labels:
        experiment = experiment.only(**{axis: list(own) for axis, own in labels.items()})
    found: dict[Cell, list[tuple[float, ...]]] = {}
    for made in experiment.run(quiet=True, threads=cores()):
        own = dict(made.scenario["cell"])
        cell = (own["queue"], own["buffer"], own["rival"])
        values = tuple(made.metric(metric) * scale for metric, scale in zip(METRICS, SCALES, strict=True))
        found.setdefault(cell, []).append(values)
    return {cell: Values(*map(statistics.median, zip(*own, strict=True))) for cell, own in found.items()}


def errors(measured: Mapping[Cell, Values], ours: Mapping[Cell, Values], queue: str | None = None) -> list[float]:
    """Return the errors of the share, of one queue or of all."""
    return [abs(ours[cell].share - own.share) for cell, own in measured.items() if queue is None or cell[0] == queue]


def table(measured: Mapping[Cell, Values], builds: Mapping[str, Mapping[Cell, Values]]) -> Iterator[str]:
    """Yield hits and misses of the share by queue and build."""
    heads = " | ".join(f"{name}: within 0.02 / 0.05 / 0.10, median" for name in builds)
    yield f"| queue | cells | {heads} |"
    yield "|---|---:|" + "---:|" * len(builds)
    queues = dict.fromkeys(cell[0] for cell in measured)
    for queue in (*queues, None):
        cells = []
        for ours in builds.values():
            own = errors(measured, ours, queue)
            hits = " / ".join(str(sum(one <= limit for one in own)) for limit in CLOSE)
            cells.append(f"{hits}, {statistics.median(own):.3f}")
        count = len(errors(measured, measured, queue))
        yield f"| {queue or '**all**'} | {count} | {' | '.join(cells)} |"


def misses(measured: Mapping[Cell, Values], builds: Mapping[str, Mapping[Cell, Values]]) -> Iterator[str]:
    """Yield every cell that some build misses by more than 0.05, the worst of the prediction first."""
    yield f"| queue | buffer, BDP | rival | bed | {' | '.join(builds)} |"
    yield "|---|---:|---|---:|" + "---:|" * len(builds)

    def off(cell: Cell, name: str) -> float:
        return builds[name][cell].share - measured[cell].share

    missed = [cell for cell in measured if any(abs(off(cell, name)) > CLOSE[1] for name in builds)]
    for cell in sorted(missed, key=lambda cell: -abs(off(cell, PREDICTION))):
        queue, buffer, rival = cell
        shares = " | ".join(f"{builds[name][cell].share:.2f} ({off(cell, name):+.2f})" for name in builds)
        yield f"| {queue} | {buffer} | {rival} | {measured[cell].share:.2f} | {shares} |"


def builds_of_file() -> dict[str, dict[Cell, Values]]:
    """Return what docs/findings/pam-2025.csv has, by variant."""
    found: dict[str, dict[Cell, Values]] = {}
    if OURS.exists():
        for row in _rows(OURS):
            cell = (row["queue"], row["buffer_bdp"], row["rival"])
            values = (row["prague_mbps"], row["rival_mbps"], row["prague_srtt_ms"], row["rival_srtt_ms"])
            found.setdefault(row["variant"], {})[cell] = Values(*map(float, values))
    return found


def write_file(builds: Mapping[str, Mapping[Cell, Values]]) -> None:
    """Write docs/findings/pam-2025.csv."""
    with OURS.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            ["variant", "queue", "buffer_bdp", "rival", "prague_mbps", "rival_mbps", "prague_srtt_ms", "rival_srtt_ms"]
        )
        for name in VARIANTS:
            for cell, values in builds.get(name, {}).items():
                out.writerow([name, *cell, *(f"{value:.2f}" for value in values)])


def replaced(page: str, mark: str, lines: Sequence[str]) -> str:
    """Return the page with other lines between two marks."""
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"{PAGE} has no {begin} with {end} after it")
    return "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"])


def written(page: str) -> str:
    """Return the page with the tables of the stored runs."""
    measured, predicted = bed()
    builds = {PREDICTION: predicted, **builds_of_file()}
    page = replaced(page, "hits", list(table(measured, builds)))
    return replaced(page, "misses", list(misses(measured, builds)))


def main() -> None:
    """Run, write the file and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(VARIANTS), action="append", help="run this variant alone")
    parser.add_argument("--page", action="store_true", help="run nothing: write the page from the file")
    said = parser.parse_args()
    builds = builds_of_file()
    for name in [] if said.page else (said.only or VARIANTS):
        builds[name] = run(name)
        write_file(builds)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


if __name__ == "__main__":
    main()
