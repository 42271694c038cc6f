"""The playground: the simulator in one page, which a browser opens from disk, and addresses with experiments in them.

``make web`` makes the page in this folder (it needs Node.js and the target for WebAssembly); it is not in the
repository. The address is that of ``web/src/address.js``: a version, then JSON, deflated, in the alphabet of URLs.
"""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError

PAGE: Final = Path(__file__).parent / "playground.html"
_VERSION: Final = "1"
_MOST_ADDRESS: Final = 100_000
"""Characters of an address that the page reads (``web/src/address.js``)."""
MOST_TEXT: Final = 128 << 10
"""Bytes of an experiment that the page reads (``crates/web/src/limits.rs``)."""


def page() -> Path:
    """Return where the page is.

    Raises:
        UsageError: it was not built.
    """
    if not PAGE.is_file():
        raise UsageError(f"the playground is not in this installation ({PAGE})", help="make web")
    return PAGE


def checked_fragment(text: str) -> str:
    """Return the part of an address that somebody copied, if it is one of this version.

    Raises:
        UsageError: if it is not.
    """
    if not re.fullmatch(rf"#{_VERSION}\.[A-Za-z0-9_-]+", text) or len(text) > _MOST_ADDRESS:
        raise UsageError(
            f'"{text[:20]}…" is not an address of the playground', help=f"copy all of it: it begins with #{_VERSION}."
        )
    return text


def fragment(text: str, other: str | None = None) -> str:
    """Return the part of an address, ``#`` included, that opens this experiment in the playground.

    Args:
        text: the experiment.
        other: another one to compare with.

    Raises:
        UsageError: a text is larger than what the page reads.
    """
    for own in (text, other or ""):
        if len(own.encode()) > MOST_TEXT:
            raise UsageError(f"the playground reads experiments of up to {MOST_TEXT} bytes", help="sojourn run FILE")
    sides = [None if own is None else {"text": own, "run": 0} for own in (text, other)]
    state = json.dumps({"a": sides[0], "b": sides[1], "lesson": ""}, ensure_ascii=False)
    deflate = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = deflate.compress(state.encode()) + deflate.flush()
    return f"#{_VERSION}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
