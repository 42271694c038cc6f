"""Lists of queue disciplines, congestion controls, path elements, applications, stacks and suites, as data."""

import json
from collections.abc import Sequence
from typing import Any

from sojourn import _core
from sojourn.errors import UsageError

Entry = dict[str, Any]


def qdiscs(plugins: Sequence[str] = (), classes: Sequence[str] = ()) -> list[Entry]:
    """Return every queue discipline: options with units and defaults by stack, statistics, sources.

    Args:
        plugins: shared libraries to load; their disciplines are listed, too.
        classes: names of classes in Python files, as ``python:mine.py:Mine``, which are listed, too; the files are run.
    """
    return _entries(_core.qdiscs(plugins=plugins, classes=classes))


def ccs(plugins: Sequence[str] = (), classes: Sequence[str] = ()) -> list[Entry]:
    """Return every congestion control: summary, source, its options, and the numbers that it reports.

    Args:
        plugins: as in :func:`qdiscs`.
        classes: as in :func:`qdiscs`.
    """
    return _entries(_core.ccs(plugins=plugins, classes=classes))


def implementations() -> list[Entry]:
    """Return every congestion control of implementations by other authors, as ``STACK/CONTROL``, with the version."""
    return [
        {
            "name": f"{stack['name']}/{control['name']}",
            "summary": f"{control['summary']}; {stack['package']} {stack['version']}",
            "source": f"{stack['package']} {stack['version']}",
            "gauges": control["gauges"],
            "written": f'{stack["key"]} = {{ stack = "{stack["name"]}", cc = "{control["name"]}" }}',
            "built_in": stack["built_in"],
            "lacks": stack["lacks"],
        }
        for stack in _stacks()
        for control in stack["controls"]
    ]


def key_of(stack: str) -> str:
    """Return the key of a flow that has an implementation's settings: ``quic``, or ``tcp``; ``quic`` of an unknown one.

    >>> key_of("noq"), key_of("smoltcp")
    ('quic', 'tcp')
    """
    return next((str(entry["key"]) for entry in _stacks() if entry["name"] == stack), "quic")


def _stacks() -> list[Entry]:
    return _entries(_core.implementations())


def links() -> list[Entry]:
    """Return the links that words name."""
    return _entries(_core.links())


def elements() -> list[Entry]:
    """Return every path element that words name: options with units and defaults, sources."""
    return _entries(_core.elements())


def apps() -> list[Entry]:
    """Return every application that words name: options with units and defaults, sources."""
    return _entries(_core.apps())


def stacks() -> list[Entry]:
    """Return every stack: its switches with their meaning."""
    return _entries(_core.stacks())


def named(kind: str, entries: list[Entry], name: str) -> Entry:
    """Return the entry of this name, in capitals or not.

    Raises:
        UsageError: if there is none, with the nearest.
    """
    for spelling in (str, str.lower):
        # Capitals do not matter where nothing is called so letter by letter.
        for entry in entries:
            if spelling(entry["name"]) == spelling(name):
                return entry
    raise UsageError.unknown(kind, name, [entry["name"] for entry in entries])


def _entries(text: str) -> list[Entry]:
    entries: list[Entry] = json.loads(text)
    return entries
