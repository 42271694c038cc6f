"""The set-up by the harness's hooks, one function a hook.

The rig (the harness's ``ns_setup``): client, middle box, server in a row. The middle box is a bridge of ``left``
(towards the client) and ``right`` (towards the server); what enters it passes the delay on an ifb, then the iptables
rules, then the queue of the side it leaves by. So data to the server meets ``left``'s ingress and ``right``'s queue.

Invariant: a hook that is not in the table, or words that it does not know, are an error with their place.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sojourn import _core
from sojourn.errors import ExperimentError
from sojourn.interop.batch import shell
from sojourn.interop.batch.placed import File, Placed
from sojourn.interop.batch.setup import EARLY_S, HOP, Queue, SetUp, Side, Way

_BYTE: Final = 0xFF
_NODES: Final = ("cli", "mid", "srv")
_DIRECTIONS: Final = ("bidir", "left", "right")

_LEAVING: Final[Mapping[str, tuple[Way, ...]]] = {
    "right": ("to-server",),
    "left": ("to-client",),
    "bidir": ("to-server", "to-client"),
}
"""Which ways a device of the middle box sends."""

_ENTERING: Final[Mapping[str, tuple[Way, ...]]] = {
    "left": ("to-server",),
    "right": ("to-client",),
    "bidir": ("to-server", "to-client"),
}
"""Which ways a device of the middle box receives from."""

_WITHOUT_EFFECT: Final[Mapping[str, str]] = {
    "tcp_metrics": "",
    "kernel_info": "",
    "compress": "",
    "run_tcpdump": "packets are captured with --pcap",
    "run_scetrace": "the results have every CE and SCE mark",
}
"""Hooks that change nothing between the hosts, and what to do instead where there is something."""

_BROKEN: Final[Mapping[str, str]] = {
    "set_tos": "the harness reads its loop's variable before it is set, so what it did is not known",
    "dscp_to_tos": "the harness reads its loop's variable before it is set, so what it did is not known",
}

_ON_ENTRY: Final = frozenset({"bleach_ecn", "bleach_ce", "dscp_to_ect1", "dscp_to_notect", "dscp_to_notect_ect1"})
"""Rules in PREROUTING: `left` is where packets come in. They match a DSCP."""

_WITHOUT_DSCP: Final[Mapping[str, Mapping[str, tuple[Way, ...]]]] = {
    "ect0_to_ect1": _ENTERING,
    "ect1_to_ect0": _LEAVING,
}
"""Rules for all of TCP: the first in INPUT, the second in POSTROUTING, both before the queue."""


class Words:
    """The words of one hook, read from the front."""

    def __init__(self, hook: Sequence[Placed], file: File) -> None:
        self.name = hook[0]
        self.left = list(hook[1:])
        self.file = file

    def take(self, what: str) -> Placed:
        """Return the next word."""
        if not self.left:
            raise self.error(f"{self.name} ends where {what} should be", self.name)
        return self.left.pop(0)

    def one_of(self, what: str, known: Sequence[str]) -> str:
        """Return the next word, which must be one of these."""
        word = self.take(what)
        if word.text not in known:
            near = difflib.get_close_matches(word.text, known, n=1, cutoff=0.5)
            advice = f'did you mean "{near[0]}"?' if near else f"available: {', '.join(known)}"
            raise self.error(f'{self.name}: "{word}" is no {what}', word, help=advice)
        return word.text

    def accept(self, word: str) -> bool:
        """Take the next word if it is this one."""
        if self.left and self.left[0].text == word:
            self.left.pop(0)
            return True
        return False

    def rest(self, what: str) -> str:
        """Return all that is left, which must be something."""
        if not self.left:
            raise self.error(f"{self.name} ends where {what} should be", self.name)
        taken, self.left = self.left, []
        return " ".join(word.text for word in taken)

    def done(self) -> None:
        """Make sure that nothing is left."""
        if self.left:
            raise self.error(f'{self.name}: "{self.left[0]}" is one word too many', self.left[0])

    def error(self, message: str, at: Placed, *, help: str | None = None) -> ExperimentError:  # noqa: A002
        """Return an error with its place."""
        return self.file.error(message, at, help=help)


def apply(setup: SetUp, arguments: Sequence[Placed], file: File) -> None:
    """Apply a list of nodes and hook strings.

    Raises:
        ExperimentError: at the first hook that cannot be mapped.
    """
    left = list(arguments)
    while left:
        node = left.pop(0)
        if node.text not in _NODES:
            near = difflib.get_close_matches(node.text, _NODES, n=1)
            advice = f'did you mean "{near[0]}"?' if near else "nodes are cli, mid and srv, each followed by its hooks"
            raise file.error(f'"{node}" is no node', node, help=advice)
        if not left:
            raise file.error(f"{node} has no hooks", node)
        for text in left.pop(0).split(";"):
            words = Words(shell.words(text, file), file)
            _hook(setup, node.text, words)
            words.done()


def _hook(setup: SetUp, node: str, words: Words) -> None:
    name = words.name.text
    if name in _WITHOUT_EFFECT:
        words.left.clear()
        if _WITHOUT_EFFECT[name]:
            setup.tell(f"{name} does nothing here: {_WITHOUT_EFFECT[name]}", words.name)
    elif name == "qdisc":
        _qdisc(setup, node, words)
    elif name in _ON_ENTRY or name in _WITHOUT_DSCP:
        _rewrite(setup, node, words)
    elif name in _BROKEN:
        raise words.error(f"{name} cannot be mapped: {_BROKEN[name]}", words.name)
    else:
        known = ["qdisc", *_ON_ENTRY, *_WITHOUT_DSCP, *_WITHOUT_EFFECT]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        raise words.error(
            f'there is no hook "{name}"',
            words.name,
            help=f'did you mean "{near[0]}"?' if near else f"available: {', '.join(known)}",
        )


# --- rewriters ----------------------------------------------------------------------------------------------------


def _rewrite(setup: SetUp, node: str, words: Words) -> None:
    rule = words.name.text
    if node != "mid":
        raise words.error(f"{rule} on {node} cannot be mapped: rewriters belong in the middle box", words.name)
    ways = _WITHOUT_DSCP.get(rule, _ENTERING)[words.one_of("direction", _DIRECTIONS)]
    rewrite: dict[str, object] = {"rule": rule}
    if rule in _ON_ENTRY:
        rewrite["dscp"] = words.take("a DSCP").text
    elements = setup.hop.setdefault("element", [])
    sides = {setup.sides[way] for way in ways}
    side = "both" if len(sides) > 1 else sides.pop()
    elements.append({"name": f"{rule}-{len(elements) + 1}", "side": side, "rewrite": rewrite})


# --- queues and delays --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Where:
    """The words before the form of a queue."""

    ways: Sequence[Way]
    ingress: bool
    after: float | None
    """Seconds after the set-up, for later changes."""
    place: Placed
    """Where the form's words begin, for errors."""


