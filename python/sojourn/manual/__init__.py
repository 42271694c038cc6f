"""The documentation in a wheel: pages that a browser opens from disk, found by name.

``make docs`` builds the site and copies it to this folder; it is not in the repository. A page is named as in the
site's addresses, without ``.html``: ``tutorials/first-experiment``, ``metrics``.
"""

import difflib
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError

SITE: Final = Path(__file__).parent / "site"
START: Final = "index"
"""The page that all begins with."""

_TITLE: Final = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_HEAD: Final = 8192
"""The first bytes of a page, which include its title."""


def pages(site: Path = SITE) -> Mapping[str, Path]:
    """Return the pages by name, the first page first.

    Raises:
        UsageError: the site was not built.
    """
    if not (site / f"{START}.html").is_file():
        raise UsageError(
            f"the documentation is not in this installation ({site})",
            help="make docs; or read the Markdown files in docs/ of the sources",
        )
    found = {path.relative_to(site).with_suffix("").as_posix(): path for path in site.rglob("*.html")}
    found.pop("404", None)
    return {name: found[name] for name in sorted(found, key=lambda name: (name != START, name))}


def title(page: Path) -> str:
    """Return the title of a page."""
    with page.open("rb") as file:
        found = _TITLE.search(file.read(_HEAD).decode(errors="replace"))
    return html.unescape(found[1]).strip().removesuffix(" - Sojourn") if found else page.stem


def find(words: str, site: Path = SITE) -> Path:
    """Return the page of this name, or the only one with these words in its name or title.

    Args:
        words: a name, the end of one, or words in it or in the title; case does not matter.
        site: where the pages are.

    Raises:
        UsageError: there is none, or there are several, which the message lists.
    """
    every = pages(site)
    asked = re.sub(r"\.(html|md)$", "", words.strip().lower().removeprefix("docs/").strip("/"))
    if asked in every:
        return every[asked]
    parts = [part for part in re.split(r"[\s/_-]+", asked) if part]
    ends = [name for name in every if name.rpartition("/")[2] == "-".join(parts)]
    fit = ends or [name for name in every if parts and all(part in _said(name, every[name]) for part in parts)]
    if len(fit) == 1:
        return every[fit[0]]
    if not fit:
        near = difflib.get_close_matches(asked, every, n=1, cutoff=0.5)
        raise UsageError(
            f'there is no page "{words}"',
            help=f'did you mean "{near[0]}"?' if near else "`sojourn docs --list` has them",
        )
    few = 12
    more = f" and {len(fit) - few} more" if len(fit) > few else ""
    raise UsageError(f'several pages fit "{words}": {", ".join(fit[:few])}{more}', help="choose one of them")


def _said(name: str, page: Path) -> str:
    return f"{name} {title(page)}".lower()
