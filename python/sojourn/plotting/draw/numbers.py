"""A picture's numbers: a page's script reads values from them, zooms and draws again.

They are read off the finished figure, whatever kind it is: the places and spans of its axes, and every line in the
coordinates of its data. An artist's label is its name in the page, and its ``gid`` is the part that it plays
(:data:`ROLES`); a line that is not visible is in no picture, and its numbers are here all the same.

Values have eleven binary digits, which is about three decimal ones: a picture shows no more, and half the size counts
in a page of a hundred figures. Their bytes are laid out so that deflate finds what repeats: exponents apart from the
rest, the times of all lines once.
"""

import base64
import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sojourn.plotting.draw.style import FAINT, INK
from sojourn.plotting.draw.text import harmless

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

LOW: Final = "low"
HIGH: Final = "high"
SEED: Final = "seed"
RANGE: Final = "range"
EVENT: Final = "event"

ROLES: Final = frozenset({LOW, HIGH, SEED})
"""The values of a line's ``gid``: the lower or the upper end of a band around the line of the same label, or another
seed's line. An area with the ``gid`` :data:`RANGE` is a band between such lines; a text with :data:`EVENT` marks a
time."""

_POINTS: Final = 72
_MOST: Final = 60_000.0
"""The greatest value of a scaled array: sixteen bits of floating point hold 65 504."""


class _Arrays:
    """Arrays of numbers in the order in which they were added, each once."""

    def __init__(self) -> None:
        self._exact: list[bytes] = []
        self._close: list[bytes] = []
        self._places: dict[tuple[str, bytes], dict[str, Any]] = {}
        self._at = {"f": 0, "h": 0}

    def exact(self, values: "np.ndarray[Any, Any]") -> dict[str, Any]:
        """Store an array with 24 bits a number and return its place; of a grid its beginning, its step and length."""
        import numpy as np  # noqa: PLC0415 - charts in a terminal need no arrays

        if len(values) > 2:  # noqa: PLR2004 - two points are no grid
            step = (values[-1] - values[0]) / (len(values) - 1)
            grid = values[0] + step * np.arange(len(values))
            if step and np.allclose(grid, values, rtol=0, atol=abs(step) * 1e-4):
                return {"g": [_short(values[0]), float(step), len(values)]}
        return self._put("f", values.astype("<f4").tobytes(), len(values), {})

    def close(self, values: "np.ndarray[Any, Any]") -> dict[str, Any]:
        """Store an array with eleven bits a number and return its place."""
        import numpy as np  # noqa: PLC0415 - charts in a terminal need no arrays

        top = float(np.nanmax(np.abs(values), initial=0.0))
        # A mean's last bit depends on how many threads added it up; six digits are more than eleven bits need.
        scale = float(f"{top / _MOST:.6g}") if top else 1.0
        return self._put("h", (values / scale).astype("<f2").tobytes(), len(values), {"s": scale})

    def _put(self, kind: str, content: bytes, count: int, more: Mapping[str, Any]) -> dict[str, Any]:
        found = self._places.get((kind, content))
        if found is None or found["n"] != count or {k: found[k] for k in more} != dict(more):
            found = {"k": kind, "at": self._at[kind], "n": count, **more}
            self._places[kind, content] = found
            self._at[kind] += count
            (self._exact if kind == "f" else self._close).append(content)
        return found

    def packed(self) -> tuple[bytes, int, int]:
        """Return all of them, and how many there are of each kind."""
        close = b"".join(self._close)
        return b"".join(self._exact) + close[1::2] + close[::2], self._at["f"], self._at["h"]


def packed(value: object, body: bytes = b"") -> str:
    """Return JSON with bytes behind it as a page holds them: deflated, in the alphabet of base64."""
    head = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    data = deflate.compress(struct.pack("<I", len(head)) + head + body) + deflate.flush()
    return base64.b64encode(data).decode()


def numbers_of(figure: "Figure") -> str:
    """Return the numbers of a figure that was laid out and saved, as :func:`packed` has them.

    Args:
        figure: saved as SVG, in units of points.
    """
    arrays = _Arrays()
    per_pixel = _POINTS / figure.dpi
    width, height = (float(side) * _POINTS for side in figure.get_size_inches())
    every = [_axes(axes, arrays, per_pixel, height) for axes in figure.axes if axes.get_label() != "<colorbar>"]
    body, exact, close = arrays.packed()
    head = {"w": width, "h": height, "f": exact, "n": close, "axes": every}
    return packed(head, body)


