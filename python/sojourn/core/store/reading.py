"""Files of a results folder, read without trust: somebody else may have packed it, or a disk may have changed it.

Invariants: only plain files are read, through no symbolic link, and no more bytes than a bound; a file with a
checksum is not parsed before its bytes agree with it.
"""

import hashlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Final

from sojourn.errors import StoreError

MOST_TEXT: Final = 256 << 20
"""Bytes of a head, a manifest, or a text; a link's trace of an hour is some 10 MB of a head."""

_SEAL: Final = re.compile(rb',\n "sha256": "([0-9a-f]{64})"\n\}\n')


def read(path: Path, most: int) -> bytes:
    """Return the bytes of a plain file.

    Args:
        path: which.
        most: bytes that it may have.

    Raises:
        StoreError: if it is a link, a pipe, a device or a folder, is larger, or cannot be read.
    """
    try:
        # A pipe is opened only to see what it is; nobody need have its other end.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise damaged(path, "it is not a plain file")
            content = file.read(most + 1)
    except OSError as error:
        raise damaged(path, "it is a symbolic link" if path.is_symlink() else why(error)) from error
    if len(content) > most:
        raise damaged(path, f"it has more than {most} bytes")
    return content


def seal(text: str) -> bytes:
    r"""Return a JSON object, as ``json.dumps(…, indent=1)`` wrote it, with the SHA-256 of all before as its last key.

    >>> unsealed(seal('{\n "a": 1\n}'))
    {'a': 1}
    """
    content = text.removesuffix("\n}").encode()
    return content + f',\n "sha256": "{hashlib.sha256(content).hexdigest()}"\n}}\n'.encode()


def unsealed(content: bytes) -> object:
    r"""Return what :func:`seal` wrote, without the checksum; earlier versions wrote none.

    Raises:
        ValueError: if it is not JSON, or its bytes are not those that were written.

    >>> unsealed(seal('{\n "a": 1\n}').replace(b"1", b"3", 1))
    Traceback (most recent call last):
        ...
    ValueError: its SHA-256 is not that of what was written
    """
    # What comes behind the last comma and line is the seal, if there is one.
    body, _, _ = content.rpartition(b",\n")
    found = _SEAL.fullmatch(content, len(body))
    if found is not None and hashlib.sha256(body).hexdigest().encode() != found[1]:
        raise ValueError("its SHA-256 is not that of what was written")
    fields = json.loads(content)
    if isinstance(fields, dict) and (fields.pop("sha256", None) is None) != (found is None):
        raise ValueError("its SHA-256 does not stand where it was written")
    return fields


def why(error: Exception) -> str:
    """Return what an exception says about the file that was read.

    >>> why(KeyError("version"))
    "it has no 'version'"
    >>> why(FileNotFoundError(2, "No such file or directory", "x"))
    'No such file or directory'
    """
    match error:
        case json.JSONDecodeError():
            reason = f"it is no JSON: {error}"
        case KeyError():
            reason = f"it has no {error}"
        case OSError(strerror=str(words)):
            reason = words
        case UnicodeDecodeError():
            reason = "it is no text in UTF-8"
        case RecursionError():
            reason = "it is nested too deeply"
        case ValueError():
            reason = str(error)
        case _:
            reason = f"it is not as it was written: {error}"
    return reason


def damaged(file: Path, reason: object) -> StoreError:
    """Return the error that names a damaged file."""
    return StoreError(f"{file} is damaged: {reason}")
