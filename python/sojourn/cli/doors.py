"""The control sockets of shells that run: their folder, and requests to them."""

import os
import socket
import stat
from pathlib import Path

from sojourn.errors import UsageError

_LONGEST = 1 << 20
"""Of an answer, bytes."""


def folder() -> Path:
    """Return the folder of the user's own control sockets; it is made.

    Raises:
        UsageError: if it belongs to somebody else, or others may write in it.
    """
    base = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(base) / "sojourn" if base else Path(f"/tmp/sojourn-{os.getuid()}")  # noqa: S108 - checked below
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise UsageError(
            f"{path}, the folder of control sockets, cannot be made: {error.strerror}",
            help="set XDG_RUNTIME_DIR to a folder of your own",
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UsageError(f"{path} is accessible to other users", help="set XDG_RUNTIME_DIR to a folder of your own")
    return path


def own() -> Path:
    """Return where this process's control socket is to be; sockets of shells that were killed go."""
    doors = folder()
    for path in doors.glob("shell-*"):
        if not Path("/proc", path.name.removeprefix("shell-")).exists():
            path.unlink(missing_ok=True)
    return doors / f"shell-{os.getpid()}"


def ask(request: str, pid: int | None) -> str:
    """Ask the shell that runs, or the one of this process, and return its answer.

    Raises:
        UsageError: if none runs, several do and none is named, or it refuses.
    """
    found = sorted(folder().glob("shell-*" if pid is None else f"shell-{pid}"))
    answers = {path: answer for path in found if (answer := _ask(path, "status" if len(found) > 1 else request))}
    if not answers:
        which = "" if pid is None else f" of process {pid}"
        raise UsageError(f"no shell{which} runs", help="start one: sojourn shell --rate 20mbit -- COMMAND")
    if len(answers) > 1:
        pids = ", ".join(path.name.removeprefix("shell-") for path in answers)
        raise UsageError(f"{len(answers)} shells run", help=f"choose one by --pid: {pids}")
    path, answer = next(iter(answers.items()))
    if len(found) > 1:
        answer = _ask(path, request) or ""
    if answer.startswith("error "):
        raise UsageError(answer.removeprefix("error "))
    return answer


def _ask(path: Path, request: str) -> str | None:
    """Return the answer; None if nobody listens: a killed shell left the file, and it goes."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return None
        except FileNotFoundError:
            return None
        client.sendall(f"{request}\n".encode())
        answer = b""
        while part := client.recv(_LONGEST):
            answer += part
    return answer.decode(errors="replace").strip()
