"""``sojourn check``: experiments' checks in a pipeline, and a comparison with earlier results."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.options import AsJson, Plugins, Quiet, Settings, Threads

if TYPE_CHECKING:
    from sojourn.evidence.pipeline import Note
    from sojourn.experiments.experiment import Experiment
    from sojourn.views.run import Run


class Form(StrEnum):
    """How notes are written."""

    PLAIN = "plain"
    GITHUB = "github"
    JUNIT = "junit"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)


def check(
    what: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|DIR...", help="Experiment files; in a folder, those with checks."),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A results folder: fail if a metric differs beyond the seeds' ranges."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0, metavar="PERCENT", help="Ignore gaps between ranges up to this.")
    ] = 1.0,
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="[b]plain[/b]: FILE:LINE: error: …; [b]github[/b]: annotations of the line; [b]junit[/b]: XML.",
        ),
    ] = Form.PLAIN,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Store the runs and a report: the next baseline."),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds (default: the files').")] = None,
    settings: Settings = None,
    threads: Threads = None,
    plugins: Plugins = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run experiments, judge their checks, and compare with a baseline: for CI pipelines.

    Exits with status 1 if a check does not hold in a run or something differs from the baseline, and with 2 if a file
    has a mistake. docs/howto/check-in-ci.md has recipes for GitHub and GitLab.
    """
    from sojourn.cli.report import report
    from sojourn.cli.screen import say
    from sojourn.evidence import pipeline
    from sojourn.evidence.comparison import compare
    from sojourn.views import checks
    from sojourn.views.results import results

    del quiet
    before = None if baseline is None else results(baseline)
    read, notes = _read(what, settings=settings or [], seeds=seeds, plugins=plugins or [])
    mistakes = bool(notes)
    files = {one.name: str(file) for file, one in read}
    runs: list[Run] = []
    for file, one in read:
        own = list(one.run(output, threads=threads))
        lines = pipeline.places(file.read_text(encoding="utf-8"))
        notes += [pipeline.of_check(tally, str(file), lines) for tally in checks.tally(own)]
        runs += own
    if before is not None and runs:
        notes += pipeline.of_baseline(compare(list(before), runs, tolerance=tolerance / 100), files)
    _show(notes, form, as_json=as_json)
    if output is not None and runs:
        # Standard output is the pipeline's, where it reads it.
        with nullcontext() if form is Form.PLAIN and not as_json else redirect_stdout(sys.stderr):
            report(output, chosen=[], threads=threads)
    failed = sum(note.level is pipeline.Level.ERROR for note in notes)
    say(f"{len(notes) - failed} of {len(notes)} passed ({len(runs)} runs)")
    if mistakes or failed:
        sys.exit(2 if mistakes else 1)


def _read(
    what: Sequence[Path], *, settings: Sequence[str], seeds: int | None, plugins: Sequence[str]
) -> "tuple[list[tuple[Path, Experiment]], list[Note]]":
    """Return the experiments, and notes on files that are none.

    Raises:
        UsageError: if two have the same name: a baseline could not distinguish their runs.
    """
    from sojourn.errors import ExperimentError, UsageError
    from sojourn.evidence import pipeline
    from sojourn.experiments.experiment import load

    read: dict[str, tuple[Path, Experiment]] = {}
    notes: list[Note] = []
    for file in _files(what):
        try:
            one = load(file, settings=settings, seeds=seeds, plugins=plugins)
        except ExperimentError as error:
            notes += [pipeline.of_mistake(own, str(file)) for own in (error, *error.also)]
            continue
        if one.name in read:
            other = read[one.name][0]
            raise UsageError(f"{file} and {other} are both called {one.name}", help="rechoose one of them")
        read[one.name] = (file, one)
    return list(read.values()), notes


def _files(what: Sequence[Path]) -> list[Path]:
    """Return the files that are meant: of folders those that have a check.

    Raises:
        UsageError: if there are none.
    """
    import tomllib

    from sojourn.errors import UsageError

    found: list[Path] = []
    for path in what:
        if not path.is_dir():
            found.append(path)
            continue
        for file in sorted(path.rglob("*.toml")):
            try:
                tree = tomllib.loads(file.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
                # Said by the language, with its place, if it is an experiment; nobody else's TOML is judged here.
                if "[experiment]" in file.read_text(encoding="utf-8", errors="replace"):
                    found.append(file)
                continue
            if "experiment" in tree and "check" in tree:
                found.append(file)
    if not found:
        raise UsageError(f"there is no experiment with a check in {', '.join(map(str, what))}", help="name a file")
    return list(dict.fromkeys(found))


def _show(notes: "Sequence[Note]", form: Form, *, as_json: bool) -> None:
    from dataclasses import asdict

    from sojourn.cli.screen import out, print_json
    from sojourn.evidence import pipeline

    if as_json:
        print_json({"notes": [asdict(note) for note in notes]})
    elif form is Form.JUNIT:
        sys.stdout.write(pipeline.junit(notes))
    else:
        written = pipeline.github if form is Form.GITHUB else pipeline.plain
        for note in notes:
            out().print(written(note), soft_wrap=True, markup=False)
