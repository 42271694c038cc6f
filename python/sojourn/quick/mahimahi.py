"""Mahimahi's shells in Mahimahi's words, as hops of one path.

Mahimahi (Netravali et al., USENIX ATC 2015) nests shells: ``mm-delay 20 mm-link UP DOWN COMMAND`` runs the command
behind a link, and that behind a delay. Here the whole chain is one path with a hop for each shell, so that one process
forwards all packets. The arguments are those of the manual pages mm-delay(1), mm-link(1) and mm-loss(1).

Invariant: a word of Mahimahi that means something else here, or nothing, is refused by name.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError
from sojourn.quick.asked import HOP
from sojourn.quick.line import Way

SHELLS: Final = ("mm-delay", "mm-link", "mm-loss")
"""The shells that a chain is made of."""

_INFINITE: Final = "pfifo limit 1000000"
"""Mahimahi's default queue has no limit; this one holds 1.5 GB."""

_LATER: Final = {
    "--once": "traces repeat: write a longer trace, or end the command with --duration",
    "--uplink-log": "the results folder (-o DIR) has the tables; --pcap captures each packet",
    "--downlink-log": "the results folder (-o DIR) has the tables; --pcap captures each packet",
    "--cbr": "use sojourn shell --rate RATE for a constant rate",
}
"""Options that are refused, and what to use instead."""

_METERS: Final = frozenset(
    ["--meter-all", *(f"--meter-{way}{what}" for way in ("uplink", "downlink") for what in ("", "-delay"))]
)
"""Options that open windows with meters; the status line shows the same."""


@dataclass(frozen=True, slots=True)
class Chain(Way):
    """Shells in one another, the outermost first."""

    shells: Sequence[str]
    """Their words, as they were written."""
    tables: Sequence[dict[str, object]] = field(repr=False)
    longest: str = "21600s"

    def hops(self) -> list[dict[str, object]]:
        """Return a hop for each shell."""
        return list(self.tables)

    def command(self, program: Sequence[str]) -> str:
        """Return the command that runs a program on it."""
        return " ".join(["sojourn", *self.shells, *program])

    @classmethod
    def parse(cls, words: Sequence[str], longest: str) -> tuple["Chain", list[str]]:
        """Read a chain of shells from the words of a command line; return it with the command that it ends in.

        >>> chain, command = Chain.parse(["mm-delay", "20", "mm-loss", "uplink", "0.01", "curl", "server"], "60s")
        >>> command, [hop["name"] for hop in chain.hops()]
        (['curl', 'server'], ['delay', 'loss'])

        Raises:
            UsageError: if a word is wrong, or means something else here.
        """
        rest, tables = list(words), list[dict[str, object]]()
        while rest and rest[0] in SHELLS:
            shell = rest.pop(0)
            table = _READERS[shell](rest)
            base = HOP if shell == "mm-link" and not any(own["name"] == HOP for own in tables) else shell[3:]
            tables.append({"name": _free(base, tables), **table})
            if rest[:1] == ["--"]:
                rest.pop(0)
        shells = list(words[: len(words) - len(rest)])
        return cls([word for word in shells if word != "--"], tables, longest), rest


def _free(base: str, tables: Sequence[Mapping[str, object]]) -> str:
    taken = {own["name"] for own in tables}
    names = [base, *(f"{base}-{number}" for number in range(2, len(tables) + 2))]
    return next(name for name in names if name not in taken)


def _next(rest: list[str], shell: str, what: str) -> str:
    if not rest:
        raise UsageError(f"{shell} needs {what}", help=_USES[shell])
    return rest.pop(0)


def _delay(rest: list[str]) -> dict[str, object]:
    word = _next(rest, "mm-delay", "a delay in milliseconds")
    if not re.fullmatch(r"[0-9]{1,6}", word):
        raise UsageError(f'mm-delay: "{word}" is not a whole number of milliseconds', help=_USES["mm-delay"])
    return {"rtt": f"{2 * int(word)}ms"}


def _loss(rest: list[str]) -> dict[str, object]:
    way = _next(rest, "mm-loss", "uplink or downlink")
    if way not in _SIDES:
        raise UsageError(f'mm-loss: "{way}" is neither uplink nor downlink', help=_USES["mm-loss"])
    word = _next(rest, "mm-loss", "a loss rate")
    try:
        rate = float(word)
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:
        raise UsageError(f'mm-loss: "{word}" is not a loss rate from 0 to 1', help=_USES["mm-loss"])
    return {_SIDES[way]: {"netem": [f"loss {rate * 100:.10g}%"]}} if rate else {}


_SIDES: Final = {"uplink": "up", "downlink": "down"}


