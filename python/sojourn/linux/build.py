"""Building a kernel.

Nothing is written into a tree: the build has a folder of its own. A package's goes with it; a tree's is kept, so that
after a change of a file or two the next build takes seconds.

A build is made repeatable as Documentation/kbuild/reproducible-builds.rst of the kernel has it: date,
user, host and count are fixed, and Kbuild keeps the folder's name out of the program. So the program's hash says what
was built: tree, configuration and compiler.

A built kernel is booted once to query its features. One that does not boot is not kept.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from sojourn import _core
from sojourn.errors import RunError, UsageError
from sojourn.linux import configuration, source
from sojourn.linux.commands import output, run
from sojourn.linux.kernels import (
    Kernel,
    cache,
    check_name,
    hash_of,
    hash_of_program,
    kernels,
    objects_of,
)
from sojourn.linux.needs import command, missing
from sojourn.linux.progress import Say, silent
from sojourn.linux.source import Source

_REPEATABLE: Final = {
    "KBUILD_BUILD_TIMESTAMP": "Tue Nov 14 22:13:20 UTC 2023",
    "KBUILD_BUILD_USER": "sojourn",
    "KBUILD_BUILD_HOST": "sojourn",
    "KBUILD_BUILD_VERSION": "1",
    # Of a tree in git neither the commit nor a plus sign: the hash tells more.
    "LOCALVERSION": "",
}
_COMPILED: Final = re.compile(r"^  (CC|AS)\s")
_TO_COMPILE: Final = re.compile(r"echo '  (?:CC|AS)\s+([^'\s]+)'")


def build(
    *,
    version: str | None = None,
    tree: Path | None = None,
    name: str | None = None,
    config: Path | None = None,
    jobs: int | None = None,
    say: Say = silent,
) -> Kernel:
    """Build a kernel and put it into the cache.

    Args:
        version: the series, ``7.3`` (default: the newest that the package sources have and a stack is of).
        tree: a kernel tree to build instead of a package.
        name: its name, taken from an earlier kernel of the same source if that has it.
        config: a file with more options for it, or the word of one that is shipped
            (:data:`sojourn.linux.configuration.SHIPPED`).
        jobs: compilers at a time (default: one a core).
        say: called with its progress.

    Raises:
        UsageError: if something is missing on this machine, there is no such source, or the name is taken.
        RunError: if the build fails, or the kernel does not boot.
    """
    lacking = missing(["build"] if tree else ["build", "source"])
    if lacking:
        names = ", ".join(need.name for need in lacking)
        raise UsageError(f"to build a kernel, this is missing: {names}", help=command(lacking) or None)
    own = source.tree(tree) if tree is not None else None
    config = configuration.named(config)
    # Ten minutes are not to end in either of these.
    configuration.lines(config)
    if name is not None and own is not None:
        check_name(name, own.origin)
    store = cache()
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=store) as work:
        place = Path(work)
        found = own or source.fetch(version, place, say)
        if name is not None and own is None:
            check_name(name, found.origin)
        with _objects(found, place) as out:
            kernel = _Build(found, out, config, jobs or os.cpu_count() or 1, say).kernel()
    return _called(kernel, name, found.origin) if name is not None else kernel


def _called(kernel: Kernel, name: str, origin: str) -> Kernel:
    """Give a kernel this name; another that had it stays, under its id."""
    if kernel.source != origin and kernel.name not in {None, name}:
        raise UsageError(
            f"what was built of {origin} is the kernel {kernel.name}, to the bit: it gets no other name",
            help=f"run that one: --engine linux --kernel {kernel.name}",
        )
    for other in kernels():
        if other.name == name and other.folder != kernel.folder:
            replace(other, name=None).write()
    own = replace(kernel, name=name, source=origin)
    own.write()
    return own


@contextmanager
def _objects(found: Source, work: Path) -> Iterator[Path]:
    """Lend the folder that is built in: a tree's own, which stays, to one build at a time."""
    out = objects_of(found.tree) if found.own else work / "out"
    out.mkdir(exist_ok=True)
    with (out / "sojourn.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{found.origin} is being built already", help="wait until it ends") from None
        yield out


