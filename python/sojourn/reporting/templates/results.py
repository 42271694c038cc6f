"""A results folder as templates see it: runs by experiment, claims, and the pictures that a page asks for."""

import multiprocessing
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from sojourn.core.digits import rounded
from sojourn.core.select import select, terms_of
from sojourn.core.store import Folder, Record
from sojourn.errors import UsageError
from sojourn.evidence import claims
from sojourn.evidence.claims import ClaimVerdict
from sojourn.experiments import library
from sojourn.experiments.experiment import load
from sojourn.plotting.figures import KINDS, Drawn, kind
from sojourn.plotting.kinds import delivery
from sojourn.views.run import Run

PANEL: Final = delivery.KIND.name
"""The kind of figure that ``plot_*`` draws."""

_FEW: Final = 4
"""Below this many pictures a pool of processes costs more than it gains."""


class NotRun(Exception):  # noqa: N818 - not a mistake: the page says so and goes on
    """Runs that a function needs and the folder does not have: what ``sojourn run`` is to be given for them."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a page shows or links to."""

    stem: str
    kind: str
    experiment: str
    folder: Path
    records: Sequence[str]
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Painted:
    """A picture as a page and its files need it."""

    svg: str
    """An SVG element."""
    numbers: str
    """Its numbers, for the page's script; empty if it has none."""
    csv: bytes
    """Every number that is drawn."""
    caption: str


@dataclass
class Evidence:
    """The shared data of all pages about one folder: its runs, and the verdicts on claims about them."""

    folder: Folder

    @cached_property
    def runs(self) -> Mapping[str, Sequence[tuple[Record, Run]]]:
        """Runs by experiment."""
        found: dict[str, list[tuple[Record, Run]]] = {}
        for record in self.folder.records():
            run = Run.stored(record)
            found.setdefault(run.scenario.experiment, []).append((record, run))
        return found

    @cached_property
    def verdicts(self) -> Mapping[str, ClaimVerdict]:
        """The verdict on every claim, by its id."""
        every = [run for own in self.runs.values() for _, run in own]
        found = claims.evaluate(claims.registry(), every, seeds=claims.seeds_there(every), threads=os.cpu_count() or 1)
        return {verdict.claim.id: verdict for verdict in found}


