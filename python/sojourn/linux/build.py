"""Building a kernel.

The source is the distribution's package, fetched and unpacked without installing it, or a tree that the user
names. Nothing is written into a tree: the build has a folder of its own, and the one thing that no configuration
can say, User-Mode Linux's tick rate, is said by a copy of the tree's own top Kconfig with one symbol before
everything else (Kconfig takes the first default of a symbol that is defined twice).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from sojourn.core.store.atomic import write_file
from sojourn.errors import RunError, UsageError
from sojourn.linux.kernels import Kernel, cache, ccs_of, hash_of, kernels, order, qdiscs_of
from sojourn.linux.needs import command, missing, program

HZ: Final = 250
"""What distributions set; TCP's and PIE's clocks tick in it."""

Say = Callable[[str, float], None]
"""Told what is being done, and how much of it: 0 to 1."""

_OBJECTS: Final = 1900
"""About how many files are compiled: the scale of the progress."""


def build(
    *,
    version: str | None = None,
    source: Path | None = None,
    jobs: int | None = None,
    say: Say = lambda _what, _how: None,
) -> Kernel:
    """Build a kernel and put it into the cache.

    Args:
        version: the series, ``7.3``; the newest that the package sources have unless given.
        source: a kernel tree to build instead of a package.
        jobs: compilers at a time; one a core unless given.
        say: told how far it is.

    Raises:
        UsageError: if something is missing on this machine, or there is no such source.
        RunError: if the build fails.
    """
    lacking = missing(["build"] if source else ["build", "source"])
    if lacking:
        names = ", ".join(need.name for need in lacking)
        raise UsageError(f"to build a kernel, this is missing: {names}", help=command(lacking) or None)
    if source is not None and not (source / "arch" / "um" / "Kconfig").is_file():
        raise UsageError(
            f"{source} is no kernel tree: it has no arch/um", help="name the folder that has Makefile and Kbuild"
        )
    store = cache()
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=store) as work:
        place = Path(work)
        if source is None:
            tree, origin = _fetch(version, place, say)
        else:
            tree, origin = source.resolve(), str(source)
        return _make(tree, origin, place, jobs or os.cpu_count() or 1, say)


def _fetch(version: str | None, work: Path, say: Say) -> tuple[Path, str]:
    """Fetch a package of kernel source and unpack it."""
    package = _package(version)
    say(f"fetching {package}", 0.0)
    _run(["apt-get", "download", package], work, f"apt-get cannot download {package}")
    archive = next(work.glob("*.deb"))
    say(f"unpacking {archive.name}", 0.0)
    _run(["dpkg-deb", "-x", archive.name, "package"], work, f"{archive.name} cannot be unpacked")
    origin = archive.stem.replace("_", " ").removesuffix(" all").replace("%3a", ":")
    archive.unlink()
    tarball = next((work / "package").rglob("linux-source-*.tar.*"))
    (work / "tree").mkdir()
    _run(["tar", "xf", str(tarball), "-C", "tree", "--strip-components=1"], work, f"{tarball.name} cannot be unpacked")
    shutil.rmtree(work / "package")
    return work / "tree", origin


def _package(version: str | None) -> str:
    """Return the name of the newest source package, or that of a series."""
    found = _output(["apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$"])
    names = re.findall(r"^(linux-source-([0-9.]+))\s", found, re.MULTILINE)
    by_version: dict[str, str] = {number: name for name, number in names}
    if not by_version:
        raise UsageError(
            "the package sources of this machine have no kernel source",
            help="run apt-get update, or name a tree: sojourn linux build --source DIR",
        )
    if version is None:
        return by_version[max(by_version, key=order)]
    series = ".".join(version.split(".")[:2])
    if series not in by_version:
        there = ", ".join(sorted(by_version, key=order))
        raise UsageError(
            f"the package sources of this machine have no linux-source-{series}",
            help=f"there is {there}; for another, add a distribution's source for it (backports), "
            "or name a tree: sojourn linux build --source DIR",
        )
    return by_version[series]


def _make(tree: Path, origin: str, work: Path, jobs: int, say: Say) -> Kernel:
    out = work / "out"
    out.mkdir()
    top = (tree / "Kconfig").read_text()
    first = top.index('source "')
    (out / "Kconfig.sojourn").write_text(f"{top[:first]}config HZ\n\tint\n\tdefault {HZ}\n\n{top[first:]}")
    fragment = Path(str(files("sojourn.linux"))) / "fragment.config"
    make = ["make", "-C", str(tree), "ARCH=um", f"O={out}", f"KBUILD_KCONFIG={out / 'Kconfig.sojourn'}"]
    say("configuring", 0.0)
    failed = f"the kernel in {tree} cannot be configured"
    _run([*make, "defconfig"], work, failed)
    merge = [str(tree / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(out), str(out / ".config"), str(fragment)]
    _run(merge, tree, failed)
    _run([*make, "olddefconfig"], work, failed)
    config = (out / ".config").read_text()
    for needed in ("CONFIG_UML_TIME_TRAVEL_SUPPORT=y", "CONFIG_HOSTFS=y", f"CONFIG_HZ={HZ}"):
        if needed not in config.splitlines():
            raise UsageError(
                f"this kernel cannot be used: its configuration does not take {needed}", help="5.4 or newer is needed"
            )
    release = _output([*make, "-s", "kernelrelease"]).strip().splitlines()[-1]
    there = [k for k in kernels() if (k.version, k.config) == (release, hash_of(config))]
    if there and "linux-source" in origin:
        say(f"{release} is there already", 1.0)
        return there[0]
    _compile([*make, f"-j{jobs}", "linux"], out, release, say)
    return _keep(out, release, config, origin)


def _compile(words: Sequence[str], out: Path, release: str, say: Say) -> None:
    """Run the compilation, counting its lines."""
    done = 0
    with (
        (out / "build.log").open("w") as log,
        subprocess.Popen(  # noqa: S603 - make, with words of our own
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - it was asked for
        try:
            for line in process.stdout:
                log.write(line)
                if re.match(r"  (CC|AS|AR|LD|HOSTCC)\s", line):
                    done += 1
                    say(f"building {release}", min(0.99, done / _OBJECTS))
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        kept = cache() / "build.log"
        shutil.copy(out / "build.log", kept)
        said = [line for line in kept.read_text(errors="replace").splitlines() if "rror" in line]
        raise RunError(
            f"the kernel's build failed: {said[0].strip() if said else 'make says no more'}",
            help=f"all of it is in {kept}",
        )


def _keep(out: Path, release: str, config: str, origin: str) -> Kernel:
    """Put a built kernel into the cache; what it can do is written last."""
    import json  # noqa: PLC0415 - needed here alone

    folder = cache() / f"{release}-{hash_of(config)}"
    folder.mkdir(exist_ok=True)
    (folder / "kernel.json").unlink(missing_ok=True)
    _run(["strip", "-o", str(folder / "linux"), str(out / "linux")], out, "the kernel cannot be stripped")
    (folder / "config").write_text(config)
    kernel = Kernel(folder, release, hash_of(config), origin, qdiscs_of(config), ccs_of(config))
    told = {"version": release, "config": kernel.config, "source": origin, "qdiscs": kernel.qdiscs, "ccs": kernel.ccs}
    write_file(folder / "kernel.json", json.dumps(told, indent=1).encode())
    return kernel


def _run(words: Sequence[str], folder: Path, what: str) -> None:
    path = program(words[0]) or words[0]
    done = subprocess.run(  # noqa: S603 - programs and words of our own
        [path, *words[1:]], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RunError(what + (f": {said[-1]}" if said else ""))


def _output(words: Sequence[str]) -> str:
    path = program(words[0]) or words[0]
    done = subprocess.run([path, *words[1:]], capture_output=True, text=True, check=False)  # noqa: S603 - as above
    return done.stdout


def terminal_say() -> Say:
    """Return a progress for a terminal: what, and how much, in one line that is written over."""
    told: list[tuple[str, int]] = []

    def say(what: str, share: float) -> None:
        percent = int(100 * share)
        if told and told[-1] == (what, percent):
            return
        new = not told or told[-1][0] != what
        told.append((what, percent))
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{what}" + (f" {percent} %" if percent else ""))
        elif new or percent % 10 == 0:
            sys.stderr.write(f"{what}" + (f" {percent} %" if percent else "") + "\n")
        sys.stderr.flush()

    return say
