"""What the tests of pages share: the command line in a folder, the programs of ``web/test``, and a small experiment.

Pages are tested in Node and Chromium. Both, and the packages of ``web`` (``npm ci`` there), may be missing.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
WEB: Final = ROOT / "web"

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules").is_dir(), reason="needs Node.js, and npm ci in web"
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

FEW: Final = """[experiment]
name = "few"
duration = "2s"
seeds = 2
[axis.queue]
"pfifo" = { hop.bottleneck.qdisc = "pfifo limit 1bdp" }
"<img src=x onerror=alert(1)>" = { hop.bottleneck.qdisc = "fq_codel" }
[axis.rtt]
"80ms" = { hop.bottleneck.rtt = "80ms" }
"20ms" = { hop.bottleneck.rtt = "20ms" }
[[hop]]
name = "bottleneck"
rate = "10mbit"
rtt = "20ms"
[[flow]]
name = "one"
cc = "cubic"
[[flow]]
name = "two"
cc = "reno"
[[check]]
name = "full"
that = "utilisation(bottleneck.down.qdisc) > 0.1"
"""
"""Two axes of two values, two seeds, a check, and a name that would be a script if a page let it."""


def sojourn(*words: str | Path, folder: Path) -> None:
    """Run the command line in a folder; it is to end well."""
    command = [sys.executable, "-m", "sojourn", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr


def node(*arguments: str | Path, timeout: int = 1800, **environment: str) -> str:
    """Run a program with Node in ``web`` without failure; return its output."""
    done = subprocess.run(
        [shutil.which("node") or "node", *map(str, arguments)],
        cwd=WEB,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-6000:]
    return done.stdout
