"""Text with a line number for each character."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, overload

from sojourn.errors import ExperimentError


@dataclass(frozen=True, slots=True)
class Placed:
    """A text and, for each of its characters, the line of the batch file that it was written in.

    >>> word = Placed.of("qdisc", 7)
    >>> (word[1:] + Placed.of("!", 9)).lines
    (7, 7, 7, 7, 9)
    """

    text: str
    lines: tuple[int, ...]
    line: int
    """Where it begins; where it would stand if it is empty."""

    @classmethod
    def of(cls, text: str, line: int) -> "Placed":
        """Return a text of one line."""
        return cls(text, (line,) * len(text), line)

    @classmethod
    def join(cls, parts: Iterable["Placed"], line: int) -> "Placed":
        """Return the parts in a row; ``line`` is the place if they are empty."""
        kept = [part for part in parts if part.text]
        text = "".join(part.text for part in kept)
        lines = tuple(n for part in kept for n in part.lines)
        return cls(text, lines, lines[0] if lines else line)

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    def __len__(self) -> int:
        return len(self.text)

    def __add__(self, other: "Placed") -> "Placed":
        return Placed.join([self, other], self.line)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "Placed": ...
    def __getitem__(self, at: int | slice) -> "str | Placed":
        if isinstance(at, int):
            return self.text[at]
        start = at.indices(len(self.text))[0]
        line = self.lines[start] if start < len(self.lines) else (self.lines[-1] if self.lines else self.line)
        return Placed(self.text[at], self.lines[at], line)

    def strip(self) -> "Placed":
        """Return it without blanks at either end."""
        start = len(self.text) - len(self.text.lstrip())
        return self[start : len(self.text.rstrip())] if self.text.strip() else Placed("", (), self.line)

    def split(self, separator: str) -> list["Placed"]:
        """Return the stripped parts between separators outside of double quotes; no empty ones."""
        parts, start, quoted = [], 0, False
        for i, c in enumerate(self.text):
            if c == '"':
                quoted = not quoted
            elif c == separator and not quoted:
                parts.append(self[start:i])
                start = i + 1
        parts.append(self[start:])
        return [part for part in (p.strip() for p in parts) if part]

    def unquoted(self) -> "Placed":
        """Return it without the double quotes around it, if there are any."""
        whole = self.strip()
        if len(whole) >= _PAIR and whole[0] == whole[-1] == '"':
            return whole[1:-1]
        return whole


_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class File:
    """A batch file's name and its lines, for errors."""

    name: str
    source: tuple[str, ...]

    def error(self, message: str, at: "Placed | int", *, help: str | None = None) -> ExperimentError:  # noqa: A002
        """Return an error that shows the line.

        Args:
            message: the error's text.
            at: the text that is wrong, or a line; the text is underlined where the line has it as it is.
            help: what would be right.
        """
        line = at if isinstance(at, int) else at.line
        source = self.source[line - 1] if 0 < line <= len(self.source) else None
        column = width = None
        if isinstance(at, Placed) and at.text and source is not None:
            here = "".join(c for c, n in zip(at.text, at.lines, strict=True) if n == line).strip()
            found = source.find(here) if here else -1
            if found >= 0:
                column, width = found + 1, len(here)
        return ExperimentError(message, file=self.name, line=line, column=column, width=width, source=source, help=help)
