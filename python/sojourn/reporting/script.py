"""The script that makes written pages answer, and the policy that lets it run and nothing else.

A page reads without it, and prints as it did. With it figures zoom, say their values and share a cursor, tables sort
and filter, commands are copied, and a run opens in the playground. ``make bundles`` builds it from ``web/report``. It
asks for nothing over the network, it keeps nothing, and whatever it shows it puts in as text: the policy has no way for
a text to become a script.
"""

import base64
import functools
import hashlib
from importlib.resources import files

from sojourn.plotting.draw.numbers import packed

__all__ = ["data_block", "packed", "policy", "script", "sha256", "style"]


@functools.cache
def script() -> str:
    """Return the script of reports."""
    return _read("report.js")


@functools.cache
def style() -> str:
    """Return the style of the elements that the script adds."""
    return _read("report.css")


def sha256(text: str) -> str:
    """Return the source by which a policy permits the element with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def policy() -> str:
    """Return the Content-Security-Policy of a report."""
    return (
        f"default-src 'none'; script-src {sha256(script())}; style-src 'unsafe-inline'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def data_block(text: str, name: str = "numbers") -> str:
    """Return what :func:`packed` made as an element that no browser runs and the script reads."""
    return f'<script type="application/octet-stream" class="{name}">{text}</script>'


def _read(name: str) -> str:
    return (files("sojourn.reporting") / name).read_text(encoding="utf-8")