class _Build:
    """One build."""

    def __init__(self, found: Source, out: Path, config: Path | None, jobs: int, say: Say) -> None:
        self.source, self.out, self.own, self.jobs, self.say = found, out, config, jobs, say
        top = out / "Kconfig.sojourn"
        self.make = ["make", "-C", str(found.tree), "ARCH=um", f"O={out}", f"KBUILD_KCONFIG={top}"]

    def kernel(self) -> Kernel:
        """Configure the kernel, build it unless it exists already, and query its features."""
        config = self._configure()
        release = output([*self.make, "-s", "kernelrelease"], _REPEATABLE).strip().splitlines()[-1]
        compiler = self._compiler()
        for there in kernels():
            same = (there.source, there.config, there.compiler) == (self.source.origin, hash_of(config), compiler)
            if same and not self.source.own:
                self.say(f"{there.id} exists already", 1.0)
                return there
        self._compile(release)
        return self._keep(release, config, compiler)

    def _configure(self) -> str:
        tree, out, work = self.source.tree, self.out, self.out
        (out / "Kconfig.sojourn").write_text(configuration.top((tree / "Kconfig").read_text()))
        (out / "fragment").write_text(configuration.fragment(tree, self.own))
        self.say("configuring", 0.0)
        failed = f"the kernel in {tree} cannot be configured"
        run([*self.make, "defconfig"], work, failed, _REPEATABLE)
        merge = [str(tree / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(out)]
        run([*merge, str(out / ".config"), str(out / "fragment")], tree, failed)
        run([*self.make, "olddefconfig"], work, failed, _REPEATABLE)
        config = (out / ".config").read_text()
        configuration.refuse_what_does_not_take(config, self.own)
        return config

    def _compiler(self) -> str:
        said = re.search(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', (self.out / ".config").read_text(), re.MULTILINE)
        return said[1] if said else ""

    def _compile(self, release: str) -> None:
        """Run the compilation, counting the files against those that make says it will compile."""
        self.say("counting files to compile", 0.0)
        run([*self.make, f"-j{self.jobs}", "prepare"], self.out, "the kernel cannot be prepared", _REPEATABLE)
        # What is to be linked is not there yet, which a rehearsal takes for an error; it goes on with the rest.
        rehearsed = _TO_COMPILE.findall(output([*self.make, "-nk", "linux"], _REPEATABLE))
        files = len(rehearsed)
        # Of the files that exist already, it counts all that may have to be rebuilt (offsets, and their users).
        again = any((self.out / name).exists() for name in rehearsed if name.endswith(".o"))
        most = "at most " if again else ""
        what = f"building {release}: {most}{files} file{'s'[: files != 1]} to compile"
        self.say(what, 0.0)
        log = self.out / "build.log"
        done = self._follow([*self.make, f"-j{self.jobs}", "linux"], log, files, what)
        if done != 0:
            kept = cache() / "build.log"
            shutil.copy(log, kept)
            said = [line for line in kept.read_text(errors="replace").splitlines() if "rror" in line]
            raise RunError(
                f"the kernel's build failed: {said[0].strip() if said else 'make says no more'}",
                help=f"the whole log is in {kept}",
            )

    def _follow(self, words: Sequence[str], log: Path, files: int, what: str) -> int:
        done = 0
        with (
            log.open("w") as written,
            subprocess.Popen(  # noqa: S603 - make, with words of our own
                words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **_REPEATABLE}
            ) as process,
        ):
            assert process.stdout is not None  # noqa: S101 - it was asked for
            try:
                for line in process.stdout:
                    written.write(line)
                    done += bool(_COMPILED.match(line))
                    # Whatever is compiled twice, or by the link, is not to make it more than the whole.
                    self.say(what, min(done / max(files, 1), 1.0))
            except BaseException:
                process.terminate()
                raise
        return process.returncode

    def _keep(self, release: str, config: str, compiler: str) -> Kernel:
        """Put a built kernel into the cache; its description is written last."""
        stripped = self.out / "linux.stripped"
        run(["strip", "-o", str(stripped), str(self.out / "linux")], self.out, "the kernel cannot be stripped")
        digest = hash_of_program(stripped)
        for there in kernels():
            if there.hash == digest and there.version == release:
                self.say(f"{there.id} exists already: nothing in it has changed", 1.0)
                return there
        self.say("querying its features", 0.0)
        with tempfile.TemporaryDirectory(prefix="build-", dir=cache()) as work:
            place = Path(work)
            shutil.move(stripped, place / "linux")
            (place / "config").write_text(config)
            try:
                answer = json.loads(_core.ask_kernel(str(place / "linux"), str(cache())))
            except RunError as error:
                raise RunError(
                    f"{release} was built, and cannot be used: {error.message}",
                    help="only compiled files were kept; change the tree and build again",
                ) from None
            folder = cache() / f"{release}-{digest}"
            folder.mkdir(exist_ok=True)
            for file in ("linux", "config"):
                shutil.move(place / file, folder / file)
        kernel = Kernel(
            folder,
            release,
            hash_of(config),
            self.source.origin,
            answer["qdiscs"],
            answer["ccs"],
            digest,
            None,
            self.source.own,
            int(time.time()),
            compiler,
            answer["accecn"],
            self.own is not None,
        )
        kernel.write()
        return kernel
