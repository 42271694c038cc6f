"""The path of an experiment as a drawing: hosts, hops, and what packets pass in each direction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Final

from sojourn.core.scenario import Element, Flow, Scenario
from sojourn.plotting.draw.flows import Look, flow_name, looks
from sojourn.plotting.draw.text import harmless

_LINE: Final = 15
_PAD: Final = 8
_GAP: Final = 26
_CHARACTER: Final = 6.6
_WRAP: Final = 24
_LARGEST: Final = 1.4
_LEAST: Final = 10 / 11
"""Of its own size: letters of 11 pixels are then at most as large as a page's, and no smaller than 10 pixels."""
_MOST_FLOWS: Final = 8
"""Of one direction that are written one by one."""


@dataclass(frozen=True, slots=True)
class _Box:
    """A rectangle with lines of text, the first one bold."""

    lines: Sequence[str]
    colours: Sequence[str] = ()
    """Of a dot before each line but the first."""

    @property
    def width(self) -> float:
        dot = 2 if self.colours else 0
        return max(len(line) + dot for line in self.lines) * _CHARACTER + 2 * _PAD

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 2 * _PAD - 3

    def draw(self, x: float, y: float, kind: str, height: float | None = None) -> str:
        tall = height or self.height
        parts = [f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{self.width:.0f}" height="{tall:.0f}" rx="5"/>']
        y += (tall - self.height) / 2
        for index, line in enumerate(self.lines):
            left, base = x + _PAD, y + _PAD + 9 + index * _LINE
            if index and self.colours:
                parts.append(
                    f'<circle cx="{left + 4:.0f}" cy="{base - 4:.0f}" r="4" fill="{self.colours[index - 1]}"/>'
                )
                left += 2 * _CHARACTER
            weight = ' font-weight="600"' if index == 0 else ""
            parts.append(f'<text x="{left:.0f}" y="{base:.0f}"{weight}>{_text(line)}</text>')
        return "".join(parts)


def draw(scenario: Scenario) -> str:
    """Return the topology of a resolved scenario as an SVG element."""
    left, right = _hosts(scenario)
    links = scenario.get("links", ())
    hops = [
        (hop["name"], *([_element(e, links) for e in hop[side]] for side in ("down", "up"))) for hop in scenario["hops"]
    ]
    top = max(max((b.height for _, down, _ in hops for b in down), default=0.0), _LINE)
    low = max(max((b.height for _, _, up in hops for b in up), default=0.0), _LINE)
    down_y, up_y = 34.0, 34.0 + top + 26
    height = up_y + low + 18
    down_line, up_line = down_y + top / 2, up_y + low / 2
    # The hosts are so tall that both directions reach them.
    tall = max(left.height, right.height, up_line - down_line + 2 * _LINE)
    host_y = (down_line + up_line - tall) / 2

    x = 2.0
    parts = [left.draw(x, host_y, "host", tall)]
    x += left.width
    for index, (name, down, up) in enumerate(hops):
        parts += [_wire(x, x + _GAP, down_line), _wire(x + _GAP, x, up_line, arrives=index == 0)]
        x += _GAP
        width = max(_row_width(down), _row_width(up), len(name) * _CHARACTER + 2 * _PAD) + 2 * _PAD
        parts.append(
            f'<rect class="hop" x="{x:.0f}" y="12" width="{width:.0f}" height="{height - 18:.0f}" rx="8"/>'
            f'<text class="faint" x="{x + _PAD:.0f}" y="27">{_text(name)}</text>'
        )
        parts += _row(down, x, width, down_line, rightward=True)
        parts += _row(up, x, width, up_line, rightward=False)
        x += width
    parts += [_wire(x, x + _GAP, down_line, arrives=True), _wire(x + _GAP, x, up_line)]
    x += _GAP
    parts.append(right.draw(x, host_y, "host", tall))
    x += right.width + 2
    # Hosts with many flows stand higher and lower than the hops.
    above = min(0.0, host_y - 2)
    height = max(height, host_y + tall + 2) - above
    title = "Topology: " + ", ".join(name for name, _, _ in hops)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {above:.0f} {x:.0f} {height:.0f}" '
        f'style="width:100%;max-width:{x * _LARGEST:.0f}px;min-width:{x * _LEAST:.0f}px" '
        f'role="img" aria-label="{_text(title)}" class="topology" '
        'font-family="ui-monospace,SFMono-Regular,Menlo,\'DejaVu Sans Mono\',monospace" font-size="11" '
        'fill="currentColor">'
        "<style>.topology rect{fill:none;stroke:currentColor;stroke-width:1}"
        ".topology .hop{stroke-dasharray:3 3;stroke:var(--faint)}"
        ".topology .queue{stroke-width:2}.topology .faint{opacity:.75}"
        ".topology path{stroke:currentColor;stroke-width:1;fill:none}</style>" + "".join(parts) + "</svg>"
    )


