"""Legal settings of an experiment that may be unintended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from sojourn import _core
from sojourn.errors import ExperimentError


@dataclass(frozen=True, slots=True)
class ExperimentWarning:
    """Something that runs as it is written: ``target 5``, which tc takes for 5 µs."""

    place: ExperimentError
    """Text and place: message, help, file, line and column, from 1."""
    runs: Sequence[int]
    """Which runs of the experiment have it, by their places in it."""

    @classmethod
    def of(cls, warning: _core.Warning) -> "ExperimentWarning":
        """Return a warning of the language."""
        place = ExperimentError(
            warning.message,
            file=warning.file,
            line=warning.line,
            column=warning.column,
            width=warning.width,
            source=warning.source,
            help=warning.help,
        )
        return cls(place, tuple(warning.scenarios))

    def __str__(self) -> str:
        """Return it in one line, as it is stored with its runs: ``mine.toml:7:9: …``."""
        own = self.place
        where = ":".join(str(part) for part in (PurePath(own.file or "").name, own.line, own.column))
        return f"{where}: {own.message}"

    def json(self) -> Mapping[str, Any]:
        """Return it for programs."""
        own = self.place
        return {
            "message": own.message,
            "help": own.help,
            "file": own.file,
            "line": own.line,
            "column": own.column,
            "runs": len(self.runs),
        }