def _axes(axes: "Axes", arrays: _Arrays, per_pixel: float, height: float) -> dict[str, Any]:
    import numpy as np  # noqa: PLC0415 - charts in a terminal need no arrays

    box = axes.get_window_extent()
    own: dict[str, Any] = {
        "box": [
            round(v, 1)
            for v in (
                box.x0 * per_pixel,
                height - box.y1 * per_pixel,
                box.width * per_pixel,
                box.height * per_pixel,
            )
        ],
        "x": _span(axes.get_xlim(), axes.get_xscale()),
        "y": _span(axes.get_ylim(), axes.get_yscale()),
        "called": [
            harmless(axes.get_xlabel()),
            harmless(" ".join(axes.get_ylabel().split())),
            harmless(axes.get_title()),
        ],
        "told": [
            bool(axes.xaxis.get_tick_params().get("labelbottom", True)),
            bool(axes.yaxis.get_tick_params().get("labelleft", True)),
        ],
    }
    over_time = axes.get_xaxis_transform()
    lines = axes.get_lines()
    data = [_line(line, arrays) for line in lines if line.get_transform() == axes.transData]
    rules = [float(np.asarray(line.get_xdata(), dtype=float)[0]) for line in lines if line.get_transform() == over_time]
    spans = [patch for patch in axes.patches if patch.get_data_transform() == over_time]
    others = [patch for patch in axes.patches if patch not in spans]
    more: dict[str, Any] = {
        "events": [_short(at) for at in rules],
        "notes": _notes(axes),
        "span": [end for patch in spans[:1] for end in _ends(patch)],
        "bars": [[*map(_short, _extent(patch)), _named(patch.get_label())] for patch in others if _extent(patch)],
        "labels": _categories(axes),
        # Whether the script can draw it again: there is nothing in it but lines, and bands between lines.
        "free": not (others or _categories(axes) or any(own.get_gid() != RANGE for own in axes.collections)),
    }
    return own | {"lines": [line for line in data if line]} | {name: value for name, value in more.items() if value}


def _extent(patch: "Patch") -> list[float]:
    """Return left, width, foot and height of a rectangle; nothing of another shape."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - as in styled()

    if not isinstance(patch, Rectangle):
        return []
    return [patch.get_x(), patch.get_width(), patch.get_y(), patch.get_height()]


def _ends(patch: "Patch") -> list[float]:
    left, width, *_ = _extent(patch) or [0.0, 0.0]
    return [_short(left), _short(left + width)]


def _notes(axes: "Axes") -> list[list[object]]:
    """Return the texts at a time, with the time."""
    from matplotlib.text import Annotation  # noqa: PLC0415 - as in styled()

    return [
        [_short(float(text.xy[0])), harmless(text.get_text())]
        for text in axes.texts
        if isinstance(text, Annotation) and text.get_gid() == EVENT
    ]


def _categories(axes: "Axes") -> list[list[object]]:
    """Return the names along the horizontal axis with their places; none where there are numbers."""
    from matplotlib.ticker import FixedLocator  # noqa: PLC0415 - as in styled()

    if not isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        return []
    names = [text.get_text().replace("-\n", "-").replace("\n", " ") for text in axes.get_xticklabels()]
    return [[_short(float(at)), harmless(name)] for at, name in zip(axes.get_xticks(), names, strict=False)]


def _line(line: "Line2D", arrays: _Arrays) -> dict[str, Any] | None:
    import numpy as np  # noqa: PLC0415 - charts in a terminal need no arrays

    x = np.asarray(line.get_xdata(orig=True), dtype=float)
    y = np.asarray(line.get_ydata(orig=True), dtype=float)
    if not len(x) or line.get_marker() in {"_", "|"}:
        # The ends of error bars.
        return None
    found: dict[str, Any] = {
        "x": arrays.exact(x),
        "y": arrays.close(y),
        "c": _colour(line.get_color()),
        "n": _named(line.get_label()),
    }
    role = line.get_gid()
    if role in ROLES:
        found["r"] = role
    if line.get_drawstyle() == "steps-post":
        found["steps"] = 1
    if line.get_marker() not in {None, "", "None"}:
        found["m"] = 1
    if line.get_linestyle() in {"None", "", " "}:
        found["d"] = []
    else:
        dashes = _dashes(line)
        if dashes:
            found["d"] = dashes
    if line.get_alpha() is not None:
        found["a"] = line.get_alpha()
    found["w"] = _short(line.get_linewidth())
    return found


def _dashes(line: "Line2D") -> list[float]:
    """Return the dashes and gaps of a line, points; none of a solid one."""
    # Matplotlib tells no other way how a line is dashed that was given as numbers.
    _, dashes = line._unscaled_dash_pattern  # type: ignore[attr-defined] # noqa: SLF001
    return [_short(float(part) * line.get_linewidth()) for part in dashes or ()]


def _named(label: object) -> str:
    """Return the name of an artist; matplotlib calls those without a name _child3."""
    text = str(label)
    return "" if text.startswith("_") else harmless(text)


def _colour(colour: object) -> str:
    from matplotlib.colors import to_hex  # noqa: PLC0415 - as in styled()

    shown = to_hex(colour)  # type: ignore[arg-type] # a line's
    return "currentColor" if shown in {INK, FAINT} else shown


def _span(ends: Sequence[float], scale: str) -> list[float]:
    return [_short(float(ends[0])), _short(float(ends[1])), int(scale == "log")]


def _short(value: float) -> float:
    """Return a number with six digits; more are not visible."""
    return float(f"{value:.6g}") if math.isfinite(value) else 0.0
