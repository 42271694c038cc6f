"""The output of a reader of another program's files, and its way into a results folder."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn import _core
from sojourn.core.scenario import Scenario
from sojourn.core.store import Folder, Record, RunKey
from sojourn.errors import DataFileError, SojournError

PROVENANCE: Final = "sampled, imported"
"""What ``scenario.json`` says of an imported run's numbers."""

UNKNOWN: Final = "unknown"
"""What stands where a file does not say."""

Tables = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Incoming:
    """A file that has been read."""

    path: Path
    digest: str
    """SHA-256 of its bytes, which identifies the file."""
    engine: str
    """The name of the run's engine."""
    version: str
    """Of the program that wrote it."""
    scenario: dict[str, Any]
    """The known part of the experiment, not resolved yet."""
    measured: Sequence[str]
    """The settings that were measured rather than asked for (:attr:`sojourn.core.store.RunKey.measured`)."""
    about: Mapping[str, Any]
    """Further entries on the file for ``scenario.json``."""
    tables: Callable[[Mapping[str, Any]], tuple[Tables, Sequence[str]]]
    """The run's tables, from the resolved scenario, and the columns of flows that the file has nothing for."""
    left_out: Sequence[str] = ()
    """Contents of the file that have no place in a run; a phrase each."""


@dataclass(frozen=True)
class Imported:
    """The result for one file."""

    file: Path
    record: Record
    new: bool
    """Whether it was not in the folder before."""
    left_out: Sequence[str]
    """Contents of the file that have no place in a run."""


def digest_of(record: Record) -> str:
    """Return the SHA-256 of the file that a run is from; empty if no file is known."""
    return str(record.head["imported"].get("sha256", ""))


def add(file: Incoming, folder: Folder, known: dict[str, Record], command: str) -> Imported:
    """Add a file to a folder, unless it is there already.

    Args:
        file: which.
        folder: where to.
        known: the folder's runs by :func:`digest_of`; the new one is added.
        command: the command that asked for it.

    Raises:
        DataFileError: if its data on the experiment are inconsistent.
        StoreError: if the folder cannot be written.
    """
    if file.digest in known:
        return Imported(file.path, known[file.digest], new=False, left_out=file.left_out)
    scenario = dict(file.scenario)
    others = [record.head["scenario"] for record in known.values()]
    taken = {s["seed"] for s in others if (s["experiment"], s["cell"]) == (scenario["experiment"], scenario["cell"])}
    # Repetitions of one cell get different seeds.
    scenario["seed"] = next(n for n in (scenario["seed"], *range(1, len(taken) + 2)) if n not in taken)
    try:
        resolved = _core.Scenario(json.dumps(scenario))
        resolved.check()
    except (ValueError, SojournError) as error:
        why = error.message if isinstance(error, SojournError) else error
        raise DataFileError(
            file.path,
            f"the scenario in it does not hold together: {why}",
            help="if another version of Sojourn wrote it, export it again with this one",
        ) from error
    found = Scenario(resolved.mapping)
    tables, missing = file.tables(found)
    imported = {
        "file": file.path.name,
        "sha256": file.digest,
        **file.about,
        "provenance": PROVENANCE,
        "not_in_the_file": missing,
        "measured": file.measured,
    }
    key = RunKey(resolved, file.engine, file.version, tuple(file.measured))
    record = folder.add(key, tables, command=command, imported=imported)
    known[file.digest] = record
    return Imported(file.path, record, new=True, left_out=file.left_out)
