"""Measures our values for docs/known-results.md and writes them to docs/tables/known-results.json.

tools/known_results_page.py                      # all tables, some two minutes
tools/known_results_page.py ns3-aqm bbr-share    # these alone

Published values are in known_results.toml. The site build makes the tables of the page from both files
(`<!-- table: known NAME -->`). People write the prose around the tables: read it after each change of a number.
"""

import itertools
import json
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import run_here

import sojourn
from sojourn import _core
from sojourn.core.run import Run

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "known-results.md"
SOURCES: Final = ("crates", "python", "Cargo.lock")
"""What decides a figure: the commit on the page is the last that changed one of these."""
VALUES: Final = ROOT / "docs" / "tables" / "known-results.json"
"""Our values, as text in the table's units, with the sources that made them."""

STATISTICS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A value of each row of a table."""

    name: str
    metric: str
    """As docs/metrics.md has them, in base units."""
    scale: float
    """From base units to those of the table."""
    digits: int
    settings: Sequence[str] = ()
    """Changes of the experiment, as `--set` takes them."""


@dataclass(frozen=True, slots=True)
class Row:
    """A setting: one cell of an experiment."""

    setting: Sequence[str]
    """A text for each of the table's headings."""
    cell: Mapping[str, str]
    """The cell's label on each axis."""
    theirs: Sequence[float | str]
    """The published value of each figure, in the table's units; a text is one that cannot be subtracted."""
    suite: str = ""
    """The experiment, where it is not the table's."""
    link: float = 0.0
    """What the link carries, in the table's units, where differences are counted in parts of it."""
    again: bool = False
    """Whether a test runs this row again."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page."""

    name: str
    source: str
    unit: str
    seeds: int
    headings: Sequence[str]
    figure: Sequence[Figure]
    row: Sequence[Row]
    suite: str = ""
    statistic: str = "mean"
    """Over the seeds: a key of STATISTICS."""
    within: Sequence[float] = field(default_factory=list)
    """Parts of the link: a line below the table counts the rows where the first figure agrees within each."""

    def suite_of(self, row: Row) -> str:
        """Return the experiment of a row."""
        return row.suite or self.suite

    @property
    def commands(self) -> list[str]:
        """What makes the runs, on a command line."""
        suites = dict.fromkeys(self.suite_of(row) for row in self.row)
        every = [
            " ".join(["sojourn run", suite, f"--seeds {self.seeds}", *(f"--set {own}" for own in figure.settings)])
            for figure in self.figure
            for suite in suites
        ]
        return list(dict.fromkeys(every))


def tables() -> list[Table]:
    """Return what known_results.toml has."""
    text = (ROOT / "tools" / "known_results.toml").read_text(encoding="utf-8")
    return [_table(own) for own in tomllib.loads(text)["table"]]


def _table(own: Mapping[str, Any]) -> Table:
    parts = {"figure": [Figure(**part) for part in own["figure"]], "row": [Row(**part) for part in own["row"]]}
    return Table(**{**own, **parts})


def measure(table: Table, rows: Sequence[Row]) -> list[list[float]]:
    """Run these rows of a table; return the value of each figure, in the table's units, row by row."""
    made: dict[tuple[str, Sequence[str]], list[Run]] = {}
    for suite, settings in {(table.suite_of(row), tuple(figure.settings)) for row in rows for figure in table.figure}:
        labels: dict[str, list[str]] = {}
        for axis, label in itertools.chain.from_iterable(
            row.cell.items() for row in rows if table.suite_of(row) == suite
        ):
            labels.setdefault(axis, []).append(label)
        experiment = sojourn.load(suite, seeds=table.seeds, settings=settings).only(**labels)
        made[suite, settings] = list(experiment.run(quiet=True))
    return [
        [_value(table, figure, row.cell, made[table.suite_of(row), tuple(figure.settings)]) for figure in table.figure]
        for row in rows
    ]


def _value(table: Table, figure: Figure, cell: Mapping[str, str], runs: Sequence[Run]) -> float:
    values = [run.metric(figure.metric) for run in runs if dict(run.scenario["cell"]) == dict(cell)]
    if len(values) != table.seeds:
        raise SystemExit(f"{table.name}: {dict(cell)} has {len(values)} runs, not {table.seeds}")
    return STATISTICS[table.statistic](values) * figure.scale


