"""A newer ``tc`` for the guest, where the machine's own does not know a discipline that a kernel has.

The source is Debian's package of its testing suite, fetched by apt into lists of our own (nothing of the machine's
apt is changed), or a tree that the user names. Only ``tc`` is built, and kept in the cache by its version; the
engine takes it for the scenarios that need it, and the machine's own for all others.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from sojourn.errors import RunError, UsageError
from sojourn.linux.kernels import cache, order
from sojourn.linux.needs import command, missing, program

_SUITE: Final = "http://deb.debian.org/debian testing main"
_KEYS: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def built(folder: Path | None = None) -> list[Path]:
    """Return the ``tc`` programs in a folder (default: the cache), the newest first."""
    found = [file for file in (folder or cache()).glob("tc-*/tc") if file.is_file()]
    return sorted(found, key=lambda file: order(file.parent.name), reverse=True)


def unknown(disciplines: Iterable[str], tc: Sequence[str | Path] | None = None) -> list[str]:
    """Return those disciplines that none of these ``tc`` programs knows (default: the machine's and the cache's)."""
    if tc is None:
        own = program("tc")
        tc = [*([own] if own else []), *built()]
    return [name for name in disciplines if not any(_knows(each, name) for each in tc)]


def _knows(tc: str | Path, discipline: str) -> bool:
    # Asked for help, tc touches nothing and needs no rights.
    done = subprocess.run(  # noqa: S603 - tc, with words of our own
        [str(tc), "qdisc", "add", "dev", "lo", "root", discipline, "help"], capture_output=True, text=True, check=False
    )
    return "Unknown qdisc" not in done.stderr


def build(*, source: Path | None = None) -> Path:
    """Build ``tc`` and put it into the cache; return where it is.

    Args:
        source: a tree of iproute2 to build instead of Debian's package; it is copied, nothing is written into it.

    Raises:
        UsageError: if something is missing on this machine, or there is no such source.
        RunError: if the source cannot be fetched or does not build.
    """
    lacking = missing(["build"])
    if lacking:
        names = ", ".join(need.name for need in lacking)
        raise UsageError(f"to build tc, this is missing: {names}", help=command(lacking) or None)
    store = cache()
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=store) as work:
        place = Path(work)
        if source is None:
            tree = _fetch(place)
        elif (source / "tc" / "tc.c").is_file():
            tree = Path(shutil.copytree(source, place / "tree", symlinks=True))
        else:
            raise UsageError(
                f"{source} is not an iproute2 tree: it lacks tc/tc.c", help="name the folder that contains configure"
            )
        _run(["./configure"], tree, "iproute2 cannot be configured")
        _run(["make", f"-j{os.cpu_count() or 1}", "SUBDIRS=lib tc"], tree, "tc does not build")
        said = subprocess.run([tree / "tc" / "tc", "-V"], capture_output=True, text=True, check=False)  # noqa: S603 - just built
        version = re.search(r"[0-9][0-9.]*[0-9]", said.stdout)
        if version is None:
            raise RunError(f"the built tc does not print its version: {said.stdout.strip() or said.stderr.strip()}")
        folder = store / f"tc-{version[0]}"
        folder.mkdir(exist_ok=True)
        _run(["strip", "-o", str(folder / "tc.new"), "tc/tc"], tree, "tc cannot be stripped")
        (folder / "tc.new").replace(folder / "tc")
        return folder / "tc"


def _fetch(work: Path) -> Path:
    if program("apt-get") is None or not _KEYS.is_file():
        raise UsageError(
            "a newer iproute2 comes from Debian's archive, and apt on this machine lacks its keys",
            help="apt install debian-archive-keyring, or name a tree: sojourn linux tc --source DIR",
        )
    (work / "lists" / "partial").mkdir(parents=True)
    (work / "cache" / "archives" / "partial").mkdir(parents=True)
    (work / "sources.list").write_text(f"deb-src [signed-by={_KEYS}] {_SUITE}\n")
    apt = ["apt-get", "-q"]
    for key, value in (
        ("Dir::Etc::sourcelist", work / "sources.list"),
        ("Dir::Etc::sourceparts", "-"),
        ("Dir::State::lists", work / "lists"),
        ("Dir::Cache", work / "cache"),
    ):
        apt += ["-o", f"{key}={value}"]
    _run([*apt, "update"], work, "Debian's list of sources cannot be fetched")
    _run([*apt, "source", "--tar-only", "iproute2"], work, "apt-get cannot download the source of iproute2")
    tarball = next(work.glob("iproute2_*.orig.tar.*"), None)
    if tarball is None:
        raise RunError("apt-get did not fetch the source of iproute2")
    (work / "tree").mkdir()
    _run(["tar", "xf", tarball.name, "-C", "tree", "--strip-components=1"], work, f"{tarball.name} cannot be unpacked")
    return work / "tree"


def _run(words: Sequence[str], folder: Path, what: str) -> None:
    path = words[0] if words[0].startswith("./") else program(words[0]) or words[0]
    done = subprocess.run(  # noqa: S603 - programs and words of our own
        [path, *words[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        wrong = next((line for line in said if "rror" in line or line.startswith("E:")), said[-1] if said else "")
        raise RunError(what + (f": {wrong.strip()}" if wrong else ""))