@dataclass
class Results:
    """The runs of a folder, and the pictures that were asked for while a page was rendered."""

    evidence: Evidence
    picture_folder: str
    """The folder of pictures, relative to the page."""
    pictures: dict[str, Picture] = field(default_factory=dict)
    exports: dict[str, Record] = field(default_factory=dict)
    """Runs that the page links to as folders, by name."""

    @property
    def folder(self) -> Folder:
        """The folder."""
        return self.evidence.folder

    @property
    def runs(self) -> Mapping[str, Sequence[tuple[Record, Run]]]:
        """Runs by experiment."""
        return self.evidence.runs

    @property
    def verdicts(self) -> Mapping[str, ClaimVerdict]:
        """The verdict on every claim, by its id."""
        return self.evidence.verdicts

    @property
    def own(self) -> Mapping[str, Sequence[tuple[Record, Run]]]:
        """The runs of the suite that the page is called after; all if there are none."""
        found = {name: runs for name, runs in self.runs.items() if name.partition("/")[0] == self.picture_folder}
        return found or self.runs

    def chosen(self, experiment: str, pattern: str = "") -> list[tuple[Record, Run]]:
        """Return the runs of an experiment, or of some of its cells.

        Args:
            experiment: its name, or several with ``+`` between them.
            pattern: which cells: ``queue=pie,rtt=20ms``.

        Raises:
            NotRun: if the folder has none of this experiment, or none of the cells that fit.
            UsageError: if no cell of it fits, run or not.
        """
        own: list[tuple[Record, Run]] = []
        for name in (part.strip() for part in experiment.split("+")):
            if name not in self.runs:
                raise NotRun(name)
            own += self.runs[name]
        records = {id(run): record for record, run in own}
        try:
            return [(records[id(run)], run) for run in select([run for _, run in own], pattern)]
        except UsageError:
            missing = _missing(experiment, pattern)
            if missing is None:
                raise
            raise NotRun(missing) from None

    def picture(self, shown: str, experiment: str, pattern: str, options: Mapping[str, str]) -> str:
        """Ask for a picture; return its path relative to the page.

        Raises:
            NotRun, UsageError: as :meth:`chosen`, or if there is no such kind of figure.
        """
        kind(shown)
        own = self.chosen(experiment, pattern)
        said = "-".join([experiment, pattern, shown, *(f"{k}={v}" for k, v in options.items())])
        stem = re.sub(r"[^a-z0-9.=]+", "-", said.lower()).strip("-.")[:_LONGEST]
        taken = self.pictures.get(stem)
        asked = Picture(stem, shown, experiment, self.folder.path, [record.name for record, _ in own], dict(options))
        if taken is not None and taken != asked:
            stem = f"{stem}-{len(self.pictures)}"
            asked = replace(asked, stem=stem)
        self.pictures[stem] = asked
        return f"{self.picture_folder}/{stem}.svg"

    def draw(self, processes: int, watcher: Callable[[int, int], None] | None = None) -> dict[str, Painted]:
        """Draw every picture that was asked for; return them by stem.

        Raises:
            UsageError: if an option is wrong, or the runs lack what is to be shown.
        """
        # Runs over time share their scales with the others of their experiment, hence are drawn together.
        groups: dict[str, list[Picture]] = {}
        for picture in self.pictures.values():
            groups.setdefault(picture.experiment if picture.kind == PANEL else picture.stem, []).append(picture)
        # The largest first, so that no process ends long after the others.
        asked = sorted(groups.values(), key=len, reverse=True)
        drawn: dict[str, Painted] = {}

        def keep(pictures: Iterable[list[Painted]]) -> None:
            for group, made in zip(asked, pictures, strict=True):
                drawn.update(zip([picture.stem for picture in group], made, strict=True))
                if watcher is not None:
                    watcher(len(drawn), len(self.pictures))

        if processes > 1 and len(self.pictures) >= _FEW:
            # Not forked: children read tables, and Polars' threads do not survive a fork.
            with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
                keep(pool.map(_paint, asked))
        else:
            keep(map(_paint, asked))
        return drawn

    def captures(self, record: Record) -> Mapping[str, str]:
        """Return the captures of a run by title, with their paths relative to the page."""
        base = os.path.relpath(record.path, self.folder.path)
        return {f"{path.stem} pcap": f"{base}/{path.name}" for path in record.captures}

    def files(self, record: Record) -> Mapping[str, str]:
        """Return the files of a run by title, with paths relative to the page: its data as a folder, its captures."""
        self.exports[record.name] = record
        return {"data": f"{self.picture_folder}/{record.name}", **self.captures(record)}

    def loads(self, run: Run) -> list[str]:
        """Return the names of a run's flows that carry data for their own sake."""
        return [flow["name"] for flow in run.scenario.loads]


_LONGEST: Final = 120


def _missing(experiment: str, pattern: str) -> str | None:
    """Return the words of ``sojourn run`` for the cells of a suite that a pattern chooses; None if there are none."""
    names = [part.strip() for part in experiment.split("+")]
    suites = library.suites()
    if not all(name.partition("/")[2] in suites.get(name.partition("/")[0], {}) for name in names):
        return None
    keys = [key for name in names for key in load(library.resolve(name)[0].file, seeds=1).run_keys]
    try:
        found = select(keys, pattern)
    except UsageError:
        return None
    labels = [dict(key.scenario.labels) for key in found]
    only = dict.fromkeys(f"{axis}={own[axis]}" for axis in terms_of(pattern) for own in labels if axis in own)
    return " ".join([*names, *(f"--only {shlex.quote(one)}" for one in only)])


def _paint(group: Sequence[Picture]) -> list[Painted]:
    """Draw a group, ready to write."""
    painted = []
    for drawn in _draw(group):
        svg, numbers = drawn.answering
        painted.append(Painted(svg, numbers, rounded(drawn.data).write_csv().encode(), drawn.caption))
    return painted


def _draw(group: Sequence[Picture]) -> list[Drawn]:
    folder = Folder.open(group[0].folder)
    every = {name: Run.stored(folder.named(name)) for picture in group for name in picture.records}
    own = [[every[name] for name in picture.records] for picture in group]
    first = group[0]
    try:
        if first.kind == PANEL:
            return delivery.together(list(every.values()), own)
        return [KINDS[first.kind].draw(own[0], first.options)]
    except UsageError as error:
        raise UsageError(f"{first.stem}: {error.message}", help=error.help) from error
