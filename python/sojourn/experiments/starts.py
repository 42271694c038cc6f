"""Experiments to start from: what ``sojourn init`` writes.

They lie in ``starts`` of the package, each with comments that say what to change, and run as they are; a scenario of
a suite can be copied, too. The copy is named after its file, so that its runs are never taken for the suite's.
"""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError
from sojourn.experiments import library

DEFAULT: Final = "two-flows"
"""The default."""

_NAME: Final = re.compile(r'(?m)^(name\s*=\s*)"[^"]*"')
_WORD: Final = re.compile(r"[^A-Za-z0-9._-]+")


def starts() -> Mapping[str, Path]:
    """Return the files by name, the default first."""
    found = {path.stem: path for path in Path(str(files("sojourn"))).joinpath("starts").glob("*.toml")}
    return {name: found[name] for name in sorted(found, key=lambda name: (name != DEFAULT, name))}


def about(file: Path) -> str:
    """Return an experiment's own description."""
    return str(tomllib.loads(file.read_text(encoding="utf-8"))["experiment"].get("about", ""))


def begun(like: str, target: Path) -> str:
    """Return the text of an experiment to start from, under the name of the file that it is for.

    Args:
        like: one of :func:`starts`, or a scenario of a suite: ``l4s-tests/s6``.
        target: the file.

    Raises:
        UsageError: if there is none of that name, with the nearest.
    """
    own = starts()
    if like in own:
        text = own[like].read_text(encoding="utf-8").replace(f"examples/experiments/{like}.toml", str(target))
    elif "/" in like:
        (named,) = library.resolve_suite(like, "scenario")
        text = named.file.read_text(encoding="utf-8")
        text = f"# From {like}, a scenario that comes with Sojourn.\n#\n{text}"
    else:
        raise UsageError.unknown("experiment to start from", like, [*own, "SUITE/NAME"])
    name = _WORD.sub("-", target.stem).strip("-.") or DEFAULT
    return _NAME.sub(lambda found: f'{found[1]}"{name}"', text, count=1)