def heading(table: Table) -> list[str]:
    """Return the two lines that head a table."""
    named = [f"{figure.name}, " if figure.name else "" for figure in table.figure]
    columns = [*table.headings, *(f"{name}{what}" for name in named for what in ("theirs", "ours", "difference"))]
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(table.headings)}{'---:|' * 3 * len(table.figure)}"]


def published(figure: Figure, theirs: float | str) -> str:
    """Return a published value as the page has it."""
    return theirs if isinstance(theirs, str) else f"{theirs:.{figure.digits}f}"


def rounded(table: Table, values: Sequence[float]) -> list[str]:
    """Return our values of a row as the page shows them."""
    return [f"{ours:.{figure.digits}f}" for figure, ours in zip(table.figure, values, strict=True)]


def line(table: Table, row: Row, values: Sequence[str]) -> str:
    """Return a row of a table as the page has it, of our values as they are shown."""
    cells = list(row.setting)
    for figure, theirs, ours in zip(table.figure, row.theirs, values, strict=True):
        apart = "" if isinstance(theirs, str) else f"{float(ours) - theirs:+z.{figure.digits}f}"
        cells += [published(figure, theirs), ours, apart]
    return f"| {' | '.join(cells)} |"


def agreement(table: Table, values: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield how many rows agree in the first figure, where the table counts that, and the worst."""
    if not table.within:
        return
    pairs = zip(values, table.row, strict=True)
    apart = [(abs(float(own[0]) - float(row.theirs[0])) / row.link, row) for own, row in pairs]
    counts = [
        f"within {part:.0%} of the link in {sum(own <= part for own, _ in apart)}".replace("%", " %")
        for part in table.within
    ]
    worst, where = max(apart, key=lambda own: own[0])
    yield ""
    yield (
        f"{table.figure[0].name} agrees {', '.join(counts)} of {len(apart)} rows; the worst is "
        f"{100 * worst:.0f} % of the link off ({', '.join(where.setting)})."
    )


def made_with() -> str:
    """Return the sources: the commit that last changed them, its day, and the simulator's version."""
    commit = _git("log", "-1", "--format=%h of %cs", "--", *SOURCES)
    changed = " with changes" if _git("status", "--porcelain", "--", *SOURCES) else ""
    return f"commit {commit}{changed}, version {_core.version('sim')}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603, S607
    return done.stdout.strip()


def stored() -> dict[str, Any]:
    """Return our values of every table."""
    found: dict[str, Any] = json.loads(VALUES.read_text(encoding="utf-8"))
    return found


def shown(name: str) -> str:
    """Return a table of the page, with its source above it and the commands that made it below."""
    table = next(own for own in tables() if own.name == name)
    own = stored()[name]
    seeds = f"{table.statistic} of {table.seeds} seeds" if table.seeds > 1 else "one seed"
    commands = "; ".join(f"`{command}`" for command in table.commands)
    lines = [
        f"Source: {table.source}. {table.unit[:1].upper()}{table.unit[1:]}; ours: {seeds}.",
        "",
        *heading(table),
        *(line(table, row, values) for row, values in zip(table.row, own["ours"], strict=True)),
        *agreement(table, own["ours"]),
        "",
        f"Made by `tools/known_results_page.py {name}`, {own['made']}: {commands}.",
    ]
    return "\n".join(lines)


def runs_of(name: str) -> dict[str, _core.Scenario]:
    """Return a run of each row of a table that a page can run: seed 1, with the settings of the first figure."""
    table = next(own for own in tables() if own.name == name)
    found: dict[str, _core.Scenario] = {}
    for row in table.row:
        experiment = sojourn.load(table.suite_of(row), seeds=1, settings=tuple(table.figure[0].settings))
        for key in experiment.only(**row.cell).run_keys:
            if run_here.fits(key.resolved):
                found[", ".join(row.setting)] = key.resolved
    return found


def main(asked: Sequence[str]) -> None:
    """Measure the tables of these names, or all."""
    every = {table.name: table for table in tables()}
    if unknown := [name for name in asked if name not in every]:
        raise SystemExit(f"unknown table: {', '.join(unknown)}; available: {', '.join(every)}")
    found = stored() if VALUES.is_file() else {}
    for name in asked or every:
        values = measure(every[name], every[name].row)
        found[name] = {"made": made_with(), "ours": [rounded(every[name], own) for own in values]}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(found[name])}" for name in every if name in found)
    VALUES.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
