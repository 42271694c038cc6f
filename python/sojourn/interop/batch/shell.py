r"""A command as the shell reads it: words, with one level of quotes removed.

A batch's commands go to ``sh -c``; the harness joins its arguments and has the shell read them a second time, then
reads each hook a third time. So ``\"qdisc right root fq\; …\"`` is one argument of two hooks at the second reading, and
the text in ``\\\"…\\\"`` is one argument of a hook. This is the shell's quoting (POSIX.1-2017, Shell Command
Language 2.2) and its splitting at blanks; of its expansions only names that are not set, which are empty.
"""

import re
from collections.abc import Sequence
from typing import Final

from sojourn.interop.batch.placed import File, Placed

_UNSET: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_-]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
_ESCAPED_IN_QUOTES: Final = frozenset('"\\$`\n')


def words(text: Placed, file: File) -> list[Placed]:
    r"""Return the words of a command.

    >>> from sojourn.interop.batch.placed import File, Placed
    >>> [w.text for w in words(Placed.of(r'mid \"a\; b\"  "c d"', 1), File("x", ()))]
    ['mid', '"a;', 'b"', 'c d']

    Raises:
        ExperimentError: if a quote is not closed.
    """
    found: list[Placed] = []
    part: list[Placed] | None = None
    quote = ""
    i = 0
    while i < len(text):
        c = text[i]
        if c == "\\" and quote != "'" and i + 1 < len(text) and text[i + 1] == "\n":
            i += 2
            continue
        if c == "\\" and quote != "'" and i + 1 < len(text) and (not quote or text[i + 1] in _ESCAPED_IN_QUOTES):
            part = [*(part or []), text[i + 1 : i + 2]]
            i += 2
            continue
        if quote and c == quote:
            quote = ""
        elif not quote and c in "\"'":
            quote, opened, part = c, text[i : i + 1], part or []
        elif not quote and c.isspace():
            if part is not None:
                found.append(Placed.join(part, text[i:].line))
            part = None
        else:
            part = [*(part or []), text[i : i + 1]]
        i += 1
    if quote:
        raise file.error(f"the quote {quote} is not closed", opened)
    if part is not None:
        found.append(Placed.join(part, text.line))
    return found


def again(argument_words: Sequence[Placed], file: File) -> list[Placed]:
    """Return the words of a second reading: the arguments joined by blanks and read as a command once more."""
    parts: list[Placed] = []
    for word in argument_words:
        parts += [word, Placed.of(" ", word.line)]
    return words(Placed.join(parts, argument_words[0].line if argument_words else 1), file)


def without_unset(text: Placed) -> tuple[Placed, list[Placed]]:
    """Return a text without the names that nothing sets, and these: the shell makes them empty."""
    missing: list[Placed] = []
    kept: list[Placed] = []
    at = 0
    for match in _UNSET.finditer(text.text):
        kept.append(text[at : match.start()])
        missing.append(text[match.start() : match.end()])
        at = match.end()
    kept.append(text[at:])
    return Placed.join(kept, text.line), missing
