"""Programs that a build starts."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.errors import RunError
from sojourn.linux.needs import program


def run(words: Sequence[str], folder: Path, what: str, more: Mapping[str, str] | None = None) -> None:
    """Run a program in a folder; ``more`` is set in its environment.

    Raises:
        RunError: if it fails: ``what``, and the last that the program said.
    """
    path = program(words[0]) or words[0]
    done = subprocess.run(  # noqa: S603 - programs and words of our own
        [path, *words[1:]], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **(more or {})}
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RunError(what + (f": {said[-1]}" if said else ""))


def output(words: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """Return the output of a program, whether it fails or not."""
    path = program(words[0]) or words[0]
    done = subprocess.run(  # noqa: S603 - as above
        [path, *words[1:]], capture_output=True, text=True, check=False, env={**os.environ, **(more or {})}
    )
    return done.stdout
