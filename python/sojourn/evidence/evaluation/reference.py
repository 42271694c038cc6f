"""What the references of a document do in its suites, as it comes with this build.

Figures of a suite count only if the suite, the metrics that are asked of it and the sources of the simulator are those
with which they were measured: a change of a sender makes them void. ``sojourn evaluate`` then runs what it compares
with itself, as with ``--fresh``.
"""

import functools
import hashlib
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from typing import Any

from sojourn import _core
from sojourn.evidence.evaluation.document import Document
from sojourn.evidence.evaluation.values import Values
from sojourn.experiments import library


def digest(document: Document, suite: str) -> str:
    """Return what a suite's figures depend on, the simulator aside, as a hash."""
    [named] = library.resolve_suite(suite)
    figures = [figure for row in document.rows if row.suite == suite for figure in row.figures]
    asked = sorted({metric for figure in figures for metric in figure.metrics})
    only = sorted(str(sorted(figure.only.items())) for figure in figures)
    only += sorted(f"{figure.metrics[0]} of {figure.of_full}" for figure in figures if figure.of_full)
    said = tomllib.loads(named.file.read_text(encoding="utf-8"))
    # Comments and descriptions change no figure.
    said["experiment"] = {key: value for key, value in said["experiment"].items() if key not in {"about", "source"}}
    text = "\n".join([json.dumps(said), *asked, *only])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def values(document: Document, name: str, *, any_sources: bool = False) -> Values | None:
    """Return a reference's figures, or None if some are missing or were measured of something else.

    Args:
        document: the document.
        name: the reference's.
        any_sources: whether figures of other sources of the simulator count, too.
    """
    kept = _stored(document.name)
    if kept.get("references", {}).get(name) != document.references[name]:
        return None
    if not any_sources and set(kept.get("sources", {}).values()) != {_core.version("sim")}:
        return None
    if any(kept["suites"].get(suite) != digest(document, suite) for suite in document.suites):
        return None
    return Values.from_json(kept["values"][name])


def stored(document: Document, name: str) -> Values:
    """Return a reference's stored figures, whatever has changed since."""
    return Values.from_json(_stored(document.name)["values"][name])


def sources(document: Document) -> dict[str, str]:
    """Return the version of the simulator with which the figures of each suite were measured."""
    return dict(_stored(document.name).get("sources", {}))


def text(document: Document, measured: Mapping[str, Values], fresh: Collection[str]) -> str:
    """Return the file's text with these figures, by the references' names.

    Args:
        document: the document.
        measured: the figures.
        fresh: the suites that this build has measured; the others' sources stay as they are stored.
    """
    suites = {suite: digest(document, suite) for suite in document.suites}
    of = sources(document) | dict.fromkeys(fresh, _core.version("sim"))
    values = [f"{json.dumps(name)}: [\n{_lines(own.json())}\n]" for name, own in measured.items()]
    words = json.dumps({name: document.references[name] for name in measured})
    head = f'{{"suites": {json.dumps(suites)},\n"sources": {json.dumps(of)},\n"references": {words},\n"values": {{\n'
    return head + ",\n".join(values) + "\n}}\n"


def _lines(rows: Sequence[Any]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


@functools.cache
def _stored(name: str) -> dict[str, Any]:
    file = files("sojourn.evidence.evaluation") / "reference" / f"{name}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
