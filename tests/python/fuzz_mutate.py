"""Texts made from other texts: cut, doubled, with parts of one in another, and with what readers dislike."""

import random
import re
from collections.abc import Sequence
from typing import Final

_PART: Final = re.compile(rb"[A-Za-z0-9_.]+|\s+|.", re.DOTALL)

NASTY: Final = (
    b"",
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"9" * 400,
    b"4294967296",
    b"18446744073709551616",
    b"\x00",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\n",
    b"\r\n",
    b"\t",
    b'"',
    b"'",
    b"\\",
    b"${x}",
    b"${",
    b"{{",
    b"}}",
    b"{%",
    b"%}",
    b"[",
    b"]",
    b"{",
    b"}",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"../..",
    b"/etc/passwd",
    b"*",
    b"|",
    b",",
    b"=",
    b"::",
    "µ".encode(),
)
"""What is put into texts."""


def mutated(corpus: Sequence[bytes], seed: int) -> bytes:
    """Return a text that the seed alone decides, from the texts of a corpus."""
    draw = random.Random(seed)  # noqa: S311 - it is to be the same again
    parts = _PART.findall(draw.choice(corpus))
    for _ in range(1 << draw.randrange(5)):
        at = draw.randrange(len(parts) + 1)
        match draw.randrange(7):
            case 0:
                parts.insert(at, draw.choice(NASTY))
            case 1 if parts:
                parts[at % len(parts)] = draw.choice(NASTY)
            case 2:
                del parts[at : at + 1 + draw.randrange(8)]
            case 3:
                parts[at:at] = parts[at : at + 1 + draw.randrange(30)]
            case 4:
                other = _PART.findall(draw.choice(corpus))
                begin = draw.randrange(len(other) + 1)
                parts[at:at] = other[begin : begin + 1 + draw.randrange(30)]
            case 5 if parts:
                broken = bytearray(parts[at % len(parts)])
                if broken:
                    broken[draw.randrange(len(broken))] ^= 1 << draw.randrange(8)
                parts[at % len(parts)] = bytes(broken)
            case _:
                del parts[at:]
    return b"".join(parts)[:200_000]
