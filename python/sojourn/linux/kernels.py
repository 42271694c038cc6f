"""The kernels in the user's cache."""

import json
import os
import re
import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.core.store.atomic import write_file
from sojourn.errors import UsageError

_TOOLCHAIN = re.compile(r"CONFIG_(CC|GCC|AS|LD|LLD|CLANG|RUSTC|PAHOLE|BINDGEN|TOOLCHAIN)_")
"""Options that describe the toolchain, not the kernel."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_DIGITS: Final = 8
"""How many hexadecimal digits of a hash are kept."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that was built."""

    folder: Path
    version: str
    """As ``uname -r`` says it."""
    config: str
    """The beginning of its configuration's hash."""
    source: str
    """Where its source comes from: a package with its version, or a tree's folder."""
    qdiscs: list[str]
    """Its queue disciplines, as it says itself."""
    ccs: list[str]
    """Its congestion controls, as it says itself."""
    hash: str | None = None
    """The beginning of its program's hash; None of one that an earlier version of Sojourn built."""
    name: str | None = None
    """What its user calls it."""
    tree: bool = False
    """Whether its source is a tree of the user's."""
    built: int = 0
    """When, in seconds since 1970."""
    compiler: str = ""
    accecn: bool | None = None
    """Whether it negotiates AccECN; None if it was not asked."""
    options: bool = False
    """Whether it was built with options of the user's (``--config``), so that it is no stack's default."""

    @property
    def stack(self) -> str:
        """The stack of its series, whether or not Sojourn has that: ``linux-7.3``."""
        return f"linux-{series(self.version)}"

    @property
    def id(self) -> str:
        """Its unique name: ``7.3.4-1c0ffee1``."""
        return f"{self.version}-{self.hash or self.config}"

    @property
    def label(self) -> str:
        """Its name for people: the given one, or else :attr:`id`."""
        return self.name or self.id

    def write(self) -> None:
        """Write its description into its folder, which makes it a finished kernel."""
        fields = {
            "version": self.version,
            "hash": self.hash,
            "config": self.config,
            "name": self.name,
            "source": self.source,
            "tree": self.tree,
            "options": self.options,
            "built": self.built,
            "compiler": self.compiler,
            "qdiscs": self.qdiscs,
            "ccs": self.ccs,
            "accecn": self.accecn,
        }
        write_file(self.folder / "kernel.json", json.dumps(fields, indent=1).encode())


def series(version: str) -> str:
    """Return the series of a version: its first two numbers.

    >>> series("7.3.4-rc1")
    '7.3'
    """
    return ".".join(str(n) for n in order(version)[:2])


def order(version: str) -> tuple[int, int, int]:
    """Return a version's numbers.

    >>> order("7.3.4"), order("5.10.223-sojourn"), order("6.1")
    ((7, 3, 4), (5, 10, 223), (6, 1, 0))
    """
    numbers = [int(n) for n in re.findall(r"\d+", version)[:3]] + [0, 0, 0]
    return (numbers[0], numbers[1], numbers[2])


def cache() -> Path:
    """Return the Linux engine's folder in the user's cache; the engine looks there too.

    Raises:
        UsageError: if nothing says where that is. Programs are run from it, so that a folder which anybody may make
            (one among the temporary ones) is none.
    """
    if own := os.environ.get("SOJOURN_CACHE"):
        return Path(own) / "linux"
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "sojourn" / "linux"
    if home := os.environ.get("HOME"):
        return Path(home) / ".cache" / "sojourn" / "linux"
    raise UsageError(
        "SOJOURN_CACHE, XDG_CACHE_HOME and HOME are not set, so the place of kernels is unknown",
        help="set SOJOURN_CACHE, or HOME, to a folder of your own",
    )


def kernels(folder: Path | None = None) -> list[Kernel]:
    """Return the finished kernels of a folder (default: the cache), oldest version first."""
    found = []
    for file in (folder or cache()).glob("*/kernel.json"):
        try:
            fields = json.loads(file.read_bytes())
            kernel = Kernel(
                file.parent,
                fields["version"],
                fields["config"],
                fields["source"],
                fields["qdiscs"],
                fields["ccs"],
                fields.get("hash"),
                fields.get("name"),
                fields.get("tree", False),
                fields.get("built", 0),
                fields.get("compiler", ""),
                fields.get("accecn"),
                fields.get("options", False),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if (file.parent / "linux").is_file():
            found.append(kernel)
    return sorted(found, key=lambda k: (order(k.version), k.id))


def standing() -> dict[str, str]:
    """Return which stack runs on which kernel where none is named: stacks by the ids of kernels."""
    return {identity: stack for stack, identity in _core.standing_kernels(cache())}


def named(word: str) -> Kernel:
    """Return the kernel that is called so: by its name, its id (``7.3.4-1c0ffee1``) or its hash alone.

    Raises:
        UsageError: if there is none, with the nearest.
    """
    found = kernels()
    for kernel in found:
        if word in {kernel.name, kernel.id, kernel.hash or kernel.config}:
            return kernel
    if not found:
        raise UsageError(f'there is no kernel "{word}"', help="none has been built: sojourn linux build")
    raise UsageError.unknown("kernel", word, [kernel.label for kernel in found])


def check_name(name: str, source: str) -> None:
    """Refuse a name that a kernel of this source cannot have.

    A name belongs to a source: the new kernel of a rebuilt tree takes it over. The old one stays under its id.

    Raises:
        UsageError: if it is no name, or that of a kernel of another source.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(f'"{name}" cannot name a kernel', help="use a letter, then letters, digits, _, . and -")
    for kernel in kernels():
        if kernel.name == name and kernel.source != source:
            raise UsageError(
                f'there is a kernel "{name}" already, of {kernel.source}',
                help=f"choose another name, or remove it first: sojourn linux remove {name}",
            )


def remove(kernel: Kernel) -> list[Path]:
    """Remove a kernel, and with the last one of a tree its compiled files, which the next build would reuse.

    Returns:
        The folders that are gone.
    """
    gone = [kernel.folder]
    if kernel.tree and not any(k.source == kernel.source for k in kernels() if k.folder != kernel.folder):
        gone += [folder for folder in [objects_of(Path(kernel.source))] if folder.is_dir()]
    # Without this it is not a finished kernel any more, should the rest be interrupted.
    (kernel.folder / "kernel.json").unlink(missing_ok=True)
    for folder in gone:
        shutil.rmtree(folder)
    return gone


def objects_of(tree: Path) -> Path:
    """Return the folder of a tree's compiled files: its next build compiles only the changes."""
    return cache() / f"objects-{sha256(os.fsencode(tree)).hexdigest()[:_DIGITS]}"


def hash_of_program(file: Path) -> str:
    """Return the beginning of a program's hash."""
    return sha256(file.read_bytes()).hexdigest()[:_DIGITS]


def hash_of(config: str) -> str:
    r"""Return the beginning of a configuration's hash; comments and the toolchain's versions do not count.

    >>> hash_of("CONFIG_A=y\n# CONFIG_B is not set\n") == hash_of("CONFIG_GCC_VERSION=120200\nCONFIG_A=y\n")
    True
    """
    lines = sorted(line for line in config.splitlines() if line.startswith("CONFIG_") and not _TOOLCHAIN.match(line))
    return sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS]