def _qdisc(setup: SetUp, node: str, words: Words) -> None:
    direction = words.one_of("direction", _DIRECTIONS)
    ingress, after = False, None
    while True:
        if words.accept("ingress-flowid"):
            words.take("a class")
        elif words.accept("ingress"):
            ingress = True
        elif words.accept("after"):
            after = _seconds(words)
        else:
            break
    form = words.one_of("form of a queue", sorted(_FORMS))
    if node != "mid":
        _host(setup, node, form, words, plain=not ingress and after is None)
        return
    ways = (_ENTERING if ingress else _LEAVING)[direction]
    place = words.left[0] if words.left else words.name
    _FORMS[form](setup, _Where(ways, ingress, after, place), words)


def _seconds(words: Words) -> float:
    word = words.take("a number of seconds")
    try:
        return float(word.text)
    except ValueError:
        raise words.error(f'"{word}" is no number of seconds', word) from None


def _host(setup: SetUp, node: str, form: str, words: Words, *, plain: bool) -> None:
    if form != "root" or not plain:
        raise words.error(f"this cannot be mapped: on {node} only `qdisc … root` of the sending side can", words.name)
    way: Way = "to-server" if node == "cli" else "to-client"
    setup.host_qdisc[way] = words.rest("a discipline")


def _root(setup: SetUp, where: _Where, words: Words) -> None:
    discipline = words.rest("a discipline")
    if where.ingress:
        _delays(setup, where, [discipline], words)
    elif where.after is None:
        for way in where.ways:
            setup.side(way).update(qdisc=discipline, shaper="own", **_own_rate(discipline))
            setup.queues[setup.sides[way]] = Queue(_kind(discipline), "own")
    else:
        _switch(setup, where, where.after, discipline, None, words)


def _htb(setup: SetUp, where: _Where, words: Words) -> None:
    if where.ingress:
        raise words.error("htb on ingress cannot be mapped: there the delay stands", where.place)
    rate_word = words.take("a rate")
    rate = _rate(rate_word, words)
    if where.after is None:
        discipline = words.rest("the discipline below htb")
        for way in where.ways:
            setup.side(way).update(rate=rate, qdisc=discipline)
            setup.queues[setup.sides[way]] = Queue(_kind(discipline), "htb")
    else:
        _switch(setup, where, where.after, words.rest("") if words.left else None, rate, words)


def _tree(setup: SetUp, where: _Where, words: Words) -> None:
    if not where.ingress:
        raise words.error("root-tree is mapped on ingress only, where it is a chain of netems", where.place)
    chain = [words.take("a netem").text]
    while words.left:
        chain.append(words.take("").text)
    _delays(setup, where, chain, words)


