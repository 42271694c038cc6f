"""``ect1_phases.csv``: scenarios 3 and 4 of ``ect1.csv`` in the same folder, phase by phase.

Ours are measured over phases of the same names in the suites ``sce-l4s-ect1-rerun/s3`` and ``s4``.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sojourn.evidence.validation.datasets import ect1
from sojourn.evidence.validation.rows import Row, delivery_rate, srtt
from sojourn.evidence.validation.table import Entry

NEEDED: Final = ("run", "phase", "delivery_mean_mbps", "rtt_mean_ms")
_PHASES: Final = {
    "1-": "before",
    "2a": "during-transient",
    "2b": "during",
    "3a": "after-transient",
    "3b": "after",
}


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a run and phase."""
    runs = ect1.described(entries[0].file) if entries else {}
    return [_row(runs[entry.text("run")], entry) for entry in entries if entry.text("run") in runs]


def _row(run: Row, entry: Entry) -> Row:
    phase = _PHASES[entry.text("phase")[:2]]
    figures = (
        delivery_rate(0, entry.number("delivery_mean_mbps"), f"during {phase}"),
        srtt(0, entry.number("rtt_mean_ms"), f"during {phase}"),
    )
    return replace(run, line=entry.line, figures=figures, part=phase)
