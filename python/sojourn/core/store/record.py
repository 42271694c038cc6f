"""One run in a results folder."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.store.atomic import write_folder
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

LAST_CAPTURE: Final = "client.pcap"
"""The capture that every run has; a run gets it after all others, so with it they are whole."""


def write_record(
    folder: Path,
    key: RunKey,
    command: str,
    tables: Mapping[str, pl.DataFrame],
    captures: Sequence[Path] = (),
    texts: Mapping[str, str] | None = None,
    imported: Mapping[str, Any] | None = None,
) -> Path:
    """Write a finished run; it appears whole or not at all.

    Args:
        folder: where the runs are.
        key: what was run.
        command: the command that asked for it.
        tables: its results.
        captures: files of packets, which move to the run.
        texts: files for people to read, by name.
        imported: where it is from, and what its numbers are, if no engine of ours made it.

    Returns:
        The run's folder.
    """
    files: dict[str, bytes | memoryview] = {}
    contents: dict[str, dict[str, int]] = {}
    for name, table in tables.items():
        buffer = io.BytesIO()
        table.write_parquet(buffer, compression="zstd", compression_level=3)
        files[f"{name}.parquet"] = buffer.getbuffer()
        contents[name] = {"rows": table.height, "bytes": len(files[f"{name}.parquet"])}
    files |= {name: text.encode() for name, text in (texts or {}).items()}
    head = {
        "label": key.label,
        "engine": key.engine,
        "version": key.version,
        "command": command,
        "scenario": key.scenario,
        "tables": contents,
    }
    if imported is not None:
        head["imported"] = imported
    files["scenario.json"] = (json.dumps(head, indent=1, ensure_ascii=False) + "\n").encode()
    path = folder / key.folder_name
    write_folder(path, files, captures)
    return path


@dataclass(frozen=True)
class Record:
    """A stored run. Tables are read when asked for."""

    path: Path
    """Its folder."""

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """``scenario.json``: label, engine, version, command, the scenario and the tables' sizes."""
        file = self.path / "scenario.json"
        try:
            head = json.loads(file.read_bytes())
            sizes = {name: int(table["bytes"]) for name, table in head["tables"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(file, error) from error
        for name, size in sizes.items():
            table = self.path / f"{name}.parquet"
            try:
                found = table.stat().st_size
            except OSError as error:
                raise _damaged(table, error) from error
            if found != size:
                raise _damaged(table, f"it has {found} bytes and was written with {size}")
        return head  # type: ignore[no-any-return]

    @property
    def captures(self) -> list[Path]:
        """Its packet captures, if they were asked for; see :data:`LAST_CAPTURE`."""
        return sorted(self.path.glob("*.pcap")) if (self.path / LAST_CAPTURE).exists() else []

    @property
    def key(self) -> RunKey:
        """What was run."""
        head = self.head
        measured = frozenset(head.get("imported", {}).get("measured", ()))
        return RunKey(head["scenario"], head["label"], head["engine"], head["version"], measured)

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return list(self.head["tables"])

    def table(self, name: str) -> pl.DataFrame:
        """Read one table.

        Raises:
            StoreError: if there is none of that name, or its file is damaged.
        """
        if name not in self.head["tables"]:
            raise StoreError(f"{self.path} has no table {name!r}", help=f"it has {', '.join(self.tables)}")
        file = self.path / f"{name}.parquet"
        try:
            return pl.read_parquet(file, memory_map=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _damaged(file, error) from error

    def scan(self, name: str) -> pl.LazyFrame:
        """One table, read when the frame is collected."""
        return pl.scan_parquet(self.path / f"{name}.parquet")


def _damaged(file: Path, why: object) -> StoreError:
    return StoreError(
        f"{file} is damaged: {why}",
        help=f"remove {file.parent} and give the command again to have this run made anew",
    )
