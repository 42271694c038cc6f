"""One run in a results folder."""

import hashlib
import io
import json
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from sojourn import _core
from sojourn.core.scenario import Scenario
from sojourn.core.store.reading import MOST_TEXT, damaged, read, seal, unsealed, why
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

HEAD: Final = "scenario.json"
"""What says of a run what it is and which tables it has."""

LAST_CAPTURE: Final = "client.pcap"
"""The capture that every run has; a run gets it after all others, so with it they are whole."""

CAPTURES: Final = "captures.sha256"
"""The checksums of a run's captures, as ``sha256sum`` writes them."""


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
    if key.repetition > 1:
        head["repetition"] = key.repetition
    if written:
        head["texts"] = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    if key.warnings:
        head["warnings"] = list(key.warnings)
    if remarks is not None:
        head["remarks"] = list(remarks)
    if imported is not None:
        head["imported"] = imported
    files[HEAD] = seal(json.dumps(head, indent=1, ensure_ascii=False))
    return files


def checksums(files: Iterable[Path]) -> bytes:
    """Return the checksums of these files as ``sha256sum`` writes them."""
    lines = []
    for path in sorted(files):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    return "".join(lines).encode()


@dataclass(frozen=True)
class Record:
    """A stored run. Tables are read when asked for."""

    path: Path
    """Its folder."""

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """``scenario.json``: label, engine, version, command, the scenario and the tables' sizes.

        Invariant: whoever reads it finds every key of the kind that it was written with; the scenario is one that the
        extension module has read, and the folder is called as the run is.

        Raises:
            StoreError: naming the file that is damaged, or not a plain file of this folder.
        """
        file = self.path / HEAD
        if self.path.is_symlink():
            raise damaged(self.path, "it is a symbolic link")
        try:
            head: Any = unsealed(read(file, MOST_TEXT))
            wrong = next(_faults(head), "")
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise damaged(file, why(error)) from error
        if wrong:
            raise damaged(file, wrong)
        key = _key(head)
        if key.folder_name != self.path.name:
            raise damaged(file, f"it is of another run: the folder would be {key.folder_name}")
        try:
            resolved = _core.Scenario(json.dumps(head["scenario"]))
        except ValueError as error:
            raise StoreError(
                f"{file} holds a scenario that this Sojourn does not read: {error}",
                help=f"Sojourn {head['version']} wrote it; repeat the run with this one",
            ) from error
        for name, table in head["tables"].items():
            _check_size(self.path / f"{name}.parquet", table["bytes"])
        # What this version writes out and an earlier one did not know has its default.
        return {**head, "scenario": json.loads(resolved.json), "resolved": resolved}

    @property
    def captures(self) -> list[Path]:
        """Its packet captures, if they were asked for; see :data:`LAST_CAPTURE`."""
        if not (self.path / LAST_CAPTURE).exists():
            return []
        return sorted(file for file in self.path.glob("*.pcap") if stat.S_ISREG(file.lstat().st_mode))

    @property
    def key(self) -> RunKey:
        """What was run."""
        return _key(self.head)

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
        content = read(file, self.head["tables"][name]["bytes"])
        # Folders of earlier versions state none.
        stated = self.head["tables"][name].get("sha256")
        if stated is not None and hashlib.sha256(content).hexdigest() != stated:
            raise damaged(file, "its SHA-256 is not that of the table that was written")
        return read_parquet(file, content)

    def text(self, name: str) -> bytes:
        """Read one of its texts.

        Raises:
            StoreError: if its file is damaged.
        """
        file = self.path / name
        content = read(file, MOST_TEXT)
        if hashlib.sha256(content).hexdigest() != self.head["texts"][name]:
            raise damaged(file, "its SHA-256 is not that of the text that was written")
        return content

    @property
    def texts(self) -> list[str]:
        """The names of its files for people to read."""
        return list(self.head.get("texts", {}))

    @property
    def files(self) -> list[Path]:
        """Every file that belongs to it."""
        names = [HEAD, *(f"{name}.parquet" for name in self.tables), *self.texts]
        sums = self.path / CAPTURES
        packets = [sums, *self.captures] if self.captures and sums.exists() else self.captures
        return [*(self.path / name for name in names), *packets]

    def scan(self, name: str) -> pl.LazyFrame:
        """Return one table for a query; it is read, and its checksum verified, at once.

        Raises:
            StoreError: as :meth:`table`.
        """
        return self.table(name).lazy()


