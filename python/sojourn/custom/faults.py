"""Errors in a user's file, with its line and without ours."""

import traceback
from collections.abc import Callable

from sojourn.custom.watchdog import MESSAGE, Endless


class Wrong(Exception):  # noqa: N818 - it becomes an error of the experiment or of the run
    """An error in a class, and its correction."""

    def __init__(self, message: str, help: str) -> None:  # noqa: A002 - the word shown
        super().__init__(message)
        self.message = message
        self.help = help


def raised(error: BaseException, path: str) -> tuple[str, str]:
    """Return the message and the help for an exception from a file, with the line."""
    kind = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"line {error.lineno}: {error.msg}", "fix this line"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    if not own:
        return kind, "see that the file fits what Sojourn calls it with"
    frame = own[-1]
    if isinstance(error, Endless):
        return (
            f"line {frame.lineno}, in {frame.name}: {MESSAGE}",
            f"see why it does not get past line {frame.lineno}; a hook may take seconds, not minutes",
        )
    text = f" ({frame.line})" if frame.line else ""
    return f"line {frame.lineno}, in {frame.name}: {kind}", f"fix line {frame.lineno}{text}"


def place(function: Callable[..., object]) -> str:
    """Return where a method is written: its line."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return f"line {code.co_firstlineno}, " if code is not None else ""
