"""The page: one document with its script and its style in it, the same for every folder.

What is of a folder it asks for. Its script is the parts beside this file, after those of reports that it shares
(:mod:`sojourn.reporting.script`), in one function.
"""

import base64
import functools
import hashlib
from importlib.resources import files
from typing import Final

from sojourn.reporting import script
from sojourn.views.summary import COLUMNS

_SHARED: Final = ("dom", "scale", "actions")
_PARTS: Final = ("folder", "choice", "chart", "save", "runs", "measured", "pivot", "plot", "over_time", "main")
"""The parts, each after those that it uses."""


@functools.cache
def html() -> str:
    """Return the page."""
    text = _read("page.html")
    for place, content in (("STYLE", _style()), ("SCRIPT", _script())):
        text = text.replace(f"@{place}@", content)
    return text


@functools.cache
def policy() -> str:
    """Return its Content-Security-Policy: its own script and style by their hashes, and no address but ours."""
    return (
        f"default-src 'none'; script-src '{_hash(_script())}'; style-src '{_hash(_style())}'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


@functools.cache
def metrics() -> list[dict[str, str]]:
    """Return the metrics that the page offers: those of a summary, once each."""
    known: dict[str, str] = {}
    for column in COLUMNS:
        known.setdefault(
            column.metric.replace(", {flows}", ""), f"{column.name}{f', {column.unit}' if column.unit else ''}"
        )
    return [{"metric": metric, "name": name} for metric, name in known.items()]


@functools.cache
def _script() -> str:
    return script.joined([*map(script.part, _SHARED), *(_read(f"{name}.js") for name in _PARTS)])


@functools.cache
def _style() -> str:
    text = script.style() + _read("style.css")
    if "</style" in text.lower():
        raise ValueError("the style holds what would end its element")
    return text


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _read(name: str) -> str:
    return (files("sojourn.explore.page") / name).read_text(encoding="utf-8")
