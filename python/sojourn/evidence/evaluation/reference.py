"""What the references of a document do in its suites, as it comes with this build.

Figures of a suite count only if the suite and the metrics that are asked of it are those that were run; a test runs
some of them anew. Anybody can have all of them run anew: ``sojourn evaluate --fresh``.
"""

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from sojourn.evidence.evaluation.document import Document
from sojourn.evidence.evaluation.values import Values
from sojourn.experiments import library


def digest(document: Document, suite: str) -> str:
    """Return what a suite's figures depend on, the simulator aside, as a hash."""
    [named] = library.resolve_suite(suite)
    figures = [figure for row in document.rows if row.suite == suite for figure in row.figures]
    asked = sorted({metric for figure in figures for metric in figure.metrics})
    only = sorted(str(sorted(figure.only.items())) for figure in figures)
    text = "\n".join([named.file.read_text(encoding="utf-8"), *asked, *only])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def values(document: Document, name: str) -> Values | None:
    """Return a reference's figures, or None if some are missing or were measured of another suite or other words."""
    kept = _stored(document.name)
    if kept.get("references", {}).get(name) != document.references[name]:
        return None
    if any(kept["suites"].get(suite) != digest(document, suite) for suite in document.suites):
        return None
    return Values.from_json(kept["values"][name])


def stored(document: Document, name: str) -> Values:
    """Return what there is of a reference's figures, whatever has changed since."""
    return Values.from_json(_stored(document.name)["values"][name])


def text(document: Document, measured: Mapping[str, Values]) -> str:
    """Return the file's text with these figures, by the references' names."""
    suites = {suite: digest(document, suite) for suite in document.suites}
    values = [f"{json.dumps(name)}: [\n{_lines(own.json())}\n]" for name, own in measured.items()]
    words = json.dumps({name: document.references[name] for name in measured})
    head = f'{{"suites": {json.dumps(suites)},\n"references": {words},\n"values": {{\n'
    return head + ",\n".join(values) + "\n}}\n"


def _lines(rows: Sequence[Any]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


@functools.cache
def _stored(name: str) -> dict[str, Any]:
    file = files("sojourn.evidence.evaluation") / "reference" / f"{name}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