def _link(rest: list[str]) -> dict[str, object]:
    traces: list[str] = []
    queues = dict.fromkeys(_SIDES, "infinite")
    arguments = dict.fromkeys(_SIDES, "")
    while len(traces) < len(_SIDES) or (rest[:1] and rest[0].startswith("--") and rest[0] != "--"):
        word = _next(rest, "mm-link", "two traces: of the uplink, then of the downlink")
        if not word.startswith("--"):
            if not Path(word).is_file():
                raise UsageError(f"mm-link: there is no trace {word}", help="name a file with a millisecond per line")
            traces.append(str(Path(word).resolve()))
            continue
        name, equals, value = word.partition("=")
        if name in _METERS:
            continue
        if name in _LATER:
            raise UsageError(f"mm-link: {name} has no counterpart here", help=_LATER[name])
        kind = re.fullmatch(r"--(uplink|downlink)-queue(-args)?", name)
        if kind is None:
            known = [f"--{way}-queue{more}" for way in _SIDES for more in ("", "-args")]
            raise UsageError.unknown("option of mm-link", name, [*known, *_METERS, *_LATER])
        if not equals:
            value = _next(rest, "mm-link", f"a value for {name}")
        (arguments if kind[2] else queues)[kind[1]] = value
    return {
        _SIDES[way]: {"trace": trace, "qdisc": _queue(way, queues[way], arguments[way])}
        for way, trace in zip(_SIDES, traces, strict=True)
    }


def _queue(way: str, kind: str, text: str) -> str:
    """Return the words of a queue."""
    if kind == "drophead":
        raise UsageError(
            f"mm-link: --{way}-queue=drophead has no counterpart here", help=f"queues: {', '.join(_QUEUES)}"
        )
    if kind not in _QUEUES:
        raise UsageError.unknown("queue of mm-link", kind, list(_QUEUES))
    numbers = _numbers(kind, text)
    if kind == "infinite":
        return _INFINITE
    if kind == "droptail" and set(numbers) == {"bytes"}:
        return f"bfifo limit {numbers['bytes']}"
    wanted = [name for name in _QUEUES[kind] if name != "bytes"]
    if set(numbers) != set(wanted):
        example = ", ".join(f"{name}={_QUEUES[kind][name]}" for name in wanted)
        raise UsageError(
            f"mm-link: the queue {kind} needs {' and '.join(wanted)}",
            help=f'--{way}-queue-args="{example}"' + (", or bytes=150000 alone" if kind == "droptail" else ""),
        )
    if numbers.get("max_burst", _BURST_MS) != _BURST_MS:
        raise UsageError(
            f"mm-link: max_burst={numbers['max_burst']} has no counterpart here",
            help=f"max_burst={_BURST_MS}: Linux's PIE lets bursts of {_BURST_MS} ms pass",
        )
    return _WORDS[kind].format(**numbers)


def _numbers(kind: str, text: str) -> dict[str, int]:
    """Return the arguments of a queue."""
    numbers: dict[str, int] = {}
    for part in filter(None, re.split(r"[,\s]+", text)):
        found = re.fullmatch(r"([a-z_]+)=([0-9]{1,9})", part)
        if found is None:
            raise UsageError(f'mm-link: "{part}" is not NAME=NUMBER', help=_USES["mm-link"])
        if found[1] not in _QUEUES[kind]:
            raise UsageError.unknown(f"argument of the queue {kind}", found[1], list(_QUEUES[kind]))
        numbers[found[1]] = int(found[2])
    return numbers


_BURST_MS: Final = 150

_QUEUES: Final[Mapping[str, Mapping[str, int]]] = {
    "infinite": {},
    "droptail": {"packets": 100, "bytes": 150000},
    "codel": {"packets": 1000, "target": 5, "interval": 100},
    "pie": {"packets": 1000, "qdelay_ref": 15, "max_burst": _BURST_MS},
}
"""The queues with the names of their arguments and an example of each; times are in milliseconds."""

_WORDS: Final = {
    "droptail": "pfifo limit {packets}",
    "codel": "codel limit {packets} target {target}ms interval {interval}ms noecn",
    "pie": "pie limit {packets} target {qdelay_ref}ms",
}

_USES: Final = {
    "mm-delay": "sojourn mm-delay 20 COMMAND: 20 ms each way",
    "mm-loss": "sojourn mm-loss uplink 0.01 COMMAND",
    "mm-link": "sojourn mm-link UP.trace DOWN.trace --uplink-queue=droptail --uplink-queue-args=packets=100 -- COMMAND",
}

_READERS: Final[Mapping[str, Callable[[list[str]], dict[str, object]]]] = {
    "mm-delay": _delay,
    "mm-link": _link,
    "mm-loss": _loss,
}
