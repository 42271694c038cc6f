"""The suites that come with Sojourn, and the experiment files that a command names."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from sojourn.errors import UsageError

ALL: Final = "all"
"""The word for every suite that has a published source."""

_OWN: Final = frozenset(
    {
        "c4",
        "known-results",
        "links",
        "nsperf",
        "open-questions",
        "parity",
        "prudentia",
        "quic",
        "responsiveness",
        "rfc-7928",
        "rfc-8867",
        "rfc-8867-media",
        "rfc-9743",
    }
)
"""Suites of our own: they compare engines, stacks, controls and queues, and reproduce no
published figures."""


def suites_folder() -> Path:
    """Return where the suites are: one folder each, one file a scenario."""
    return Path(str(files("sojourn"))) / "suites"


def suites() -> dict[str, dict[str, Path]]:
    """Return the scenarios of every suite by name."""
    found: dict[str, dict[str, Path]] = {}
    for file in sorted(suites_folder().glob("*/*.toml")):
        found.setdefault(file.parent.name, {})[file.stem] = file
    return found


def abouts() -> dict[str, str]:
    """Return the description of every scenario of every suite, by its name."""
    return {
        f"{suite}/{name}": str(tomllib.loads(file.read_text(encoding="utf-8"))["experiment"].get("about", ""))
        for suite, scenarios in suites().items()
        for name, file in in_order(scenarios)
    }


@dataclass(frozen=True, slots=True)
class Named:
    """A file that was asked for, and how."""

    name: str
    """As it was written."""
    file: Path


def resolve(what: str) -> list[Named]:
    """Return the files that a word of the command line stands for.

    Args:
        what: a suite, ``SUITE/SCENARIO``, ``all`` for every suite that has a published source, or a file.

    Raises:
        UsageError: if there is nothing of that name.
    """
    path = Path(what)
    if path.suffix in {".toml", ".json", ".batch"} or path.is_file():
        if path.is_dir():
            raise UsageError(f"{what} is a folder, not an experiment file")
        if not path.exists():
            raise UsageError(f"there is no file {what}")
        if not os.access(path, os.R_OK):
            raise UsageError(f"cannot read {what}", help="check its permissions")
        return [Named(what, path)]
    if path.is_dir():
        raise UsageError(
            f"{what} is a folder, not an experiment file",
            help="name a file in it; of results, `sojourn table DIR` shows what they say",
        )
    return resolve_suite(what, "suite or file")


def resolve_suite(what: str, kind: str = "suite") -> list[Named]:
    """Return the files that a suite's name stands for; it may be written in capitals.

    Args:
        what: a suite, ``SUITE/SCENARIO``, or ``all`` for every suite that has a published source.
        kind: the kind of thing, for the error message.

    Raises:
        UsageError: if there is nothing of that name, with the nearest.
    """
    found = suites()
    if what == ALL:
        return [Named(f"{s}/{n}", file) for s, own in found.items() if s not in _OWN for n, file in in_order(own)]
    suite, _, scenario = _spelt(what, found).partition("/")
    if suite not in found:
        error = UsageError.unknown(kind, what, [ALL, *found, *_all_scenarios(found)])
        if not (error.help or "").startswith("did you mean"):
            error.help = f"available: {', '.join([ALL, *found])}; `sojourn suites` lists the scenarios of each"
        raise error
    if not scenario:
        return [Named(f"{suite}/{name}", file) for name, file in in_order(found[suite])]
    if scenario not in found[suite]:
        raise UsageError.unknown("scenario", what, [f"{suite}/{name}" for name in found[suite]])
    return [Named(f"{suite}/{scenario}", found[suite][scenario])]


def _spelt(what: str, found: dict[str, dict[str, Path]]) -> str:
    """Return the name as the suites are called; as it was written if nothing is called so."""
    known = [*found, *_all_scenarios(found)]
    return next((name for name in known if name.lower() == what.lower()), what)


def _all_scenarios(found: dict[str, dict[str, Path]]) -> list[str]:
    return [f"{suite}/{name}" for suite, scenarios in found.items() for name in scenarios]


def in_order(scenarios: Mapping[str, Path]) -> list[tuple[str, Path]]:
    """Return the scenarios with ``s2`` before ``s10``."""
    return sorted(scenarios.items(), key=lambda item: (len(item[0]), item[0]))
