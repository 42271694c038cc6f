"""Where a kernel's source comes from: the distribution's package, or a tree of the user's."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn.core import listings
from sojourn.errors import UsageError
from sojourn.linux.commands import output, run
from sojourn.linux.kernels import order, series
from sojourn.linux.progress import Say

_BACKPORTS: Final = "deb http://deb.debian.org/debian trixie-backports main"
"""Where Debian has the series that the stacks are of. The package has sources alone, so any release's does."""


@dataclass(frozen=True, slots=True)
class Source:
    """A tree to build."""

    tree: Path
    origin: str
    """The package with its version, or the tree's folder."""
    own: bool
    """Whether it is a tree of the user's."""


def tree(folder: Path) -> Source:
    """Return a tree of the user's.

    Raises:
        UsageError: if it is none, or one that has been built in.
    """
    for file in ("Makefile", "Kconfig", "arch/um/Kconfig", "net/ipv4/Kconfig", "net/sched/Kconfig"):
        if not (folder / file).is_file():
            raise UsageError(
                f"{folder} is not a kernel tree: it lacks {file}",
                help="name the folder that contains Makefile and Kbuild",
            )
    if (folder / ".config").exists() or (folder / "include" / "config").exists():
        raise UsageError(
            f"{folder} contains a build; builds outside of it need a clean tree",
            help=f"make -C {folder} mrproper (it removes .config: keep a copy), or name a copy of the tree",
        )
    return Source(folder.resolve(), str(folder.resolve()), own=True)


def fetch(version: str | None, work: Path, say: Say) -> Source:
    """Fetch a package of kernel source and unpack it.

    Raises:
        UsageError: if the package sources have none of this version, or none that a stack knows.
        RunError: if it cannot be fetched or unpacked.
    """
    name = package(version)
    say(f"fetching {name}", 0.0)
    run(["apt-get", "download", name], work, f"apt-get cannot download {name}")
    archive = next(work.glob("*.deb"))
    say(f"unpacking {archive.name}", 0.0)
    run(["dpkg-deb", "-x", archive.name, "package"], work, f"{archive.name} cannot be unpacked")
    origin = archive.stem.replace("_", " ").removesuffix(" all").replace("%3a", ":")
    archive.unlink()
    tarball = next((work / "package").rglob("linux-source-*.tar.*"))
    (work / "tree").mkdir()
    run(["tar", "xf", str(tarball), "-C", "tree", "--strip-components=1"], work, f"{tarball.name} cannot be unpacked")
    shutil.rmtree(work / "package")
    return Source(work / "tree", origin, own=False)


def known_series() -> list[str]:
    """Return the series of mainline that the simulator has a stack of, newest first: 7.3, 5.10, 5.4."""
    names = [entry["name"].removeprefix("linux-") for entry in listings.stacks()]
    return sorted((name for name in names if re.fullmatch(r"\d+\.\d+", name)), key=order, reverse=True)


def package(version: str | None) -> str:
    """Return the name of the source package of a series, or of the newest that a stack is of.

    Raises:
        UsageError: if the package sources have none, with those that exist and the way to get another.
    """
    found = output(["apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$"])
    names = re.findall(r"^(linux-source-([0-9.]+))\s", found, re.MULTILINE)
    by_series: dict[str, str] = {number: name for name, number in names}
    known = known_series()
    stacks = f"there are stacks of {', '.join(known)}"
    get = (
        f"Debian has {known[0]} in backports: "
        f'echo "{_BACKPORTS}" > /etc/apt/sources.list.d/backports.list; apt update. '
        "Any other, from kernel.org too, is a tree: sojourn linux build --source DIR"
    )
    if not by_series:
        raise UsageError("the package sources of this machine have no kernel source", help=f"run apt update. {get}")
    there = ", ".join(sorted(by_series, key=order))
    if version is None:
        both = [number for number in known if number in by_series]
        if not both:
            raise UsageError(
                f"the package sources of this machine have no kernel that a stack is of: there is {there}; {stacks}",
                help=f"{get}. With --version X.Y one of those that there are is built, for the engine linux alone",
            )
        return by_series[both[0]]
    wanted = series(version)
    if wanted not in by_series:
        raise UsageError(
            f"the package sources of this machine have no linux-source-{wanted}",
            help=f"there is {there}; {stacks}. {get}",
        )
    return by_series[wanted]
