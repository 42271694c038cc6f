"""The last line of the terminal, kept for a status while a program writes above it."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

_WAYS = {"down": "↓", "up": "↑"}


class StatusLine:
    """Keeps the last line of the terminal: what scrolls, scrolls above it (DECSTBM)."""

    def __init__(self, *, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()
        self._size = os.terminal_size((0, 0))

    def __enter__(self) -> Self:
        """Make room for the line."""
        if self._shown:
            self._keep()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the line back."""
        if self._shown:
            self._write(f"\0337\033[r\033[{self._size.lines};1H\033[2K\0338")

    def show(self, status: str) -> None:
        """Write a status, as the extension module gives it."""
        if not self._shown or not status:
            return
        if os.get_terminal_size(sys.stderr.fileno()) != self._size:
            self._keep()
        text = line(json.loads(status))[: self._size.columns - 1]
        self._write(f"\0337\033[{self._size.lines};1H\033[7m\033[2K{text}\033[0m\0338")

    def _keep(self) -> None:
        self._size = os.get_terminal_size(sys.stderr.fileno())
        # A new line, so that the text of the last one moves up; then the cursor back to where it was.
        self._write(f"\n\0337\033[1;{self._size.lines - 1}r\0338\033[1A")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def line(status: Mapping[str, Any]) -> str:
    """Return a status in a line: each queue, and the flows that sent last.

    >>> queue = {"name": "b.down.qdisc", "rate_bps": 19.8e6, "packets": 31, "sojourn_p50_s": 0.004,
    ...          "sojourn_p99_s": None, "marks": 5, "drops": 0}
    >>> flow = {"name": "flow-1", "marks": 5, "drops": 0, "silent_s": 0.0}
    >>> line({"queues": [queue], "flows": [flow]})
    ' ↓ 19.8 Mbit/s, 31 packets, p50 4.0 ms, p99 -, 5 marks, 0 drops | flow-1 5 marks 0 drops'
    """
    parts = []
    for queue in status["queues"]:
        way = _WAYS.get(queue["name"].split(".")[1], queue["name"])
        parts.append(
            f" {way} {queue['rate_bps'] / 1e6:.1f} Mbit/s, {queue['packets']} packets, "
            f"p50 {_ms(queue['sojourn_p50_s'])}, p99 {_ms(queue['sojourn_p99_s'])}, "
            f"{queue['marks']} marks, {queue['drops']} drops"
        )
    flows = [flow for flow in status["flows"] if flow["silent_s"] < _RECENT]
    parts += [f" {flow['name']} {flow['marks']} marks {flow['drops']} drops" for flow in _most(flows)]
    return " |".join(parts)


_RECENT = 2.0
"""A flow that was silent for so long (s) is not shown."""
_FLOWS = 3
"""The most flows that are shown."""


def _most(flows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return those that sent most."""
    return sorted(flows, key=lambda flow: -(flow.get("down_bytes", 0) + flow.get("up_bytes", 0)))[:_FLOWS]


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"
