"""Which cells of an experiment are meant: ``--only AXIS=LABEL``."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sojourn.core.scenario import Scenario
from sojourn.errors import UsageError

Selection = Mapping[str, frozenset[str]]
"""The labels that are meant, by axis; an axis that is not named is meant whole."""


def parse(words: Sequence[str]) -> Selection:
    """Return what ``AXIS=LABEL`` words select; an axis that is named twice stands for either label.

    >>> parse(["rtt=20ms", "queue=pie", "queue=red"]) == {"rtt": {"20ms"}, "queue": {"pie", "red"}}
    True

    Raises:
        UsageError: if a word has no ``=``.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for word in words:
        axis, equals, label = word.partition("=")
        if not equals or not axis or not label:
            raise UsageError(f'a selection is AXIS=LABEL, not "{word}"', help="--only rtt=20ms, for example")
        found[axis].add(label)
    return {axis: frozenset(labels) for axis, labels in found.items()}


def takes(selection: Selection, scenario: Scenario) -> bool:
    """Return whether a run's cell is meant. An axis that the experiment does not have says nothing about it."""
    return all(label in selection.get(axis, {label}) for axis, label in scenario.labels)


def check(selection: Selection, scenarios: Iterable[Scenario]) -> None:
    """Make sure that every axis and label that is selected occurs somewhere.

    Raises:
        UsageError: naming the first that does not, with the nearest that does.
    """
    known: dict[str, dict[str, None]] = defaultdict(dict)
    for scenario in scenarios:
        for axis, label in scenario.labels:
            known[axis][label] = None
    for axis, labels in selection.items():
        if axis not in known:
            raise UsageError.unknown("axis", axis, list(known))
        for label in sorted(labels - known[axis].keys()):
            raise UsageError.unknown(f"label of the axis {axis}", label, list(known[axis]))
