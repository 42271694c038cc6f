"""Output to the terminal: results to standard output, everything else to standard error."""

import os
import sys
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sojourn.errors import Interrupted, SojournError

_WIDTH: Final = 80
"""Columns if the output is no terminal and COLUMNS is not set."""


class Talk:
    """How much to print in addition to results."""

    quiet: bool = False
    """Results and errors alone."""
    verbose: bool = False
    """Each step of the work."""


TALK: Final = Talk()
"""Of this command; ``-q`` and ``-v`` set it."""


class Screen(Console):
    """A console that takes texts as texts: what would steer a terminal is left out of them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments to write; colours come later, and are not texts."""
        for segment in super().render(renderable, options):
            plain = segment.text.translate(_STEERING)
            yield segment if segment.control or plain == segment.text else Segment(plain, segment.style)


_STEERING: Final = dict.fromkeys(
    [
        *(n for n in range(0x20) if chr(n) not in "\n\t"),
        *range(0x7F, 0xA0),
        0x061C,
        0x200B,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
    ]
)
"""The control characters of ASCII and Latin 1, and those of Unicode that break lines, hide, or reverse what follows."""


def out() -> Console:
    """Return the console for results: as wide as the terminal, or as COLUMNS says; 80 where there is neither."""
    return Screen(highlight=False, width=_asked_width() or (None if sys.stdout.isatty() else _WIDTH))


def is_read_by_a_program() -> bool:
    """Whether results go into a pipe or a file, and nobody says how wide."""
    return _asked_width() is None and not sys.stdout.isatty()


def _asked_width() -> int | None:
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isascii() and asked.isdigit() and int(asked) > 0 else None


def err() -> Console:
    """Return the console for progress and messages."""
    return Screen(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print a message, not a result, in one line of any length; nothing with ``-q``."""
    if TALK.quiet:
        return
    err().print(text, soft_wrap=True, markup=False)


def detail(text: str) -> None:
    """Print what only those want to know who say ``-v``."""
    if TALK.verbose:
        say(text)


def show_error(error: SojournError) -> None:
    """Print an error as the user sees it."""
    first, *rest = error.render().split("\n")
    head = Text("" if isinstance(error, Interrupted) else "error: ", style="bold red")
    err().print(head.append(first, style="bold default"), soft_wrap=True)
    for line in rest:
        style = "bold" if line.startswith("  help:") else ""
        err().print(Text(line, style=style), soft_wrap=True)


def print_json(value: Any) -> None:  # noqa: ANN401 - as JSON is
    """Print a value as JSON, NaN as null, so that every reader takes it."""
    import json

    sys.stdout.write(json.dumps(_without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _without_nan(value: Any) -> Any:  # noqa: ANN401 - as JSON is
    match value:
        case float() if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
            return None
        case dict():
            return {key: _without_nan(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_nan(item) for item in value]
        case _:
            return value
