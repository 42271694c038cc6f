"""Matplotlib figures as small SVG that follows the page: its text colour, its dark mode."""

import hashlib
import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Drawn in these colours, which no line has, and then replaced by the page's own.
_INK: Final = "#010101"
_FAINT: Final = "#020202"

STYLE: Final[dict[str, Any]] = {
    "axes.edgecolor": _INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": _INK,
    "axes.titlesize": 10,
    "figure.facecolor": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.color": _FAINT,
    "grid.linewidth": 0.5,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "svg.fonttype": "none",
    "svg.hashsalt": "sojourn",  # the same figure gives the same text
    "text.color": _INK,
    "xtick.color": _INK,
    "xtick.labelsize": 8,
    "ytick.color": _INK,
    "ytick.labelsize": 8,
}
"""The one style of every figure."""


@contextmanager
def styled() -> Iterator[None]:
    """Draw in :data:`STYLE`."""
    import matplotlib as mpl  # noqa: PLC0415 - takes half a second, and only reports draw

    # The names of all settings are a literal type, which a table of some cannot have.
    with mpl.rc_context(cast("Any", STYLE)):
        yield


_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_HEADING: Final = 16
_VIEW: Final = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
_STANDALONE = (
    "<style>svg{color:#1b1f24;--faint:#d5d9de}"
    "@media (prefers-color-scheme:dark){svg{color:#d7dce1;--faint:#3c434b}}</style>"
)


def render(figure: "Figure", label: str, key: str) -> str:
    """Return the figure as an SVG element to stand inside a page.

    Args:
        figure: what to draw, made under :data:`STYLE`.
        label: what it shows, for those who do not see it.
        key: what tells it from the other figures of a page; the same figure and key give the same text.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return slim(buffer.getvalue(), label, key)


def slim(text: str, label: str, key: str) -> str:
    """Take out what a page does not need, and make identifiers unique to this figure."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = text.replace(_INK, "currentColor").replace(_FAINT, "var(--faint)")
    text = re.sub(r"font: ([0-9.]+)px [^;\"]*", rf"font: \1px {_FONT}", text)
    # Of places a tenth of a pixel is enough; what is written keeps its digits.
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(-?\d+\.\d)\d+", r"\1", tag[0]), text)
    mark = hashlib.sha256(f"{key} {text}".encode()).hexdigest()[:8]
    used = set(re.findall(r"url\(#([^)]+)\)|xlink:href=\"#([^\"]+)\"", text))
    keep = {name for pair in used for name in pair if name}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{m[1]}-{mark}"' if m[1] in keep else "", text)
    for name in keep:
        text = text.replace(f"url(#{name})", f"url(#{name}-{mark})").replace(
            f'xlink:href="#{name}"', f'xlink:href="#{name}-{mark}"'
        )
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(
        r'<svg [^>]*viewBox="([^"]+)"[^>]*>',
        rf'<svg xmlns="http://www.w3.org/2000/svg" '
        rf'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="\1" role="img" '
        rf'aria-label="{html.escape(label)}">',
        text,
        count=1,
    )
    return text.strip()


@dataclass(frozen=True, slots=True)
class Part:
    """A picture under a heading."""

    element: str
    """Of :func:`render`."""
    title: str = ""
    """Written above it, at the left."""
    keys: Sequence[tuple[str, str]] = ()
    """Name and colour of each line, written above it at the right."""


def stacked(parts: Sequence[Part]) -> str:
    """Return one SVG element with these pictures below one another, each under its heading."""
    drawn, top, widest = [], 0.0, 0.0
    for part in parts:
        element = headed(part.element, part.title, part.keys)
        width, height = map(float, _VIEW.findall(element)[0][2:])
        drawn.append(element.replace("<svg ", f'<svg x="0" y="{top:g}" width="{width:g}" height="{height:g}" ', 1))
        top += height
        widest = max(widest, width)
    if len(drawn) == 1:
        return headed(parts[0].element, parts[0].title, parts[0].keys)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {widest:g} {top:g}" role="img">{"".join(drawn)}</svg>'
    )


def headed(element: str, title: str = "", keys: Sequence[tuple[str, str]] = ()) -> str:
    """Return the element with a heading and, at the right of it, the lines' names."""
    head, body = element.split(">", 1)
    if title or keys:
        left, top, width, height = map(float, _VIEW.findall(head)[0])
        head = _VIEW.sub(f'viewBox="{left:g} {top - _HEADING:g} {width:g} {height + _HEADING:g}"', head)
        named = "".join(
            f'<tspan fill="{colour}">\u2003━ </tspan><tspan>{html.escape(name)}</tspan>' for name, colour in keys
        )
        body = (
            f'<g font-family="{html.escape(_FONT)}" font-size="10" fill="currentColor">'
            f'<text x="6" y="-5" font-weight="600">{html.escape(title)}</text>'
            f'<text x="{width - 6:g}" y="-5" text-anchor="end">{named}</text></g>{body}'
        )
    return f"{head}>{body}"


_LARGEST: Final = 1.55
"""How much a picture is enlarged on a wide page: its letters are then as large as the page's."""


def bounded(element: str) -> str:
    """Return the element with a greatest width, so that small pictures do not fill a wide page."""
    head, body = element.split(">", 1)
    width = float(_VIEW.findall(head)[0][2])
    return f'{head} style="max-width:{width * _LARGEST:.0f}px">{body}'


def standalone(element: str, title: str = "", keys: Sequence[tuple[str, str]] = ()) -> str:
    """Return an SVG file for an element of :func:`render`: with colours of its own and, where given, a heading.

    Args:
        element: the picture.
        title: written above it, at the left.
        keys: name and colour of each line, written above it at the right.
    """
    head, body = headed(element, title, keys).split(">", 1)
    return f"{head}>{_STANDALONE}{body}\n"
