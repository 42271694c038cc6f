"""Expands the macros of Rust that take names alone, as lists of files and types do; others stay as they are.

    macro_rules! modules { ($($file:ident: $($type:ident),+;)*) => { $(pub mod $file;)* }; }

A pattern may have ``$name:ident``, ``$name:vis``, plain words and signs, and repetitions of these. A macro with any
other kind of fragment takes nothing here.
"""

import re
from typing import Final

_DEFINED: Final = re.compile(r"\bmacro_rules!\s*(?P<name>\w+)\s*(?=[({\[])")
_USED: Final = re.compile(r"(?<![\w$:])(?P<name>\w+)\s*!\s*(?=[({\[])")
_TOKEN: Final = re.compile(r"\$?\w+|'\w+|::|=>|\S")
_OPENING: Final = "({["
_CLOSING: Final = ")}]"

Tokens = list[str]
# What each name of a pattern stands for; of one that is repeated, what all names of the repetition stand for each time.
Bound = dict[str, "str | list[Bound]"]


class NoMatchError(Exception):
    """What is written is not what the macro takes."""


def behind_group(tokens: Tokens, at: int) -> int:
    """Return the place behind the bracket that closes the one at a place."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] in _OPENING) - (tokens[place] in _CLOSING)
        if depth == 0:
            return place + 1
    raise NoMatchError


def repetition(tokens: Tokens, at: int) -> tuple[Tokens, str, str, int]:
    """Return what ``$(…),*`` at a place repeats, what stands between, how often, and the place behind it."""
    end = behind_group(tokens, at + 1)
    between = "" if tokens[end] in "*+?" else tokens[end]
    times = end + (between != "")
    return tokens[at + 2 : end - 1], between, tokens[times], times + 1


def take_fragment(kind: str, tokens: Tokens, at: int) -> int:
    """Return the place behind a fragment of this kind."""
    here = tokens[at] if at < len(tokens) else ""
    if kind == "ident" and re.fullmatch(r"\w+", here):
        return at + 1
    if kind == "vis":
        if here != "pub":
            return at
        return behind_group(tokens, at + 1) if tokens[at + 1] == "(" else at + 1
    raise NoMatchError


def take_rounds(inner: Tokens, between: str, times: str, tokens: Tokens, at: int) -> tuple[list[Bound], int]:
    """Return what the names of a repetition stand for each time, and the place behind the last one."""
    rounds: list[Bound] = []
    while times != "?" or not rounds:
        start = at
        if rounds and between:
            if tokens[at : at + 1] != [between]:
                break
            start += 1
        one: Bound = {}
        try:
            at = take(inner, tokens, start, one)
        except NoMatchError:
            break
        rounds.append(one)
    if times == "+" and not rounds:
        raise NoMatchError
    return rounds, at


def take(pattern: Tokens, tokens: Tokens, at: int, bound: Bound) -> int:
    """Bind a pattern's names to what stands from a place on; return the place behind it."""
    place = 0
    while place < len(pattern):
        part = pattern[place]
        if part == "$":
            inner, between, times, place = repetition(pattern, place)
            rounds, at = take_rounds(inner, between, times, tokens, at)
            bound.update({name: rounds for name in inner if re.fullmatch(r"\$\w+", name)})
        elif part.startswith("$"):
            behind = take_fragment(pattern[place + 2], tokens, at)
            bound[part] = " ".join(tokens[at:behind])
            at, place = behind, place + 3
        elif tokens[at : at + 1] == [part]:
            at, place = at + 1, place + 1
        else:
            raise NoMatchError
    return at


def written(body: Tokens, bound: Bound) -> Tokens:
    """Return what a macro's body becomes. A name that is not bound is that of a macro inside, and stays."""
    out: Tokens = []
    place = 0
    while place < len(body):
        part = body[place]
        if part == "$" and body[place + 1 : place + 2] == ["("]:
            inner, between, _, place = repetition(body, place)
            once: list[Bound] = [{}]
            rounds = next((value for name in inner if isinstance(value := bound.get(name), list)), once)
            for nth, one in enumerate(rounds):
                out += [between] if nth and between else []
                out += written(inner, bound | one)
            continue
        value = bound.get(part, part)
        out += value.split() if isinstance(value, str) else [part]
        place += 1
    return out


def without_definitions(text: str) -> str:
    """Return a text without the macros that it defines."""
    out, at = "", 0
    for macro in _DEFINED.finditer(text):
        if macro.start() >= at:
            out += text[at : macro.start()]
            at = macro.end() + behind_group(list(text[macro.end() :]), 0)
    return out + text[at:]


class Macros:
    """The macros of a crate."""

    def __init__(self) -> None:
        """Begin without any."""
        self.arms: dict[str, list[tuple[Tokens, Tokens]]] = {}

    def read(self, text: str) -> None:
        """Take the macros that a file defines; one of the same name from another file is forgotten."""
        for macro in _DEFINED.finditer(text):
            tokens = _TOKEN.findall(text[macro.end() :])
            at, end = 1, behind_group(tokens, 0) - 1
            arms = self.arms[macro["name"]] = []
            while at < end:
                arrow = behind_group(tokens, at)
                behind = behind_group(tokens, arrow + 1)
                arms.append((tokens[at + 1 : arrow - 1], tokens[arrow + 2 : behind - 1]))
                at = behind + (tokens[behind] == ";")

    def expanded(self, text: str) -> str:
        """Return what the macros that a text uses become, and what those become that they use."""
        out = []
        for use in _USED.finditer(text):
            if arms := self.arms.get(use["name"]):
                tokens = _TOKEN.findall(text[use.end() :])
                more = self.first_match(arms, tokens[1 : behind_group(tokens, 0) - 1])
                out += [more, self.expanded(more)]
        return " ".join(out)

    @staticmethod
    def first_match(arms: list[tuple[Tokens, Tokens]], tokens: Tokens) -> str:
        """Return what the first arm that takes these tokens makes of them; nothing if none does."""
        for pattern, body in arms:
            bound: Bound = {}
            try:
                if take(pattern, tokens, 0, bound) == len(tokens):
                    return " ".join(written(body, bound)).replace(" :: ", "::")
            except NoMatchError:
                continue
        return ""
