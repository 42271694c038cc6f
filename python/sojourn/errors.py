"""Everything that Sojourn refuses or fails at, as one tree of exceptions.

The command line shows :meth:`SojournError.render` and leaves with :attr:`SojournError.status`; the extension
module raises these same classes. ``str(error)`` is the text on the command line, with place and help;
``error.message`` is the message alone.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, Self


class SojournError(Exception):
    """The root: catch this to catch everything that Sojourn raises on purpose."""

    status: ClassVar[int] = 2
    """Exit status of the command line: 2 for user errors, 1 for a run that failed."""

    def __init__(self, message: str, *, help: str | None = None) -> None:  # noqa: A002 - the word shown
        super().__init__(message)
        self.message = message
        self.help = help

    def __str__(self) -> str:
        """Return what :meth:`render` does."""
        return self.render()

    def render(self) -> str:
        """Return the message as the command line prints it, over several lines where there is a help."""
        return self.message if self.help is None else f"{self.message}\n  help: {self.help}"


class ExperimentError(SojournError):
    """A mistake in an experiment, with its place."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        width: int | None = None,
        source: str | None = None,
        help: str | None = None,  # noqa: A002 - the word shown
        also: Sequence["ExperimentError"] = (),
    ) -> None:
        super().__init__(message, help=help)
        self.also = tuple(also)
        """The other mistakes of the same experiment."""
        self.file = file
        """The file's name as it was given."""
        self.line = line
        """Line, from 1."""
        self.column = column
        """Column in characters, from 1."""
        self.width = width
        """Length of the place in characters."""
        self.source = source
        """The text of that line."""

    def render(self) -> str:
        """Return message, place, the line with the place underlined and the help, of this and the other mistakes."""
        lines = [self.message]
        if self.file is not None:
            place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
            lines.append(f"  --> {place}")
        if self.source is not None:
            # What is no file has no number of its line.
            number = "" if self.line is None else str(self.line)
            margin = " " * len(number)
            shown, at = _around(self.source, (self.column or 1) - 1)
            lines += [f" {margin} |", f" {number} | {shown}"]
            if self.column is not None:
                # Tabs are kept, so that the mark points at the same place in any terminal.
                before = "".join("\t" if c == "\t" else " " for c in shown[:at])
                room = max(1, len(shown) - at)
                lines.append(f" {margin} | {before}{'^' * max(1, min(self.width or 1, room))}")
        if self.help is not None:
            lines.append(f"  help: {self.help}")
        for other in self.also:
            lines += ["", *other.render().split("\n")]
        return "\n".join(lines)


def _around(line: str, at: int) -> tuple[str, int]:
    """Return the shown part of a line, and the place within it: of a long line only the part around the place.

    >>> _around("qdisc = 'pie'", 8)
    ("qdisc = 'pie'", 8)
    >>> shown, at = _around("a" * 500 + "!" + "b" * 500, 500)
    >>> len(shown), shown[at], shown[:2], shown[-2:]
    (162, '!', '…a', 'b…')
    """
    if len(line) <= 2 * _AROUND:
        return line, at
    start = max(0, min(at, len(line)) - _AROUND)
    end = min(len(line), start + 2 * _AROUND)
    head, tail = "…" if start > 0 else "", "…" if end < len(line) else ""
    return f"{head}{line[start:end]}{tail}", at - start + len(head)


_AROUND: Final = 80
"""Characters to either side of a place that are shown of a long line."""


class UsageError(SojournError):
    """A command or a call that asks for something that is not there."""

    @classmethod
    def unknown(cls, kind: str, name: str, known: list[str], renamed: str | None = None) -> Self:
        """Return an error with the unknown name, the nearest known one, and all of them where they are few.

        Args:
            kind: the kind of name.
            name: the unknown name.
            known: the available names.
            renamed: what to say instead where earlier versions had this name.
        """
        if renamed is not None:
            return cls(renamed)
        import difflib  # noqa: PLC0415 - only on the way to an error

        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        if near:
            advice = f'did you mean "{near[0]}"?'
        elif known:
            advice = f"available: {', '.join(known)}"
        else:
            advice = None
        return cls(f'there is no {kind} "{name}"', help=advice)


class StoreError(SojournError):
    """A results folder that cannot be read or written."""


class DataFileError(SojournError):
    """A data file of another program that cannot be read."""

    def __init__(self, file: object, message: str, *, help: str | None = None) -> None:  # noqa: A002 - the word shown
        super().__init__(f"{file}: {message}", help=help)


class RunError(SojournError):
    """A run that failed in the engine: a fault of Sojourn, or of the machine, not of the experiment."""

    status: ClassVar[int] = 1


class Refused(SojournError):  # noqa: N818 - it is an answer: the engine says what it cannot do
    """Something that this engine cannot run, named before anything ran."""


class Interrupted(SojournError):  # noqa: N818 - asked for by the user
    """Ctrl-C. Whatever had finished is kept."""

    status: ClassVar[int] = 130
