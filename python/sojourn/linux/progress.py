"""How far a build is."""

import sys
from collections.abc import Callable

Say = Callable[[str, float], None]
"""Called with the current step and its progress: 0 to 1."""


def silent(_what: str, _share: float) -> None:
    """Say nothing."""


def terminal_say() -> Say:
    """Return a progress for a terminal: what, and how much, in one line that is written over."""
    shown: list[tuple[str, int]] = []

    def say(what: str, share: float) -> None:
        percent = int(100 * share)
        if shown and shown[-1] == (what, percent):
            return
        new = not shown or shown[-1][0] != what
        shown.append((what, percent))
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{what}" + (f" {percent} %" if percent else ""))
        elif new or percent % 10 == 0:
            sys.stderr.write(f"{what}" + (f" {percent} %" if percent else "") + "\n")
        sys.stderr.flush()

    return say
