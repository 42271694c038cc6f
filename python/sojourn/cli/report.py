"""``sojourn report``."""

from pathlib import Path

from sojourn.cli.screen import err, out, print_json
from sojourn.reporting.pages import pages
from sojourn.reporting.report import PANELS
from sojourn.runner import cores


def report(
    path: Path, *, chosen: list[str], threads: int | None, panels: int | None = None, as_json: bool = False
) -> None:
    """Write the pages of a results folder and say where they are."""
    with err().status("reading") as status:
        written = pages(
            path, chosen=chosen, processes=threads or cores(), panels=panels or PANELS, watcher=status.update
        )
    if as_json:
        print_json({"pages": [{"markdown": str(markdown), "html": str(html)} for markdown, html in written]})
        return
    for markdown, html in written:
        out().print(f"{markdown}\n{html}", soft_wrap=True)
