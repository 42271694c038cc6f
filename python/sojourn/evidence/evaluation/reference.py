"""What the reference controls do in a document's suites, as it comes with this build.

Figures of a suite count only if the suite and the metrics that are asked of it are those that were run; a test runs
some of them anew. Anybody can have all of them run anew: ``sojourn evaluate --fresh``.
"""

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from sojourn.evidence.evaluation.document import Document
from sojourn.evidence.evaluation.values import Values
from sojourn.experiments import library

CONTROLS: Final = ("reno", "cubic", "bbr", "bbr3", "dctcp", "prague")
"""Whose figures come with the build."""


def digest(document: Document, suite: str) -> str:
    """Return what a suite's figures depend on, the simulator aside, as a hash."""
    [named] = library.resolve_suite(suite)
    figures = [figure for row in document.rows if row.suite == suite for figure in row.figures]
    asked = sorted({metric for figure in figures for metric in figure.metrics})
    only = sorted(str(sorted(figure.only.items())) for figure in figures)
    text = "\n".join([named.file.read_text(encoding="utf-8"), *asked, *only])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def values(document: Document, word: str) -> Values | None:
    """Return a control's figures, or None if some suite's are missing or were measured of another suite."""
    stored = _stored(document.name)
    if word not in stored.get("controls", {}):
        return None
    if any(stored["suites"].get(suite) != digest(document, suite) for suite in document.suites):
        return None
    return Values.from_json(stored["controls"][word])


def text(document: Document, measured: Mapping[str, Values]) -> str:
    """Return the file's text with these figures, by control."""
    suites = {suite: digest(document, suite) for suite in document.suites}
    controls = [f"{json.dumps(word)}: [\n{_lines(own.json())}\n]" for word, own in measured.items()]
    return f'{{"suites": {json.dumps(suites)},\n"controls": {{\n' + ",\n".join(controls) + "\n}}\n"


def _lines(rows: Sequence[Any]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


@functools.cache
def _stored(name: str) -> dict[str, Any]:
    file = files("sojourn.evidence.evaluation") / "reference" / f"{name}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
