"""What `mkdocs.yml` cannot say: pages that live at the root, and folders that are listed whole."""

import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

SHIM: Final = "https://unpkg.com/iframe-worker/shim"
"""What the theme's plugin `offline` asks for."""

ROOT_PAGES: Final = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each entry of the navigation that ends in a slash by the pages of that folder, its index first."""
    config.nav = _listed(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, with their links as they are from `docs/`."""
    for name in ROOT_PAGES:
        text = (Path(config.docs_dir).parent / name).read_text()
        text = text.replace("](docs/", "](")
        for other in ROOT_PAGES:
            text = text.replace(f"]({other}", f"]({other.lower()}")
        files.append(File.generated(config, name.lower(), content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Drop the comments that are for the tests and for those who edit."""
    return re.sub(r"^<!--.*?-->\n", "", markdown, flags=re.MULTILINE | re.DOTALL)


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    """Take the script that search needs in files on a disk from the site itself: nothing is loaded from outside."""
    return output.replace(SHIM, "../" * page.url.count("/") + "assets/iframe-worker.js")


def on_post_template(output_content: str, **_: object) -> str:
    """Do the same for the page that says that there is none."""
    return output_content.replace(SHIM, "assets/iframe-worker.js")


def _listed(entry: Any, docs: Path) -> Any:  # noqa: ANN401 - the navigation is nested lists, tables and text
    if isinstance(entry, list):
        return [_listed(one, docs) for one in entry]
    if isinstance(entry, dict):
        return {title: _listed(one, docs) for title, one in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        pages = sorted(page.relative_to(docs).as_posix() for page in (docs / entry).glob("*.md"))
        return sorted(pages, key=lambda page: not page.endswith("/index.md"))
    return entry
