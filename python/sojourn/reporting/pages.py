"""Every page that a results folder gets: published reports, and one page of all other runs."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.experiments import library
from sojourn.reporting import templates
from sojourn.reporting.report import PANELS, build, write

GENERIC = "runs"
"""The name of the page that shows every run and has no template."""


def pages(
    path: Path,
    *,
    chosen: Sequence[str] = (),
    processes: int = 1,
    panels: int = PANELS,
    watcher: Callable[[str], None] = lambda _: None,
) -> list[tuple[Path, Path]]:
    """Write the pages of a results folder; return the Markdown and the HTML file of each.

    Suites that are published reports have templates of their own. The other runs are on one page that shows every
    run, with the claims on each scenario; and so is a scenario that stands alone for its suite.

    Args:
        path: the results folder.
        chosen: templates by name or file, or :data:`GENERIC`; those that the folder's suites have if empty.
        processes: how many draw at a time.
        panels: how many cells the page of all runs draws.
        watcher: gets a line about how far it is.

    Raises:
        UsageError: if there is no such template.
        StoreError: if the folder is damaged or cannot be written.
    """
    folder = Folder.open(path)
    found = {record.brief.experiment for record in folder.records()}
    published = templates.published()
    suites = {suite for suite in published if _many(suite, found)}
    wanted = [_template(name) for name in chosen] if chosen else [published[name] for name in sorted(suites)]
    rest = set() if chosen else {name for name in found if name.partition("/")[0] not in suites}
    written = []
    evidence = templates.Evidence(folder)
    for template in wanted:
        if template is None:
            rest = found
            continue
        watcher(f"reading for {template.name}")
        page = templates.render(
            evidence,
            template,
            processes=processes,
            watcher=lambda done, of: watcher(f"{done} of {of} pictures drawn"),
        )
        written.append((page.markdown, page.html))
    if rest or not wanted:
        watcher("reading")
        made = build(
            folder,
            experiments=rest or found,
            processes=processes,
            drawn=lambda done, of: watcher(f"{done} of {of} panels drawn"),
            panels=panels,
        )
        html, markdown = write(folder, made)
        written.append((markdown, html))
    return written


def _many(suite: str, found: Collection[str]) -> bool:
    """Whether there are several scenarios of a suite, or all that it has."""
    own = {name for name in found if name.partition("/")[0] == suite}
    return len(own) > 1 or len(own) == len(library.suites().get(suite, {})) > 0


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
