"""Checks that a built site works from any place: `python tools/site_check.py site`.

Every link, picture, script and frame of every page leads to a file of the site, by a path that begins at the page: so
it works from a disk and from any folder of a static host. Nothing is loaded from elsewhere; links there are for the
reader. MkDocs checks the links of Markdown, but not those of HTML in pages, of the theme, and of files that are copied.

Readers' walks (docs/history/reader-walks.md) are paths of pages; each page must link the next.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

ARGUMENTS: Final = 2

LOADED: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "a": "href"}
"""What elements name; all but `a` is loaded without being asked for."""

NOT_LOADED: Final = frozenset({"canonical", "prev", "next", "alternate", "edit"})
"""What a `link` may be that no browser follows by itself."""


class Links(HTMLParser):
    """What a page names."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what it names."""
        own = dict(attrs)
        where = own.get(LOADED.get(tag, ""))
        if where is not None and not (tag == "link" and set((own.get("rel") or "").split()) & NOT_LOADED):
            self.found.append((tag, where))


def wrong(site: Path) -> Iterator[str]:
    """Yield the faults of a site, a sentence each."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        yield f"{site} has no page"
    for page in pages:
        # A host shows it for any missing page, in any folder.
        if page == site / "404.html":
            continue
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        for tag, where in links.found:
            fault = _fault(site, page, tag, where)
            if fault:
                yield f"{page.relative_to(site)}: {fault}"


def broken_walks(site: Path, text: str) -> Iterator[str]:
    """Yield the steps of readers' walks that are no links, a sentence each.

    Args:
        site: the built site.
        text: lines such as ``Path: index → quic → conformance``.
    """
    for line in re.findall(r"^Path: (.+)$", text, re.MULTILINE):
        for here, there in itertools.pairwise(line.split(" → ")):
            page, wanted = site / f"{here}.html", (site / f"{there}.html").resolve()
            links = Links()
            links.feed(page.read_text(encoding="utf-8") if page.is_file() else "")
            targets = {(page.parent / unquote(urlsplit(where).path)).resolve() for _, where in links.found}
            if wanted not in targets:
                yield f"the walk {line}: {here} does not link {there}"


def _fault(site: Path, page: Path, tag: str, where: str) -> str:
    parts = urlsplit(where)
    if parts.scheme in {"data", "javascript", "mailto", "blob"}:
        return ""
    if parts.scheme or parts.netloc:
        return "" if tag == "a" else f"<{tag}> loads {where}"
    if parts.path.startswith("/"):
        return f"<{tag}> names {where}, which is another place below a path"
    if not parts.path:
        return ""
    target = (page.parent / unquote(parts.path)).resolve()
    if not target.is_relative_to(site.resolve()):
        return f"<{tag}> leads out of the site: {where}"
    # A host shows a folder's index; a disk shows a list.
    return "" if target.is_file() else f"<{tag}> leads to nothing: {where}"


if __name__ == "__main__":
    if len(sys.argv) != ARGUMENTS:
        sys.exit(f"usage: {sys.argv[0]} SITE")
    walks = (Path(__file__).parents[1] / "docs" / "history" / "reader-walks.md").read_text(encoding="utf-8")
    faults = [*wrong(Path(sys.argv[1])), *broken_walks(Path(sys.argv[1]), walks)]
    for fault in faults:
        print(fault, file=sys.stderr)  # noqa: T201 - what it is for
    sys.exit(bool(faults))
