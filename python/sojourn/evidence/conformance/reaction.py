"""Whether a sender ever reduces its window: if it does not, the result of a case means nothing.

Many promises are of what follows a reduction. A sender without one breaks them all, and keeps others for the wrong
reason: no cut at all is "one cut a round trip". So this is looked at first, over all runs of a document, and said once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from sojourn.core.run import Run
from sojourn.evidence.conformance.subject import FLOW

ENOUGH: Final = 5
"""The number of losses, or of marks, without an answer from which a sender counts as one that gives none."""
_NEVER_SET: Final = 1e9
"""A threshold above this many packets is the one that a connection begins with."""
_FALL: Final = 0.9
"""Where nothing sets a threshold, a window below this share of its highest is one."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What a run reported the sender under test of congestion in one way, and whether it answered."""

    kind: str
    """``losses`` or ``marks``."""
    count: int
    answered: bool


def signals(run: Run) -> Sequence[Signal]:
    """Return what a run reported the sender under test; nothing if it has no such flow."""
    rows = run.flows.filter((pl.col("flow").cast(pl.String) == FLOW) & (pl.col("t_s") >= 0)).sort("t_s")
    if rows.is_empty():
        return ()
    lost, again, marked = (_last(rows, name) for name in ("lost", "retransmits", "ece"))
    # A loss that a probe repairs is counted as a retransmission alone.
    counts = {kind: count for kind, count in (("losses", lost or again), ("marks", marked)) if count}
    since = rows.with_columns(
        before=pl.col("cwnd").shift(1),
        highest=pl.col("cwnd").cum_max(),
        limit=pl.col("ssthresh").cast(pl.Float64, strict=False),
    ).filter((pl.col("lost") + pl.col("retransmits") + pl.col("ece")) > 0)
    # A threshold that is beyond any window has never been set.
    cuts = since.filter((pl.col("limit") != pl.col("limit").shift(1).fill_null(0.0)) & (pl.col("limit") < _NEVER_SET))
    if cuts.height:
        # DCTCP may take a single packet.
        by_mark = cuts["state"].cast(pl.String) == "CWR"
        cut = cuts["limit"] < cuts["before"]
        answered = {"marks": bool((cut & by_mark).any()), "losses": bool((cut & ~by_mark).any())}
        if len(counts) == 1:
            answered = dict.fromkeys(answered, bool(cut.any()))
    else:
        answered = dict.fromkeys(("marks", "losses"), bool((since["cwnd"] < _FALL * since["highest"]).any()))
    return [Signal(kind, count, answered[kind]) for kind, count in counts.items()]


def _last(rows: pl.DataFrame, column: str) -> int:
    return int(rows[column].cast(pl.Int64).to_list()[-1])


def unanswered(runs: Sequence[Run]) -> Mapping[str, int]:
    """Return how many losses and marks no run saw an answer to, by kind; empty if each kind has one."""
    found = [own for run in runs for own in signals(run)]
    counts = {}
    for kind in ("losses", "marks"):
        of_kind = [own for own in found if own.kind == kind]
        count = sum(own.count for own in of_kind)
        if count >= ENOUGH and not any(own.answered for own in of_kind):
            counts[kind] = count
    return counts
