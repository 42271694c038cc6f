"""The script that makes written pages answer, and the policy that lets it run and nothing else.

A page reads without it, and prints as it did. With it figures zoom, say their values and share a cursor, tables sort
and filter, commands are copied, and a run opens in the playground. It is plain JavaScript without dependencies: the
parts beside this file, one after another, in one function. It asks for nothing over the network, it keeps nothing, and
whatever it shows it puts in as text: the policy has no way for a text to become a script.
"""

import base64
import functools
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from sojourn.plotting.draw.numbers import packed

__all__ = ["data_block", "joined", "packed", "part", "policy", "script", "style"]

_REPORT: Final = ("dom", "packed", "scale", "figure", "group", "tables", "actions", "page")
"""The parts, each after those that it uses."""


@functools.cache
def script(*parts: str) -> str:
    """Return these parts as the text of one script; those of a report unless named."""
    return joined([part(name) for name in parts or _REPORT])


def part(name: str) -> str:
    """Return one of the parts; other pages have some of them, too."""
    return _read(f"{name}.js")


def joined(texts: Sequence[str]) -> str:
    """Return these texts as one script, which stands in an element of a page."""
    text = '(() => {\n"use strict";\n' + "\n".join(texts) + "})();\n"
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError("the script holds what would end its element")
    return text


@functools.cache
def style(name: str = "answers") -> str:
    """Return the style of what the script adds."""
    return _read(f"{name}.css")


def policy(text: str | None = None) -> str:
    """Return the Content-Security-Policy of a page that stands alone.

    Args:
        text: its script, exactly as it stands in the page; a report's unless given.
    """
    digest = base64.b64encode(hashlib.sha256((script() if text is None else text).encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def data_block(text: str, name: str = "numbers") -> str:
    """Return what :func:`packed` made as an element that no browser runs and the script reads."""
    return f'<script type="application/octet-stream" class="{name}">{text}</script>'


def _read(name: str) -> str:
    return (files("sojourn.reporting.script") / name).read_text(encoding="utf-8")
