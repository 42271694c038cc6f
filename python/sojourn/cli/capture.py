"""What ``--pcap`` and ``--snap-len`` ask for."""

from pathlib import Path

from sojourn import _core
from sojourn.errors import UsageError


def snap_length(asked: int | None, *, pcap: bool) -> int | None:
    """Return how many bytes of a packet are to be kept; None if no packets are.

    Raises:
        UsageError: if a length is given and no packets are wanted.
    """
    if not pcap:
        if asked is not None:
            raise UsageError("--snap-len needs --pcap: no packets are captured", help="add --pcap")
        return None
    return _core.SNAP_LEN if asked is None else asked


def make_folder(path: Path) -> None:
    """Make a folder for captures if it is not there.

    Raises:
        UsageError: if it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create {path}: {error.strerror}") from error
