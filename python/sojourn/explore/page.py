"""The page: one document with its script and its style in it, the same for every folder.

The page asks for the data of a folder. ``make bundles`` builds its script from ``web/explore``.
"""

import functools
from importlib.resources import files

from sojourn.reporting import script
from sojourn.views.summary import COLUMNS


@functools.cache
def html() -> str:
    """Return the page."""
    return _read("page.html").replace("@STYLE@", _style()).replace("@SCRIPT@", _read("explore.js"))


@functools.cache
def policy() -> str:
    """Return its Content-Security-Policy: its own script and style by their hashes, and no address but ours."""
    return (
        f"default-src 'none'; script-src {script.sha256(_read('explore.js'))}; style-src {script.sha256(_style())}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
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


def _style() -> str:
    return script.style() + _read("page.css")


@functools.cache
def _read(name: str) -> str:
    return (files("sojourn.explore") / name).read_text(encoding="utf-8")
