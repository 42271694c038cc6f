"""Texts made from other texts: cut, doubled, with parts of one in another, and with what readers dislike."""

import json
import random
import re
from collections.abc import Sequence
from typing import Any, Final

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


VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    7,
    2**64,
    0.5,
    "",
    "x",
    "down",
    "queue",
    "0s",
    "1e999",
    [],
    {},
    [[]],
    ["x"],
    {"x": 1},
)
"""What takes the place of a value of JSON."""


def restructured(content: bytes, draw: random.Random) -> bytes | None:
    """Return JSON with another value, a key less or a key renamed, in one to three places; None if it is not JSON."""
    try:
        root: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict | list):
        return None
    for _ in range(1 + draw.randrange(3)):
        own: Any = root
        while own:
            key: Any = draw.choice(list(own)) if isinstance(own, dict) else draw.randrange(len(own))
            if isinstance(own[key], dict | list) and own[key] and draw.randrange(6):
                own = own[key]
                continue
            match draw.randrange(4):
                case 0:
                    del own[key]
                case 1 if isinstance(own, dict):
                    own[draw.choice(("x", key.upper(), key + "s"))] = own.pop(key)
                case 2 if isinstance(own, list):
                    own.append(own[key])
                case _:
                    own[key] = draw.choice(VALUES)
            break
    return json.dumps(root).encode()


def mutated(corpus: Sequence[bytes], seed: int) -> bytes:
    """Return a text that the seed alone decides, from the texts of a corpus."""
    draw = random.Random(seed)  # noqa: S311 - it is to be the same again
    if draw.randrange(2) and (own := restructured(draw.choice(corpus), draw)) is not None:
        return own
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