def _rttfair(setup: SetUp, where: _Where, words: Words) -> None:
    delays = [words.take("a delay"), words.take("the second delay")]
    codes = [words.take("a TOS"), words.take("the second TOS")]
    if not where.ingress or where.after is not None or len(where.ways) != len(_LEAVING["bidir"]):
        raise words.error("rttfair is mapped as `qdisc bidir ingress rttfair D1 D2 T1 T2` only", where.place)
    rtts = [_twice(delay, words) for delay in delays]
    # What has neither code takes the first class, with the first delay.
    setup.hop.update(rtt=rtts[0], netem_limit=10000)
    for code, rtt in zip(codes, rtts, strict=True):
        setup.base_rtt[dscp_of(code, words.file)] = rtt


_Form = Callable[[SetUp, _Where, Words], None]
_FORMS: Final[Mapping[str, _Form]] = {"root": _root, "htb": _htb, "root-tree": _tree, "rttfair": _rttfair}


def _delays(setup: SetUp, where: _Where, chain: list[str], words: Words) -> None:
    words_of = [link.split() for link in chain]
    for link in words_of:
        if link[:1] != ["netem"]:
            raise words.error(
                f'"{link[0] if link else ""}" on ingress cannot be mapped: there is netem only', where.place
            )
    if where.after is not None:
        sides = {setup.sides[way] for way in where.ways}
        event = {"netem": [" ".join(link[1:]) for link in words_of]}
        _event(setup, where.after, "both" if len(sides) > 1 else sides.pop(), event)
        return
    try:
        first = _core.netem(" ".join(words_of[0][1:]))
    except ValueError as error:
        raise words.error(f"netem: {error}", where.place) from None
    for way in where.ways:
        side = setup.side(way)
        rest = words_of
        if not first.varies:
            side["delay"] = first.delay
            side["netem_limit"] = first.limit
            rest = words_of[1:]
        if rest:
            side["netem"] = [" ".join(link[1:]) for link in rest]


def _switch(setup: SetUp, where: _Where, after: float, discipline: str | None, rate: str | None, words: Words) -> None:
    """Change a queue while the test runs, as the harness does: change where the kind stays, else replace."""
    done: dict[Side, dict[str, object]] = {}
    for way in where.ways:
        side = setup.sides[way]
        before = setup.queues.get(side)
        if before is None:
            raise words.error("there is nothing to change yet: the queue that it begins with comes first", words.name)
        event: dict[str, object] = {} if rate is None else {"rate": rate}
        shaper: str = "own" if rate is None else "htb"
        if discipline is None:
            if before.shaper != "htb":
                raise words.error("`after … htb RATE` changes a class, and there is no htb to have one", words.name)
        else:
            kept = before.shaper == shaper and before.kind == _kind(discipline)
            event["change" if kept else "replace"] = discipline
            if not kept:
                event["shaper"] = shaper
            setup.queues[side] = Queue(_kind(discipline), "own" if shaper == "own" else "htb")
        done[side] = event
    if len(done) == len(_LEAVING["bidir"]) and done["down"] == done["up"]:
        _event(setup, after, "both", done["down"])
    else:
        for one, event in done.items():
            _event(setup, after, one, event)


def _event(setup: SetUp, after: float, side: str, what: Mapping[str, object]) -> None:
    at = f"{round(after - EARLY_S, 3):g}s"
    name = f"after-{after:g}s-{len(setup.events) + 1}".replace(".", "_")
    setup.events.append({"name": name, "at": at, "hop": HOP, "side": side, **what})


def _kind(discipline: str) -> str:
    return discipline.split(maxsplit=1)[0]


def _own_rate(discipline: str) -> dict[str, str]:
    words = discipline.split()
    if "bandwidth" not in words[:-1]:
        return {}
    return {"rate": words[words.index("bandwidth") + 1]}


def _rate(word: Placed, words: Words) -> str:
    try:
        _core.parse_rate(word.text)
    except ValueError as error:
        raise words.error(f'"{word}" is no rate', word, help=str(error)) from None
    return word.text


def _twice(word: Placed, words: Words) -> str:
    try:
        seconds = _core.parse_span(word.text)
    except ValueError as error:
        raise words.error(f'"{word}" is no time', word, help=str(error)) from None
    return f"{round(seconds * 2e6)}us"


def dscp_of(tos: Placed, file: File) -> int:
    """Return the DSCP of a TOS byte, ``0x4c`` or ``76``; its two ECN bits are the sender's business.

    Raises:
        ExperimentError: if it is no byte.
    """
    try:
        value = int(tos.text, 0)
    except ValueError:
        value = -1
    if not 0 <= value <= _BYTE:
        raise file.error(f'"{tos}" is no TOS byte', tos, help="a TOS byte is written 0x00 to 0xfc")
    return value >> 2
