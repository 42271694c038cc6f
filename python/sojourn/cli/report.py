"""``sojourn report``."""

import os
from collections.abc import Collection
from pathlib import Path

from sojourn.cli.screen import err, out, print_json
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.experiments import library
from sojourn.reporting import templates
from sojourn.reporting.report import PANELS, build, write


def report(
    path: Path, *, chosen: list[str], threads: int | None, panels: int | None = None, as_json: bool = False
) -> None:
    """Write the pages of a results folder and say where they are.

    Suites that are published reports have templates of their own. What is not of such a suite is on one page that
    shows every run, with the claims on each scenario; and so is a scenario that stands alone for its suite.
    """
    folder = Folder.open(path)
    processes = threads or os.cpu_count() or 1
    found = {record.key.scenario["experiment"] for record in folder.records()}
    suites = {suite for suite in templates.published() if _many(suite, found)}
    pages = [_template(name) for name in chosen] if chosen else [templates.published()[name] for name in sorted(suites)]
    rest = set() if chosen else {name for name in found if name.partition("/")[0] not in suites}
    console = err()
    written: list[dict[str, str]] = []
    evidence = templates.Evidence(folder)

    def say(markdown: Path, html: Path) -> None:
        written.append({"markdown": str(markdown), "html": str(html)})
        if not as_json:
            out().print(f"{markdown}\n{html}", soft_wrap=True)

    for template in pages:
        if template is None:
            rest = found
            continue
        with console.status(f"reading for {template.name}") as status:
            page = templates.render(
                evidence,
                template,
                processes=processes,
                watcher=lambda done, of: status.update(f"{done} of {of} pictures drawn"),
            )
        say(page.markdown, page.html)
    if rest or not pages:
        with console.status("reading") as status:
            made = build(
                folder,
                experiments=rest or found,
                processes=processes,
                drawn=lambda done, of: status.update(f"{done} of {of} panels drawn"),
                panels=panels or PANELS,
            )
            html, markdown = write(folder, made)
        say(markdown, html)
    if as_json:
        print_json({"pages": written})


def _many(suite: str, found: Collection[str]) -> bool:
    """Whether there are several scenarios of a suite, or all that it has."""
    own = {name for name in found if name.partition("/")[0] == suite}
    return len(own) > 1 or len(own) == len(library.suites().get(suite, {})) > 0


GENERIC = "runs"
"""What the page is called that shows every run and has no template."""


def _template(name: str) -> Path | None:
    known = templates.published()
    path = Path(name)
    if name == GENERIC:
        return None
    if name in known:
        return known[name]
    if path.suffix == ".md" or path.is_file():
        if not path.is_file():
            raise UsageError(f"there is no file {name}")
        return path
    raise UsageError.unknown("template", name, [GENERIC, *known])
