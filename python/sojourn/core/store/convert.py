"""Folders of format 2, which Sojourn 0.1 and 0.2 wrote: a folder for each run, with a Parquet file for each table.

``sojourn store convert`` reads them once and writes this format. Each file is compared with its checksum, and a run is
converted only if its tables are those of this version. The old folder is left as it is.
"""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn import _core
from sojourn.core.store.folder import Folder
from sojourn.core.store.reading import MOST_TEXT, read, unsealed, why
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

_FORMAT: Final = 2

_LOGS: Final = ("setup", "teardown")


def convert(old: Path, new: Path, *, command: str, failed: Callable[[StoreError], None]) -> int:
    """Write the runs of a folder of format 2 into a new one.

    Args:
        old: the folder to read.
        new: the folder to write.
        command: the command that asks for it; the new folder names the one that made the runs, too.
        failed: gets the error of each run that cannot be read; the others are converted.

    Returns:
        The number of runs.

    Raises:
        StoreError: if the folder is not of format 2, or the new one cannot be written.
    """
    file = old / "manifest.json"
    try:
        manifest: Any = unsealed(read(file, MOST_TEXT))
        version, found = str(manifest["version"]), manifest["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file} is damaged: {why(error)}") from error
    if found != _FORMAT:
        raise StoreError(f"{old} has format {found}; only format {_FORMAT} can be converted")
    done = 0
    with Folder.create(new, version=version, command=f"{manifest['command']}; {command}") as folder:
        for path in sorted((old / "runs").iterdir()):
            if path.name.startswith(".") or not path.is_dir() or path.is_symlink():
                continue
            try:
                _convert(path, folder)
            except StoreError as error:
                failed(error)
            else:
                done += 1
    return done


def _convert(path: Path, folder: Folder) -> None:
    file = path / "scenario.json"
    try:
        head: Any = unsealed(read(file, MOST_TEXT))
        scenario = _core.Scenario(json.dumps(head["scenario"]))
        imported = head.get("imported")
        key = RunKey(
            scenario,
            str(head["engine"]),
            str(head["version"]),
            tuple((imported or {}).get("measured", ())),
            tuple(head.get("warnings", ())),
        )
        stated: dict[str, Any] = head["tables"]
        tables = {name: _table(path / f"{name}.parquet", own.get("sha256")) for name, own in stated.items()}
        logs = [name for name in _LOGS if (path / f"{name}.log").exists()]
        if logs:
            tables["tc"] = _tc(path, logs)
        run = _core.Run(key.resolved, key.engine, key.version, tables)
        encoded = _core.encode_run(
            run,
            key.version,
            command=str(head["command"]),
            warnings=list(key.warnings),
            imported=None if imported is None else json.dumps(imported),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} could not be converted: {why(error)}") from error
    record = folder.add_encoded(encoded)
    if (path / "client.pcap").exists():
        with folder.captures(record.key) as place:
            for capture in path.glob("*.pcap"):
                (place / capture.name).write_bytes(read(capture, 1 << 40))
            folder.add_captures(record.key, place)


def _table(file: Path, stated: str | None) -> pl.DataFrame:
    content = read(file, 1 << 34)
    if stated is not None and hashlib.sha256(content).hexdigest() != stated:
        raise StoreError(f"{file} is damaged: its SHA-256 is not that of the table that was written")
    try:
        return pl.read_parquet(io.BytesIO(content), memory_map=False)
    # Polars panics at some files that are not as they were written, and its panics are no Exceptions.
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise StoreError(f"{file} is damaged: {error}") from error


def _tc(path: Path, logs: list[str]) -> pl.DataFrame:
    """Return the output of tc as the table that it came from: a row for each text under its heading."""
    rows: list[tuple[float, str, str, str]] = []
    for when in logs:
        for part in f"\n{read(path / f'{when}.log', MOST_TEXT).decode()}".split("\n# ")[1:]:
            subject, _, text = part.partition("\n")
            rows.append((0.0, when, subject, text))
    return pl.DataFrame(rows, schema=["t_s", "when", "subject", "text"], orient="row")
