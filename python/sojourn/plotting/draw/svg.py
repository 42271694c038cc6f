"""SVG that follows the page: its text colour, its dark mode; and files of it that stand alone."""

import hashlib
import html
import re
from typing import Final

from sojourn.plotting.draw.style import FAINT, INK, TICKS

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_VIEW: Final = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
_STANDALONE = (
    "<style>svg{color:#1b1f24;--faint:#d5d9de}"
    "@media (prefers-color-scheme:dark){svg{color:#d7dce1;--faint:#3c434b}}</style>"
)


def slim(text: str, label: str) -> str:
    """Remove the parts of matplotlib's SVG that a page does not need, and make identifiers unique to this figure.

    Args:
        text: matplotlib's output, in the colours of :mod:`sojourn.plotting.draw.style`.
        label: a description for readers who do not see it.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = text.replace(INK, "currentColor").replace(FAINT, "var(--faint)")
    text = re.sub(r"font: ([0-9.]+)px [^;\"]*", rf"font: \1px {_FONT}", text)
    # Of places a tenth of a pixel is enough; text keeps its digits.
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(-?\d+\.\d)\d+", r"\1", tag[0]), text)
    # Attributes for a page's script: the axes, in order, and the texts at a time.
    text = re.sub(r' id="axes_(\d+)"', r' data-axes="\1"', text)
    text = text.replace(' id="event"', ' class="event"')
    text = _renamed(text, label)
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(
        r'<svg [^>]*viewBox="([^"]+)"[^>]*>',
        lambda m: (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'viewBox="{m[1]}" role="img" aria-label="{html.escape(_printable(label))}">'
        ),
        text,
        count=1,
    )
    return text.strip()


_TAG: Final = re.compile(r"<[^>]+>")
_NAMING: Final = re.compile(r' id="([^"]+)"')
_NAMED: Final = re.compile(r'(url\(|xlink:href=")#([^)"]+)')


def _renamed(text: str, label: str) -> str:
    """Number the identifiers that are used, drop the others, and add a suffix of this figure.

    matplotlib's depend on the last bit of where the layout put things, which is not the same each time.
    """
    numbers: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        for _, name in _NAMED.findall(tag[0]):
            numbers.setdefault(name, len(numbers))

    def renamed(mark: str) -> str:
        def within(tag: re.Match[str]) -> str:
            named = _NAMED.sub(lambda m: f"{m[1]}#{mark}-{numbers[m[2]]}", tag[0])
            return _NAMING.sub(lambda m: f' id="{mark}-{numbers[m[1]]}"' if m[1] in numbers else "", named)

        return _TAG.sub(within, text)

    return renamed("i" + hashlib.sha256(f"{label} {renamed('')}".encode()).hexdigest()[:8])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


_LEAST_LETTERS: Final = 10.0
"""Pixels: a size that people read on a phone."""


def bounded(element: str) -> str:
    """Return the element as a page shows it: as wide as its frame, and wide enough for letters to be read.

    On a phone the frame is narrower than that, and is scrolled; it needs ``overflow-x: auto``.
    """
    head, body = element.split(">", 1)
    if " style=" in head:
        # It says itself how wide it may be.
        return element
    least = float(_VIEW.findall(head)[0][2]) * _LEAST_LETTERS / TICKS
    return f'{head} style="width:100%;min-width:{least:.0f}px">{body}'


def standalone(element: str) -> str:
    """Return an SVG file for an element: with colours of its own."""
    head, body = element.split(">", 1)
    return f"{head}>{_STANDALONE}{body}\n"
