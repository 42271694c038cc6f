"""One run in a results folder."""

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sojourn import _core
from sojourn.core.store.run_key import RunKey
from sojourn.errors import StoreError

if TYPE_CHECKING:
    import polars as pl

LAST_CAPTURE: Final = "client.pcap"
"""The capture that every run has; a run gets it after all others, so with it they are whole."""

CAPTURES: Final = "captures.sha256"
"""The checksums of a run's captures, as ``sha256sum`` writes them."""

_TC: Final = "tc"
"""The table with the output of ``tc``, which users read as texts."""


class Brief(NamedTuple):
    """What the index says of a run."""

    experiment: str
    labels: Sequence[tuple[str, str]]
    """(axis, label)."""
    seed: int
    cell: str
    """The digest of its cell."""
    engine: str
    version: str
    repetition: int
    keep: str
    """How much of it is stored: ``summary``, ``series``, ``all``."""
    tables: Sequence[str]


def checksums(files: Iterable[Path]) -> bytes:
    """Return the checksums of these files as ``sha256sum`` writes them."""
    lines = []
    for path in sorted(files):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    return "".join(lines).encode()


@dataclass(frozen=True, slots=True)
class Record:
    """A stored run. Its head, answers and tables are read on demand; each read compares the checksum."""

    store: _core.Store = field(repr=False)
    folder: Path
    """The results folder."""
    name: str
    """The run's name."""

    @property
    def path(self) -> Path:
        """The folder of the run's own files: its captures. Few runs have one."""
        return self.folder / "runs" / self.name

    @property
    def brief(self) -> Brief:
        """What the index says of the run."""
        return Brief(*self.store.brief(self.name))

    @property
    def head(self) -> Mapping[str, Any]:
        """Command, scenario, the rows of each table; ``warnings`` and ``imported`` where there are some.

        Raises:
            StoreError: if it is damaged, or of a scenario that this Sojourn does not read.
        """
        try:
            head: dict[str, Any] = json.loads(self.store.head(self.name))
            kinds: tuple[tuple[str, type], ...] = (("command", str), ("scenario", dict), ("rows", dict))
            wrong = next((key for key, kind in kinds if not isinstance(head[key], kind)), "")
            imported, warnings = head.setdefault("imported", {}), head.setdefault("warnings", [])
            texts = isinstance(warnings, list) and isinstance(imported, dict) and [*warnings, *_measured(imported)]
            if wrong or texts is False or not all(isinstance(own, str) for own in texts):
                raise self.damaged(f"{wrong or 'imported or warnings'} in its head is of another kind")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self.damaged(f"its head is not as it is written: {error}") from error
        return head

    def damaged(self, why: str) -> StoreError:
        """Return the error that names this run and a way to replace it."""
        return StoreError(
            f"the run {self.name} in {self.folder} is damaged: {why}",
            help=f"`sojourn store prune --damaged --yes {self.folder}`, then give the command again: "
            "it repeats this run alone",
        )

    @property
    def key(self) -> RunKey:
        """What was run.

        Raises:
            StoreError: as :attr:`head`.
        """
        brief = self.brief
        try:
            resolved, measured, warnings = self.store.identified(self.name)
        except ValueError as error:
            _ = self.head  # raises if it is no head at all
            raise StoreError(
                f"the run {self.name} in {self.folder} has a scenario that this Sojourn does not read: {error}",
                help=f"Sojourn {brief.version} wrote it; repeat the run with this one",
            ) from error
        return RunKey(resolved, brief.engine, brief.version, tuple(measured), warnings, brief.keep, brief.repetition)

    @property
    def answers(self) -> _core.Answers | None:
        """The answers that it was stored with; None for an imported run."""
        try:
            return self.store.answers(self.name)
        except ValueError as error:
            raise self.damaged(str(error)) from error

    @property
    def captures(self) -> list[Path]:
        """Its packet captures, if they were asked for; see :data:`LAST_CAPTURE`."""
        if not (self.path / LAST_CAPTURE).exists():
            return []
        return sorted(file for file in self.path.glob("*.pcap") if stat.S_ISREG(file.lstat().st_mode))

    @property
    def tables(self) -> list[str]:
        """The names of its stored tables."""
        return [name for name in self.brief.tables if name != _TC]

    def results(self, names: Iterable[str] | None = None) -> _core.Run:
        """Return the run with these tables, as metrics take it; all if None.

        Raises:
            StoreError: if it is damaged.
        """
        wanted = None if names is None else list(names)
        try:
            return self.store.run(self.name, self.key.resolved, self.key.engine, self.key.version, wanted)
        except ValueError as error:
            raise self.damaged(str(error)) from error

    def table(self, name: str) -> "pl.DataFrame":
        """Read one table.

        Raises:
            StoreError: if there is none of that name, or it is damaged.
        """
        if name not in self.brief.tables:
            raise StoreError(
                f"the run {self.name} has no table {name!r}",
                help=f"it has {', '.join(self.tables)}; it keeps {self.brief.keep}",
            )
        import polars as pl  # noqa: PLC0415 - reading answers needs no frames

        try:
            return pl.DataFrame(self.results([name]).table(name))
        except ValueError as error:
            raise self.damaged(str(error)) from error

    @property
    def texts(self) -> list[str]:
        """The names of its texts: the output of ``tc`` before and after the run, or of a program."""
        return list(self._texts)

    def text(self, name: str) -> bytes:
        """Return one of its texts."""
        return self._texts[name].encode()

    @property
    def _texts(self) -> Mapping[str, str]:
        logs = tc_logs(self.table(_TC)) if _TC in self.brief.tables else {}
        return logs | {str(name): str(text) for name, text in dict(self.head.get("texts", {})).items()}


def _measured(imported: Mapping[str, Any]) -> list[Any]:
    return list(imported.get("measured", ()))


def tc_logs(table: "pl.DataFrame") -> dict[str, str]:
    """Return the output of tc before and after a run as texts, the way the published harness keeps it."""
    import polars as pl  # noqa: PLC0415 - reading answers needs no frames

    texts: dict[str, list[str]] = {}
    for _, when, subject, text in table.cast({pl.Categorical: pl.String}).iter_rows():
        texts.setdefault(f"{when}.log", []).append(f"# {subject}\n{text}")
    return {name: "\n".join(parts) for name, parts in texts.items()}
