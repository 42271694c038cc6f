"""A worker's facts: enough to decide whether its results may join those of others."""

import os
import platform
import shutil
import time
from typing import TypedDict

from sojourn import _core
from sojourn.linux.kernels import kernels


class Facts(TypedDict):
    """A worker's answer."""

    host: str
    builds: dict[str, str]
    """The version of each engine, with the digest of its sources."""
    python: str
    system: str
    cores: int
    """That this process may use."""
    kernels: dict[str, str | None]
    """The hash of each kernel for the engine Linux, by its name."""
    clock_s: float
    """What its clock says, s since 1970."""
    free_bytes: int
    """Room where it works."""


def of_this_process() -> Facts:
    """Return the facts about this process; workers call it."""
    return {
        "host": platform.node(),
        "builds": {name: _core.version(name) for name in _core.engines()},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "kernels": {kernel.label: kernel.hash for kernel in kernels()},
        "clock_s": time.time(),
        "free_bytes": shutil.disk_usage(os.curdir).free,
    }
