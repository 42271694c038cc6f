"""Figures: every kind by name, those of other distributions too (:mod:`sojourn.core.extensions`).

``KINDS["fairness"].draw(runs, {"rate": "goodput"}).write(folder, "s1")``.
"""

from collections.abc import Mapping
from typing import Final

from sojourn.core.extensions import FIGURES
from sojourn.core.select import PATTERN, select, terms_of
from sojourn.plotting.kind import Drawn, Kind, Option

__all__ = ["KINDS", "PATTERN", "Drawn", "Kind", "Option", "kind", "select", "terms_of"]

KINDS: Final[Mapping[str, Kind]] = FIGURES
"""Every kind of figure by its name; one is imported when it is asked for."""


def kind(name: str) -> Kind:
    """Return the kind of this name.

    >>> kind("cdf").name
    'cdf'

    Raises:
        UsageError: if there is none, with the nearest.
    """
    found: Kind = FIGURES.find(name)
    return found
