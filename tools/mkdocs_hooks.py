"""What `mkdocs.yml` cannot say: pages of the root, folders that are listed whole, and what other commands make.

The playground (`make web`) and the published reports (`make reports`) are a part of the site where they were made.
Where they were not, the site says by which command they are.
"""

import os
import re
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from run_here import PLAYGROUND
from site_tables import validation_pages

from sojourn import playground
from sojourn.reporting import templates

SHIM: Final = "https://unpkg.com/iframe-worker/shim"
"""What the theme's plugin `offline` asks for."""

ROOT: Final = Path(__file__).parents[1]
REPORTS: Final = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "reports"
"""The results folder of `make reports`; they are left out where SITE_REPORTS is `no`."""
SCRIPTS: Final = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "web"
"""Where `make web` writes the scripts of the button "Run it here"."""
RUN_HERE: Final = ("run-here.js", "run-here-module.js")

ROOT_PAGES: Final = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each entry of the navigation that ends in a slash by the pages of that folder, its index first."""
    config.nav = _listed(config.nav, Path(config.docs_dir))
    if (SCRIPTS / RUN_HERE[0]).is_file():
        config.extra_javascript.append(f"assets/{RUN_HERE[0]}")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, with their links as they are from `docs/`."""
    for name in ROOT_PAGES:
        text = (Path(config.docs_dir).parent / name).read_text()
        text = text.replace("](docs/", "](")
        for other in ROOT_PAGES:
            text = text.replace(f"]({other}", f"]({other.lower()}")
        files.append(File.generated(config, name.lower(), content=text))
    if playground.PAGE.is_file():
        files.append(File.generated(config, PLAYGROUND, abs_src_path=str(playground.PAGE)))
    for name in RUN_HERE if (SCRIPTS / RUN_HERE[0]).is_file() else ():
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(SCRIPTS / name)))
    for name in reports():
        text, pictures = standing_alone((REPORTS / f"{name}.html").read_text(encoding="utf-8"))
        files.append(File.generated(config, f"published/{name}.html", content=text))
        for picture in pictures:
            files.append(File.generated(config, f"published/{picture}", abs_src_path=str(REPORTS / picture)))
    files.append(File.generated(config, "published.md", content=published()))
    for name, text in validation_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def reports() -> dict[str, str]:
    """Return the published reports that were made, by name, with their titles."""
    if os.environ.get("SITE_REPORTS") == "no":
        return {}
    made = {name: REPORTS / f"{name}.html" for name in templates.published()}
    return {name: _title(page) for name, page in made.items() if page.is_file()}


def standing_alone(report: str) -> tuple[str, list[str]]:
    """Return a report without links to the tables of its runs, which the site has not, and the pictures that it names.

    >>> standing_alone('<a href="runs/s1-1">tables</a>, <a href="s/a=1%2C2.svg">figure</a>, <a href="#x">up</a>')
    ('tables, <a href="s/a=1%2C2.svg">figure</a>, <a href="#x">up</a>', ['s/a=1,2.svg'])
    """
    text = re.sub(r'<a href="runs/[^"]*">(.*?)</a>', r"\1", report)
    named = (unquote(unescape(own)) for own in re.findall(r'(?:href|src)="([^"#:]+)"', text))
    return text, list(dict.fromkeys(named))


def _title(page: Path) -> str:
    found = re.search(r"<title>(.*?)</title>", page.read_text(encoding="utf-8"))
    return unescape(found[1]) if found else page.stem


def published() -> str:
    """Return the page of the published reports."""
    made = reports()
    rows = [f"- [{title}](published/{name}.html)" for name, title in made.items()]
    missing = [name for name in templates.published() if name not in made]
    if missing:
        rows.append(f"\nThis build of the site lacks {', '.join(missing)}; `make reports` writes them.")
    text = """# The published reports

Sojourn ships the experiments of five published reports as suites, and writes each report from its own runs, with
verdicts on the published claims next to the figures. These have one seed per cell. [Claims](claims.md) has the verdicts
with more seeds, and [Validation](validation.md) compares the numbers with the published rows.

"""
    return (
        text
        + "\n".join(rows)
        + """

To make them with ten seeds:

```sh
sojourn run all --seeds 10 -o results/all
sojourn report results/all
```
"""
    )


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put the playground where a page asks for it, and drop the comments for the tests and for those who edit."""
    markdown = markdown.replace("<!-- playground -->\n", _framed() if playground.PAGE.is_file() else "")
    return re.sub(r"^<!--.*?-->\n", "", markdown, flags=re.MULTILINE | re.DOTALL)


def _framed() -> str:
    return f"""
<iframe class="playground" src="{PLAYGROUND}" title="The playground: the simulator in this page"
 loading="lazy"></iframe>

[The playground in a page of its own]({PLAYGROUND}){{ target=_blank }} · [about the playground](playground.md)

"""


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    """Take the script that search needs in files on a disk from the site itself: nothing is loaded from outside."""
    return _named(output).replace(SHIM, "../" * page.url.count("/") + "assets/iframe-worker.js")


def on_post_template(output_content: str, **_: object) -> str:
    """Do the same for the page that says that there is none."""
    return _named(output_content).replace(SHIM, "assets/iframe-worker.js")


def _named(html: str) -> str:
    """Name the theme's search box: without a name, a screen reader says only that it is a dialog."""
    box = 'data-md-component="search" role="dialog"'
    return html.replace(box, f'{box} aria-label="Search"')


def _listed(entry: Any, docs: Path) -> Any:  # noqa: ANN401 - the navigation is nested lists, tables and text
    if isinstance(entry, list):
        return [_listed(one, docs) for one in entry]
    if isinstance(entry, dict):
        return {title: _listed(one, docs) for title, one in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        pages = sorted(page.relative_to(docs).as_posix() for page in (docs / entry).glob("*.md"))
        return sorted(pages, key=lambda page: not page.endswith("/index.md"))
    return entry
