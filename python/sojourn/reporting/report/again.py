"""How a cell is made again: the command that names it, and the experiment that the playground opens.

Both are compared with the stored runs: a page shows a command only if its file resolves to them, with the settings
that the first command had. Where no experiment file does, the command runs the stored scenario.
"""

import functools
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from sojourn import playground
from sojourn.core.cells import Cell
from sojourn.core.scenario import Labels
from sojourn.core.store import Folder, Record
from sojourn.errors import SojournError, UsageError
from sojourn.experiments import experiment, library
from sojourn.experiments.single import single

_ELSEWHERE: Final = frozenset({"quic", "tcp_stack", "program"})
"""Traffic that the playground has not."""

_VALUES: Final = frozenset({"--set", "-o", "--output", "--seeds", "--only", "--engine", "--threads", "--precision"})
"""Options of ``sojourn run`` with a value behind them."""


@dataclass(frozen=True, slots=True)
class Again:
    """How the runs of a cell are made again."""

    command: str
    playground: int | None
    """Which of :attr:`Experiments.texts` it is; None if the playground cannot hold it."""


@dataclass
class Experiments:
    """The experiment files of a folder's runs, found as they are asked for."""

    folder: Folder
    texts: list[tuple[str, int]] = field(default_factory=list)
    """For the playground: a text, and which of its runs."""

    def again(self, cell: Cell, record: Record) -> Again:
        """Return how a cell is made again.

        Args:
            cell: its runs.
            record: the first of them as it is stored.
        """
        words = _words(record.head["command"])
        settings = _after(words, "--set")
        seeds = [run.seed for run in cell.runs]
        whole = seeds == list(range(1, len(seeds) + 1))
        count = f" --seeds {len(seeds)}" if whole else ""
        exported = shlex.join(["sojourn", "export", "run", str(record.folder), record.name, "-o", "again.run"])
        several = count if len(seeds) > 1 else ""
        command = f"{exported} && sojourn run again.run/scenario.json{several} -o again"
        for what in [cell.experiment, *_files(words)]:
            read = _read(what, tuple(settings))
            if read is None or not _is_of(read, cell, record):
                continue
            if whole:
                engine = ["--engine", cell.engine] if cell.engine != "sim" else []
                only = [word for pair in cell.runs[0].scenario.labels for word in ("--only", "=".join(pair))]
                more = [word for setting in settings for word in ("--set", setting)]
                command = f"{shlex.join(['sojourn', 'run', what, *engine, *only, *more])}{count} -o again"
            return Again(command, self._held(read, cell))
        return Again(command, None)

    def _held(self, read: "_Read", cell: Cell) -> int | None:
        """Return the place of a text that opens a cell's first run in the playground."""
        scenario = cell.runs[0].scenario
        kinds = {flow.kind for flow in scenario.flows}
        if cell.engine != "sim" or scenario.plugins or kinds & _ELSEWHERE:
            return None
        text = single(read.text, scenario)
        if text is None or len(text.encode()) > playground.MOST_TEXT:
            return None
        self.texts.append((text, 0))
        return len(self.texts) - 1

    def carried(self) -> dict[str, Any]:
        """Return the page's data on them: the playground's address, empty if there is none, and the texts."""
        try:
            page = playground.page().as_uri()
        except UsageError:
            page = ""
        return {"page": page, "texts": self.texts}


@dataclass(frozen=True, slots=True)
class _Read:
    """An experiment file that was read."""

    text: str
    cells: Mapping[Labels, Mapping[str, Any]]
    """The request of each cell (:attr:`sojourn.core.store.RunKey.asked`)."""


@functools.lru_cache(maxsize=64)
def _read(what: str, settings: tuple[str, ...]) -> _Read | None:
    if what not in library.abouts() and not Path(what).is_file():
        return None
    try:
        found = experiment.load(what if what in library.abouts() else Path(what), settings=settings, seeds=1, yes=True)
    except SojournError:
        return None
    cells = {key.scenario.labels: _plain(key.asked) for key in found.run_keys}
    return _Read(found.text or "", cells)


def _is_of(read: _Read, cell: Cell, record: Record) -> bool:
    labels = cell.runs[0].scenario.labels
    return read.cells.get(labels) == _plain(record.key.asked)


def _plain(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(json.dumps(asked))
    return found


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words[2:] if words[:2] == ["sojourn", "run"] else []


def _after(words: Sequence[str], option: str) -> list[str]:
    """Return the values of an option in a command."""
    behind = [value for word, value in pairwise(words) if word == option]
    return behind + [word.partition("=")[2] for word in words if word.startswith(f"{option}=")]


def _files(words: Sequence[str]) -> list[str]:
    """Return the experiment files that a command names."""
    before = ["", *words]
    return [word for word, last in zip(words, before, strict=False) if word.endswith(".toml") and last not in _VALUES]
