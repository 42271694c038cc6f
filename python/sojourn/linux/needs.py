"""The programs that a machine needs to build a kernel and to run it, and the command that installs them."""

import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ADMIN: Final = "/usr/sbin:/sbin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must be there."""

    name: str
    purpose: str
    """``build``, ``source`` or ``run``."""
    package: str
    """Debian's package that has it."""
    there: Callable[[], bool]


def program(name: str) -> str | None:
    """Return where a program is, on the path or where administrators' programs are."""
    return shutil.which(name) or shutil.which(name, path=_ADMIN)


def _program(name: str, purpose: str, package: str) -> Need:
    return Need(name, purpose, package, lambda: program(name) is not None)


def _header(name: str, package: str) -> Need:
    def there() -> bool:
        compiler = program("gcc")
        if compiler is None:
            return False
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.c"
            source.write_text(f"#include <{name}>\nint main(void) {{ return 0; }}\n")
            done = subprocess.run(  # noqa: S603 - the compiler, on a file of our own
                [compiler, "-c", "-o", f"{folder}/probe.o", str(source)], capture_output=True, check=False
            )
            return done.returncode == 0

    return Need(f"<{name}>", "build", package, there)


def needs() -> list[Need]:
    """Return everything that the Linux engine needs."""
    return [
        Need("an x86-64 machine", "run", "", lambda: platform.machine() in {"x86_64", "AMD64"}),
        Need("Linux", "run", "", lambda: platform.system() == "Linux"),
        _program("gcc", "build", "gcc"),
        _program("make", "build", "make"),
        _program("flex", "build", "flex"),
        _program("bison", "build", "bison"),
        _program("bc", "build", "bc"),
        _program("perl", "build", "perl"),
        _program("xz", "build", "xz-utils"),
        _program("strip", "build", "binutils"),
        _header("stdlib.h", "libc6-dev"),
        _program("apt-get", "source", "apt"),
        _program("dpkg-deb", "source", "dpkg"),
        _program("ip", "run", "iproute2"),
        _program("tc", "run", "iproute2"),
    ]


def missing(purposes: Iterable[str]) -> list[Need]:
    """Return the needs of these purposes that the machine lacks."""
    wanted = set(purposes)
    return [need for need in needs() if need.purpose in wanted and not need.there()]


def command(lacking: Iterable[Need]) -> str:
    """Return the command that installs these needs; empty if no package has them."""
    packages = sorted({need.package for need in lacking if need.package})
    return f"apt install {' '.join(packages)}" if packages else ""
