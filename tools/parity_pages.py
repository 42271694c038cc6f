"""Judges the stored tables of docs/parity anew, by equivalence, from what they have: means and ranges of five seeds.

    python tools/parity_pages.py docs/parity/two.md docs/parity/queues.md ...

The pages were made before each seed's value was kept, and Linux's runs take hours. A range tells the deviation, though
not as well as the values do: of five values it is 2.48 deviations in the root mean square, which has 3.8 degrees of
freedom (Patnaik 1950). The interval of a difference is Welch's with these. It cannot be paired. A new run of
`sojourn parity` needs none of this.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sojourn.evidence.parity import METRICS, Estimate, Verdict, difference
from sojourn.evidence.parity.equivalence import DIFFERENCE, mean_of

_SEEDS: Final = 5
_DEVIATIONS: Final = 2.48
_FREEDOM: Final = 3.8
_COLUMNS: Final = 7

Range = tuple[float, float, float]
"""Mean, least and greatest."""


def estimate(ours: Range, theirs: Range) -> Estimate:
    """Return the difference of two means, each given with its range."""
    variances = [((high - low) / _DEVIATIONS) ** 2 / _SEEDS for _, low, high in (ours, theirs)]
    whole = sum(variances)
    freedom = whole**2 / sum(v * v / _FREEDOM for v in variances) if whole else 2 * _FREEDOM
    return Estimate(ours[0] - theirs[0], math.sqrt(whole), freedom, paired=False)


def lines(page: Path) -> Iterator[tuple[str, str, Range, Range]]:
    """Yield cell and metric of each line of a page's table of cells, and what each engine has."""
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == _COLUMNS and "–" in cells[3] and "–" in cells[5]:
            ours, theirs = (_range(mean, span) for mean, span in ((cells[2], cells[3]), (cells[4], cells[5])))
            yield cells[0], cells[1].split(",")[0].split(" ")[0], ours, theirs


def _range(mean: str, span: str) -> Range:
    low, high = span.split("–")
    return float(mean), float(low), float(high)


def main() -> None:
    """Print a table over all pages that are named, and what is different."""
    found: dict[str, list[tuple[Verdict, bool, float]]] = defaultdict(list)
    told = []
    for page in map(Path, sys.argv[1:]):
        for cell, key, ours, theirs in lines(page):
            (metric,) = (metric for metric in METRICS if metric.key == key)
            margin = max(metric.absolute, metric.relative * abs(theirs[0]))
            own = estimate(ours, theirs)
            verdict = own.verdict(margin)
            found[key].append((verdict, own.significant, own.difference / (1 if metric.several else abs(theirs[0]))))
            if verdict is Verdict.DIFFERENT:
                told.append(f"{page.stem}: {cell}: {key} {ours[0]} and {theirs[0]}")
    rows: list[list[str]] = [
        ["metric", "cells", *(v for v in Verdict if v is not Verdict.NONE), "beyond chance", "mean difference", "95 %"]
    ]
    for key, own_lines in found.items():
        counts = [sum(v is wanted for v, _, _ in own_lines) for wanted in Verdict if wanted is not Verdict.NONE]
        counts.append(sum(significant for _, significant, _ in own_lines))
        whole = mean_of([off for _, _, off in own_lines])
        mean, low, high = (difference(key, x) for x in (whole.difference, *whole.interval(DIFFERENCE)))
        rows.append([key, str(len(own_lines)), *map(str, counts), mean, f"{low} to {high}"])
    sys.stdout.writelines(f"| {' | '.join(row)} |\n" for row in rows)
    sys.stdout.writelines(f"different: {line}\n" for line in told)


if __name__ == "__main__":
    main()