def read_parquet(file: Path, content: bytes) -> pl.DataFrame:
    """Return a table; ``file`` is where it is from.

    Raises:
        StoreError: if it is not as Parquet has it.
    """
    try:
        return pl.read_parquet(content, memory_map=False)
    # Polars panics at some files that are not as they were written, and its panics are no Exceptions.
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(file, error) from error


def _key(head: Mapping[str, Any]) -> RunKey:
    measured = frozenset(head.get("imported", {}).get("measured", ()))
    warnings = tuple(head.get("warnings", ()))
    return RunKey(
        Scenario(head["scenario"]),
        head["label"],
        head["engine"],
        head["version"],
        measured,
        warnings,
        head.get("resolved"),
        head.get("repetition", 1),
    )


def _check_size(table: Path, size: int) -> None:
    try:
        found = table.lstat()
    except OSError as error:
        raise damaged(table, why(error)) from error
    if not stat.S_ISREG(found.st_mode):
        raise damaged(table, "it is not a plain file")
    if found.st_size != size:
        raise damaged(table, f"it has {found.st_size} bytes and was written with {size}")


def _faults(head: Any) -> Iterator[str]:  # noqa: ANN401 - anything that JSON can say
    """Yield what is wrong with the head of a record: each part must be of the kind that is written."""
    yield from (f"it has {key!r}, which no run has" for key in head.keys() - _KINDS.keys())
    for key, kind in _KINDS.items():
        if not isinstance(head.get(key, kind()) if key in _OPTIONAL else head[key], kind):
            yield f"{key} is of another kind"
    for name, table in head["tables"].items():
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", name):
            yield f"{name!r} is no name of a table"
        if not (_is_count(table["rows"]) and _is_count(table["bytes"]) and _is_digest(table.get("sha256", "0" * 64))):
            yield f"the entry of the table {name} is of another kind"
    for name, digest in head.get("texts", {}).items():
        if not (re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) and _is_digest(digest)):
            yield f"{name!r} is no name of a text with its checksum"
    yield from (
        f"the scenario's {key} is of another kind"
        for key, kind in _SCENARIO.items()
        if not isinstance(head["scenario"][key], kind)
    )
    if not all(map(_is_remark, head.get("remarks", ()))):
        yield "a remark is of another kind"
    texts = [*head.get("warnings", ()), *head.get("imported", {}).get("measured", ())]
    if not all(isinstance(own, str) for own in texts):
        yield "a warning is of another kind"


def _is_count(own: object) -> bool:
    return isinstance(own, int) and not isinstance(own, bool) and own >= 0


def _is_digest(own: object) -> bool:
    return isinstance(own, str) and re.fullmatch(r"[0-9a-f]{64}", own) is not None


def _is_remark(own: object) -> bool:
    return (
        isinstance(own, Mapping)
        and isinstance(own.get("flows"), list)
        and all(isinstance(own.get(key), str) for key in ("about", "message", "help"))
    )


_OPTIONAL: Final[Mapping[str, type]] = {
    "warnings": list,
    "remarks": list,
    "imported": dict,
    "texts": dict,
    "repetition": int,
}
"""What some heads have."""

_KINDS: Final[Mapping[str, type]] = {
    "label": str,
    "engine": str,
    "version": str,
    "command": str,
    "scenario": dict,
    "tables": dict,
    **_OPTIONAL,
}
"""What heads have."""

_SCENARIO: Final[Mapping[str, type]] = {
    "experiment": str,
    "cell": list,
    "seed": int,
    "duration": str,
    "hops": list,
    "flows": list,
    "checks": list,
}
"""What is read of a scenario before the extension module reads it whole."""
