"""The kernels in the user's cache."""

import json
import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sojourn.errors import UsageError

_TOOLCHAIN = re.compile(r"CONFIG_(CC|GCC|AS|LD|LLD|CLANG|RUSTC|PAHOLE|BINDGEN|TOOLCHAIN)_")
"""Options that say what it was built with, not what was built."""

_NOT_QDISCS = {"default", "fifo"}
_NOT_CONTROLS = {"advanced"}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that was built."""

    folder: Path
    version: str
    """As ``uname -r`` says it."""
    config: str
    """The beginning of its configuration's hash."""
    source: str
    """Where its source comes from."""
    qdiscs: list[str]
    ccs: list[str]

    @property
    def stack(self) -> str:
        """The stack that it stands for: ``linux-7.3``."""
        return f"linux-{'.'.join(str(n) for n in order(self.version)[:2])}"


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
        "SOJOURN_CACHE, XDG_CACHE_HOME and HOME are not set: nothing says where kernels are",
        help="set SOJOURN_CACHE, or HOME, to a folder of yours",
    )


def kernels(folder: Path | None = None) -> list[Kernel]:
    """Return the finished kernels of a folder, the cache's unless given; oldest version first."""
    found = []
    for file in (folder or cache()).glob("*/kernel.json"):
        try:
            told = json.loads(file.read_bytes())
            kernel = Kernel(file.parent, told["version"], told["config"], told["source"], told["qdiscs"], told["ccs"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if (file.parent / "linux").is_file():
            found.append(kernel)
    return sorted(found, key=lambda k: (order(k.version), k.config))


def hash_of(config: str) -> str:
    r"""Return the beginning of a configuration's hash; comments and the toolchain's versions do not count.

    >>> hash_of("CONFIG_A=y\n# CONFIG_B is not set\n") == hash_of("CONFIG_GCC_VERSION=120200\nCONFIG_A=y\n")
    True
    """
    lines = sorted(line for line in config.splitlines() if line.startswith("CONFIG_") and not _TOOLCHAIN.match(line))
    return sha256("\n".join(lines).encode()).hexdigest()[:8]


def qdiscs_of(config: str) -> list[str]:
    r"""Return the queue disciplines that a configuration has, by tc's names.

    >>> qdiscs_of("CONFIG_NET_SCH_FQ_CODEL=y\n# CONFIG_NET_SCH_PIE is not set\n")
    ['bfifo', 'fq_codel', 'pfifo', 'pfifo_fast']
    """
    own = {name.lower() for name in re.findall(r"^CONFIG_NET_SCH_(\w+)=y$", config, re.MULTILINE)}
    return sorted(own - _NOT_QDISCS | {"pfifo", "bfifo", "pfifo_fast"})


def ccs_of(config: str) -> list[str]:
    r"""Return the congestion controls that a configuration has.

    >>> ccs_of("CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_CUBIC=y\n")
    ['cubic', 'reno']
    """
    own = {name.lower() for name in re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", config, re.MULTILINE)}
    return sorted(own - _NOT_CONTROLS | {"reno"})
