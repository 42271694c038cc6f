"""The scenario of an imported run before anything that its file says is filled in.

The language writes it, so that it has every key that a scenario has, with the language's own defaults.
"""

import copy
import json
import re
from functools import cache
from typing import Any, Final, Literal

from sojourn import _core

Kind = Literal["tcp", "udp", "irtt", "ping"]
"""What traffic a flow is."""

_EXPERIMENT: Final = """\
[experiment]
name = "imported"
duration = "1s"
warmup = "0s"
ping = true
[[hop]]
name = "path"
rate = "1mbit"
rtt = "1ms"
qdisc = "pfifo"
[[flow]]
name = "tcp"
cc = "cubic"
[[flow]]
name = "udp"
udp = { rate = "1mbit" }
[[flow]]
name = "irtt"
irtt = {}
"""


@cache
def _written() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(_core.load(_EXPERIMENT, "imported").scenarios[0].json)
    return loaded


def scenario() -> dict[str, Any]:
    """Return a scenario of one hop, ``path``, with a queue on each side and no flows; seed 1, no warmup."""
    return copy.deepcopy(_written()) | {"flows": [], "seed": 1, "warmup": "0s"}


def flow(kind: Kind, *, name: str, direction: str, start_us: float) -> dict[str, Any]:
    """Return a flow of such a scenario; a time before its beginning is the beginning."""
    found: dict[str, Any] = next(flow for flow in _written()["flows"] if flow["name"] == kind)
    own = copy.deepcopy(found) | {"name": name, "direction": direction, "start": {"at": f"{max(0, round(start_us))}us"}}
    own.pop("group", None)
    return own


def name_of(text: str, otherwise: str) -> str:
    """Return an experiment's name from a title: characters that a name may not have become ``-``."""
    return re.sub(r"[^A-Za-z0-9._/-]+", "-", text).strip("-") or otherwise