def _hosts(scenario: Scenario) -> tuple[_Box, _Box]:
    """The hosts at both ends, with the flows that each sends."""
    sent: dict[str, tuple[list[str], list[str]]] = {"down": ([], []), "up": ([], [])}
    shown = looks(scenario)
    for direction, (lines, dots) in sent.items():
        own = [flow for flow in scenario.flows if flow["direction"] == direction]
        for said, first in _named(own, shown):
            lines.append(said)
            dots.append(shown[first.name].colour if first.name in shown else "var(--faint)")
    left, right = sent["down"], sent["up"]
    return _Box(["server", *left[0]], left[1]), _Box(["client", *right[0]], right[1])


def _named(flows: Sequence[Flow], shown: Mapping[str, Look]) -> list[tuple[str, Flow]]:
    """Return the texts for the flows of one direction, each with a flow that has its colour.

    Every flow by its name where they are few; else every group, and where those are many, too, how many flows there are
    of each sender: ``12 × cubic``.
    """
    if len(flows) <= _MOST_FLOWS:
        return [(flow_name(flow), flow) for flow in flows]
    groups: dict[str, list[Flow]] = {}
    for flow in flows:
        groups.setdefault(shown[flow.name].key if flow.name in shown else flow_name(flow), []).append(flow)
    if len(groups) > _MOST_FLOWS:
        groups = {}
        for flow in flows:
            groups.setdefault(flow.sender, []).append(flow)
        return [(f"{len(own)} × {by}" if len(own) > 1 else flow_name(own[0]), own[0]) for by, own in groups.items()]
    return [(said, own[0]) for said, own in groups.items()]


def _element(element: Element, links: Sequence[str]) -> _Box:
    kind = element["kind"]
    if kind == "queue":
        rate = element.get("rate")
        shaper = element["shaper"]
        head = "own shaper" if shaper == "own" else f"{shaper} {rate}"
        named = _wrapped(links[element["link"]]) if shaper == "link" else []
        return _Box([head, *named, *_wrapped(element["qdisc"])])
    if kind == "netem":
        lines = [line for words in element["chain"] for line in _wrapped(words)]
        entries = element.get("per_flow", ())
        own = [f"{entry['flow']}: {entry['delay']}" for entry in entries]
        if len(own) > _MOST_FLOWS:
            counts = Counter(entry["delay"] for entry in entries)
            own = [f"{count} flows: {delay}" for delay, count in counts.items()]
        return _Box(["netem", *lines, *own])
    detail = [str(element[key]) for key in ("rule", "tunnel", "rate") if key in element]
    head = element["name"] if element.get("enabled", True) else f"{element['name']} (off)"
    return _Box([head, *(detail or [kind])])


def _text(words: str) -> str:
    return escape(harmless(words).replace("\n", " "))


def _wrapped(words: str) -> list[str]:
    return wrap(words, _WRAP, break_long_words=False) or [words]


def _row_width(boxes: Sequence[_Box]) -> float:
    return sum(b.width for b in boxes) + _GAP * max(0, len(boxes) - 1)


def _row(boxes: Sequence[_Box], x: float, width: float, middle: float, *, rightward: bool) -> list[str]:
    """Draw what packets of one direction pass, in the order in which they come to it."""
    ordered = list(boxes) if rightward else list(reversed(boxes))
    at = x + (width - _row_width(ordered)) / 2
    parts: list[str] = []
    stops = [x]
    for box in ordered:
        kind = "element" if box.lines[0].startswith("netem") else "queue"
        parts.append(box.draw(at, middle - box.height / 2, kind))
        stops += [at, at + box.width]
        at += box.width + _GAP
    stops.append(x + width)
    for start, end in zip(stops[::2], stops[1::2], strict=True):
        if rightward:
            parts.append(_wire(start, end, middle, arrives=end < x + width))
        else:
            parts.append(_wire(end, start, middle, arrives=start > x))
    return parts


def _wire(start: float, end: float, y: float, *, arrives: bool = False) -> str:
    """Draw a line with, where it arrives at something, an arrow's head."""
    head = 4 if end > start else -4
    return f'<path d="M{start:.0f} {y:.0f}H{end:.0f}' + (f'm{-head} -3l{head} 3l{-head} 3"/>' if arrives else '"/>')
