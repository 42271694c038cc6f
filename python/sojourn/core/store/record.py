"""One run in a results folder."""

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn.core.store.damage import why
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

HEAD: Final = "scenario.json"
"""What says of a run what it is and which tables it has."""

LAST_CAPTURE: Final = "client.pcap"
"""The capture that every run has; a run gets it after all others, so with it they are whole."""


def record_files(
    key: RunKey,
    command: str,
    tables: Mapping[str, pl.DataFrame],
    texts: Mapping[str, str] | None = None,
    imported: Mapping[str, Any] | None = None,
    remarks: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, bytes]:
    """Return a finished run as the files that are stored of it, by name.

    Args:
        key: what was run.
        command: the command that asked for it.
        tables: its results.
        texts: files for people to read, by name.
        imported: where it is from, and what its numbers are, if no engine of ours made it.
        remarks: what its results say that its numbers hide.
    """
    files: dict[str, bytes] = {}
    contents: dict[str, dict[str, int | str]] = {}
    for name, table in tables.items():
        buffer = io.BytesIO()
        table.write_parquet(buffer, compression="zstd", compression_level=3)
        content = buffer.getvalue()
        files[f"{name}.parquet"] = content
        contents[name] = {"rows": table.height, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    written = {name: text.encode() for name, text in (texts or {}).items()}
    files |= written
    head: dict[str, Any] = {
        "label": key.label,
        "engine": key.engine,
        "version": key.version,
        "command": command,
        "scenario": key.scenario,
        "tables": contents,
    }
    if written:
        head["texts"] = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    if key.warnings:
        head["warnings"] = list(key.warnings)
    if remarks is not None:
        head["remarks"] = list(remarks)
    if imported is not None:
        head["imported"] = imported
    files[HEAD] = (json.dumps(head, indent=1, ensure_ascii=False) + "\n").encode()
    return files


@dataclass(frozen=True)
class Record:
    """A stored run. Tables are read when asked for."""

    path: Path
    """Its folder."""

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """``scenario.json``: label, engine, version, command, the scenario and the tables' sizes."""
        file = self.path / HEAD
        try:
            head = json.loads(file.read_bytes())
            sizes = {name: int(table["bytes"]) for name, table in head["tables"].items()}
            wrong = _wrong(head)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise _damaged(file, why(error)) from error
        if wrong:
            raise _damaged(file, wrong)
        for name, size in sizes.items():
            table = self.path / f"{name}.parquet"
            try:
                found = table.stat().st_size
            except OSError as error:
                raise _damaged(table, why(error)) from error
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
        warnings = tuple(map(str, head.get("warnings", ())))
        return RunKey(head["scenario"], head["label"], head["engine"], head["version"], measured, warnings)

    @property
    def remarks(self) -> Sequence[Mapping[str, Any]] | None:
        """What its results say that its numbers hide; None if it was written without."""
        remarks: Sequence[Mapping[str, Any]] | None = self.head.get("remarks")
        return remarks

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
            content = file.read_bytes()
        except OSError as error:
            raise _damaged(file, why(error)) from error
        stated = self.head["tables"][name].get("sha256")
        # Folders of earlier versions state none.
        if stated is not None and hashlib.sha256(content).hexdigest() != stated:
            raise _damaged(file, "its SHA-256 is not that of the table that was written")
        try:
            return pl.read_parquet(content, memory_map=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _damaged(file, error) from error

    def scan(self, name: str) -> pl.LazyFrame:
        """Return one table for a query; it is read, and its checksum verified, at once.

        Raises:
            StoreError: as :meth:`table`.
        """
        return self.table(name).lazy()


def _wrong(head: Mapping[str, Any]) -> str:
    """Return what is wrong with the head of a record; nothing if it is as it was written."""
    for name in head["tables"]:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", name):
            return f"{name!r} is no name of a table"
    for key in ("label", "engine", "version", "command"):
        if not isinstance(head[key], str):
            return f"{key} is no text"
    scenario = head["scenario"]
    for key, kind in _SCENARIO.items():
        if not isinstance(scenario[key], kind):
            return f"the scenario's {key} is of another kind"
    if not all(isinstance(pair, list) and len(pair) == len(("axis", "label")) for pair in scenario["cell"]):
        return "the scenario's cell is no list of axes and labels"
    if not all(map(_is_remark, head.get("remarks", ()))):
        return "a remark is of another kind"
    other = next((key for key, kind in _BESIDE.items() if not isinstance(head.get(key, kind()), kind)), None)
    return "" if other is None else f"{other} is of another kind"


def _is_remark(own: object) -> bool:
    return (
        isinstance(own, Mapping)
        and isinstance(own.get("flows"), list)
        and all(isinstance(own.get(key), str) for key in ("about", "message", "help"))
    )


_BESIDE: Final[Mapping[str, type]] = {"warnings": list, "remarks": list, "imported": dict, "texts": dict}
"""What some heads have."""


_SCENARIO: Final[Mapping[str, type]] = {
    "experiment": str,
    "cell": list,
    "seed": int,
    "duration": str,
    "hops": list,
    "flows": list,
    "checks": list,
}
"""What is read of a scenario before the extension module checks it whole."""


def _damaged(file: Path, why: object) -> StoreError:
    return StoreError(
        f"{file} is damaged: {why}",
        help=f"remove {file.parent} and give the command again to have this run made anew",
    )
