"""Numbers and labels as they are written in pictures."""

import re
from typing import Final


def harmless(text: str) -> str:
    r"""Return a text without characters that are not to be read: terminals, XML and Markdown would interpret them.

    >>> harmless("a\x1b[31mb\x00c|d\ne")
    'a�[31mb�c|d\ne'
    """
    return "".join(c if c == "\n" or c.isprintable() else "�" for c in text)


def short(value: float) -> str:
    """Return a number with as many digits as a reader of a bar wants.

    >>> short(47.82), short(0.0042), short(3.14159), short(99.97), short(812.3)
    ('48', '0.0042', '3.1', '100', '812')
    """
    return f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"  # noqa: PLR2004 - two digits up to there


def wrapped(label: str) -> str:
    r"""Return a label for an axis: in two lines where it is long and has a place to break near its middle.

    >>> wrapped("cubic-prague"), wrapped("dualpi2")
    ('cubic-\nprague', 'dualpi2')
    """
    label = harmless(label)
    places = [match.end() for match in re.finditer(r"[-, ]+", label)]
    if len(label) <= _LONG or not places:
        return label
    at = min(places, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:at].rstrip(' ')}\n{label[at:]}"


_LONG: Final = 9
