"""Tables that people wrote: CSV with a header, and errors that name file, line and column."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn.errors import UsageError


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a CSV file."""

    file: Path
    line: int
    """From 1; the header is line 1."""
    values: Mapping[str, str]

    def text(self, column: str, default: str = "") -> str:
        """Return the text of a column, without blanks around it; ``default`` if it is empty or not there."""
        return (self.values.get(column) or "").strip() or default

    def number(self, column: str, default: float | None = None) -> float:
        """Return the number in a column.

        Raises:
            UsageError: if there is none, and no default.
        """
        text = self.text(column)
        if not text and default is not None:
            return default
        try:
            return _finite(text)
        except ValueError as error:
            found = f'"{text}"' if text else "nothing"
            raise UsageError(
                f"{self.file}:{self.line}: column {column} has {found}, not a number",
                help="numbers are written like 47.82; the unit is in the column's name",
            ) from error


def _finite(text: str) -> float:
    """Return a number; NaN and infinity, which nothing agrees or differs with, are none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def header(file: Path) -> list[str]:
    """Return the names of a CSV file's columns; none if it cannot be read, which :func:`read` reports."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            return next(csv.reader(lines), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def read(file: Path, needed: tuple[str, ...]) -> list[Entry]:
    """Read a CSV file that has at least the columns ``needed``.

    Raises:
        UsageError: if it cannot be read, lacks a column, or has a row of another length than its header.
    """
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.DictReader(lines)
            columns = reader.fieldnames or []
            missing = [name for name in needed if name not in columns]
            if missing:
                raise UsageError(
                    f"{file}:1: there is no column {', '.join(missing)}",
                    help=f"the columns needed are {', '.join(needed)}; the file has {', '.join(columns) or 'none'}",
                )
            entries = []
            for values in reader:
                line = reader.line_num
                if None in values or None in values.values():
                    raise UsageError(
                        f"{file}:{line}: this row has not as many values as the header has columns ({len(columns)})",
                        help="quote values that contain a comma",
                    )
                entries.append(Entry(file, line, values))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{file} is not a CSV file: {error}") from error
    return entries
