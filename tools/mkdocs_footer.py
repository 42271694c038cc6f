"""The foot of each page of the site: the day of its text, the commit that the site is of, and what made the page.

Dates and commits are read from git, commands from the table below: nothing is typed into a page. A copy without git
says the version instead.
"""

import functools
import subprocess
from html import escape
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

from sojourn import _core

ROOT: Final = Path(__file__).parents[1]

BUILD: Final = "make docs"

MADE_BY: Final = {
    "docs/reference/": "python tools/reference_pages.py docs/reference",
    "docs/gallery/": "python tools/gallery_pages.py docs/gallery target/gallery",
    "docs/published.md": "make reports",
    "docs/conformance-results.md": "python tools/conformance_page.py",
    "docs/conformance-mutants.md": "python tools/mutants.py run --csv docs/tables/mutants.csv",
    "docs/known-results.md": "python tools/known_results_page.py",
    "docs/claims.md": "python tools/claims_pages.py --measure DIR",
    "docs/labs/": "python tools/labs_pages.py docs/labs",
    "docs/claims/": "python tools/claims_pages.py docs/claims",
    "docs/validation/": "make validation PUBLISHED=DIR",
    "docs/parity.md": "sojourn parity SUITE -o DIR --markdown FILE.md",
    "docs/validation.md": "make validation PUBLISHED=DIR",
}
"""What writes a page, or its tables, from the program: by the page's file, or the beginning of it."""


@functools.cache
def dates() -> dict[str, str]:
    """Return the day of the last commit of every file, from the repository's root; nothing without git."""
    found: dict[str, str] = {}
    day = ""
    for line in _git("log", "--format=@%cs", "--name-only").splitlines():
        if line.startswith("@"):
            day = line[1:]
        elif line:
            found.setdefault(line, day)
    return found


@functools.cache
def commit() -> str:
    """Return the commit that the site is of and its day, with a word if files differ from it; empty without git."""
    name = _git("describe", "--always", "--exclude=*", "--dirty= with changes").strip()
    return name and f"{name}, {_git('log', '-1', '--format=%cs').strip()}"


def made_by(source: str) -> str:
    """Return the command that writes a page from the program; empty for one that people write.

    >>> made_by("docs/gallery/index.md")
    'python tools/gallery_pages.py docs/gallery target/gallery'
    >>> made_by("docs/truth.md")
    ''
    """
    return next((command for start, command in MADE_BY.items() if source.startswith(start)), "")


def foot(source: str) -> str:
    """Return the foot of a page, as HTML.

    Args:
        source: the page's file, from the repository's root.
    """
    of = f"of commit {escape(commit())}" if commit() else f"by Sojourn {escape(_core.version())}"
    changed = dates().get(source)
    own = made_by(source)
    parts = [
        f"Text of {changed}." if changed else "",
        f"Written from the program by <code>{escape(own)}</code>." if own else "",
        f"Site {of}, made by <code>{BUILD}</code>.",
    ]
    return f'<p class="made">{" ".join(part for part in parts if part)}</p>'


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Put the foot below a page."""
    uri = page.file.src_uri
    root = next((name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md") if name.lower() == uri), None)
    return html + foot(root or f"{Path(config.docs_dir).name}/{uri}")


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
