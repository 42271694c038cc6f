"""Figures: every kind by name.

A kind is one file here and one line below. ``KINDS["fairness"].draw(runs, {"rate": "goodput"}).write(folder, "s1")``.
"""

from collections.abc import Mapping
from typing import Final

from sojourn.errors import UsageError
from sojourn.figures import (
    cdf,
    delays,
    delivery,
    fairness,
    goodput,
    harm,
    marking,
    overlay,
    probabilities,
    queue_delay,
    shares,
    spikes,
)
from sojourn.figures.kind import Drawn, Kind, Option
from sojourn.figures.select import PATTERN, select, terms_of

__all__ = ["KINDS", "PATTERN", "Drawn", "Kind", "Option", "kind", "select", "terms_of"]

KINDS: Final[Mapping[str, Kind]] = {
    module.KIND.name: module.KIND
    for module in (
        delivery,
        fairness,
        shares,
        delays,
        probabilities,
        queue_delay,
        marking,
        cdf,
        goodput,
        harm,
        spikes,
        overlay,
    )
}
"""Every kind of figure by its name."""


def kind(name: str) -> Kind:
    """Return the kind of this name.

    Raises:
        UsageError: if there is none, with the nearest.
    """
    if name not in KINDS:
        raise UsageError.unknown("kind of figure", name, list(KINDS))
    return KINDS[name]
