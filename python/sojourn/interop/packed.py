"""Files of other programs as bytes, with errors for directories, files that are too large or cannot be unpacked."""

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from pathlib import Path
from typing import Final

from sojourn.errors import DataFileError


def read_file(path: Path, most: int, *, kind: str, too_large: str) -> bytes:
    """Return the bytes of a file; a device or a pipe, which may have no end, is none.

    Args:
        path: which.
        most: bytes that it may have.
        kind: what to give instead, for the message.
        too_large: why a larger one is not read, for the message.

    Raises:
        DataFileError: naming the error.
    """
    try:
        # A pipe is opened only to learn its kind; its other end need not be open.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise DataFileError(path, "it is not a file", help=f"give {kind}")
            content = file.read(most + 1)
    except OSError as error:
        raise DataFileError(path, error.strerror or str(error)) from error
    if len(content) > most:
        raise DataFileError(path, f"it has more than {most >> 20} MiB", help=too_large)
    return content


def unpacked(path: Path, content: bytes, most: int, *, too_large: str, cut: bool = False) -> tuple[bytes, str | None]:
    """Return bytes unpacked by gzip, bzip2 or xz, or as they are if not packed, and the damage at their end.

    Args:
        path: where it is from, for the message.
        content: the bytes.
        most: bytes that there may be when it is unpacked.
        too_large: why more are not read, for the message.
        cut: whether to return the bytes before damage; otherwise damage is an error.

    Raises:
        DataFileError: naming the error.
    """
    text = bytearray()
    wrong = None
    try:
        with _opened(io.BytesIO(content), content[:2]) as file:
            while len(text) <= most and (part := file.read1(_PART)):
                text += part
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        wrong = f"it cannot be unpacked: {error}"
        if not (cut and text):
            raise DataFileError(path, wrong, help="it may be truncated") from error
    if len(text) > most:
        raise DataFileError(path, f"it has more than {most >> 20} MiB when it is unpacked", help=too_large)
    return bytes(text), wrong


_PART: Final = 1 << 16


def _opened(packed: io.BytesIO, magic: bytes) -> gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile | io.BytesIO:
    match magic:
        case b"\x1f\x8b":
            return gzip.GzipFile(fileobj=packed)
        case b"BZ":
            return bz2.BZ2File(packed)
        case b"\xfd7":
            return lzma.LZMAFile(packed)
        case _:
            return packed
