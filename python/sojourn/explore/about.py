"""The description of one run: where it is from, what its results hide, and how it is made again."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sojourn import playground
from sojourn.core.cells import group
from sojourn.core.store import Folder
from sojourn.errors import SojournError
from sojourn.explore import series
from sojourn.explore.catalogue import Catalogue, Revision
from sojourn.reporting.report.again import Experiments
from sojourn.views.remarks import remarks
from sojourn.views.run import Run

_MOST_SEEDS: Final = 200
"""Seeds of a cell that are read to say how the cell is made again."""


def about(catalogue: Catalogue, revision: Revision, index: int) -> Mapping[str, Any]:
    """Return the description of a run for a page.

    Args:
        catalogue: the folder's runs.
        revision: the list that the number is from.
        index: the run.

    Raises:
        SojournError: if there is no such run, or it is damaged.
    """
    name = revision.name(index)
    record = catalogue.record(name)
    run = Run.stored(record)
    head = record.head
    own: dict[str, Any] = {
        "label": run.label,
        "engine": run.engine,
        "version": run.key.version,
        "folder": str(record.folder),
        "made_by": head["command"],
        "imported": bool(head.get("imported")),
        "warnings": list(run.key.warnings),
        "remarks": [own.message for own in remarks(run)],
        "tables": [{"name": table, "rows": head["rows"].get(table, 0)} for table in record.tables],
        "columns": series.columns(record),
        "checks": _checks(run),
    }
    return own if own["imported"] else own | _again(catalogue, revision, index, name)


def _checks(run: Run) -> list[dict[str, Any]]:
    try:
        return [{"name": check.name, "said": check.said, "passed": check.passed} for check in run.checks()]
    except SojournError as error:
        return [{"name": "checks", "said": error.message, "passed": None}]


def _again(catalogue: Catalogue, revision: Revision, index: int, name: str) -> dict[str, str]:
    """Return the command that makes the run's cell again, and the one that opens it in the playground."""
    runs = []
    for other in revision.seeds_of_one(index)[:_MOST_SEEDS]:
        try:
            runs.append(Run.stored(catalogue.record(other)))
        except SojournError:
            continue
    root = catalogue.folder.path
    experiments = Experiments(Folder(Path(root), catalogue.folder.version, catalogue.folder.command))
    (cell, *_) = group(runs)
    again = experiments.again(cell, catalogue.record(name))
    found = {"again": again.command}
    if again.playground is not None:
        text, _run = experiments.texts[again.playground]
        found["playground"] = f"sojourn playground {shlex.quote(playground.fragment(text))}"
    return found
