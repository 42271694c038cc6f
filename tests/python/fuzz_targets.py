"""Every reader of other people's files, as a function of bytes: it reads them, or says what is wrong with them.

Anything else is a defect: a traceback, a panic, a text that is no message. Each has a corpus in ``tests/fuzz/corpus``;
files named ``failed-…`` once failed. ``python tests/python/fuzz_targets.py MINUTES`` looks for more
(``make fuzz``).
"""

import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click
import typer

import sojourn
from by_hand import a_key, a_scenario, forge, frames, tables
from fuzz_mutate import mutated
from sojourn import _core
from sojourn.cli.app import app
from sojourn.core.store import Folder, Record
from sojourn.core.store.verify import damages
from sojourn.errors import SojournError
from sojourn.evidence.validation import read_published
from sojourn.explore.about import about
from sojourn.explore.catalogue import Catalogue
from sojourn.interop import batch
from sojourn.interop.flent.read import read as read_flent
from sojourn.interop.importing import import_files
from sojourn.reporting import templates
from sojourn.search.trials import Subject, Trials
from sojourn.views.results import results
from sojourn.views.run import Run

CORPUS: Final = Path(__file__).parents[1] / "fuzz" / "corpus"


def _experiment(content: bytes, folder: Path) -> None:
    file = folder / "x.toml"
    file.write_bytes(content)
    sojourn.load(file)


def _batch(content: bytes, folder: Path) -> None:
    file = folder / "x.batch"
    file.write_bytes(content)
    batch.load(file)


def _flent(content: bytes, folder: Path) -> None:
    file = folder / "x.flent"
    file.write_bytes(content)
    read_flent(file)


def _qlog(content: bytes, folder: Path) -> None:
    file = folder / "x.qlog"
    file.write_bytes(content)
    import_files([file], folder / "r", command="a test")


def _tool(content: bytes, folder: Path) -> None:
    # The content, not the name, says which tool a file is of.
    file = folder / "x.json"
    file.write_bytes(content)
    import_files([file], folder / "r", command="a test")


def _published(content: bytes, folder: Path) -> None:
    file = folder / "x.csv"
    file.write_bytes(content)
    read_published(file)


def _run() -> Run:
    scenario = a_scenario()
    rates = (20.0, 27.0)
    own = _core.Run(_core.Scenario(json.dumps(scenario)), "sim", "0", tables(scenario, rates))
    return Run.fresh(a_key(scenario), own)


def _stored(folder: Path) -> Record:
    """A results folder with one run; the run's own."""
    run = _run()
    with Folder.create(folder / "r", version="1", command="x") as made:
        return made.add(run.key, frames(run), command="x")


COMMANDS: Final = (
    ("table", "{r}"),
    ("table", "{r}", "p99(sojourn, {{queue}})"),
    ("compare", "{r}", "{r}"),
    ("store", "ls", "{r}"),
    ("store", "verify", "{r}"),
    ("export", "parquet", "{r}", "-o", "{r}-parquet"),
    ("merge", "{r}", "-o", "{r}-all"),
    ("export", "flent", "{r}", "-o", "{r}-flent"),
    ("export", "qlog", "{r}", "-o", "{r}-qlog"),
    ("plot", "{r}", "lines", "y=goodput({{flow}})", "-o", "{r}.csv"),
    ("plot", "{r}", "delivery", "-o", "{r}.svg"),
    ("report", "{r}"),
    ("claims", "{r}"),
)
"""Every command that reads a results folder."""


def _head(content: bytes, folder: Path) -> None:
    """Put a run with this head into a folder; every checksum fits, as somebody would do who knows the format."""
    _stored(folder)
    forge(folder / "r", content)
    for own in results(folder / "r"):
        own.measure(["sum(goodput)"])
    catalogue = Catalogue(Folder.open(folder / "r"))
    for number in range(len(revision := catalogue.now())):
        about(catalogue, revision, number)
    # A head that is read is given to one of the commands; which, its bytes say.
    command = COMMANDS[sum(content) % len(COMMANDS)]
    _command([word.format(r=folder / "r") for word in command])


def _command(words: Sequence[str]) -> None:
    """Run a command as the program does."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            app(list(words), standalone_mode=False)
        except (SystemExit, typer.Exit, click.exceptions.ClickException, SojournError):
            return


def _segment(content: bytes, folder: Path) -> None:
    """Put a file of these bytes among the segments, and let each kind of reader read it."""
    _stored(folder)
    (folder / "r/segments/000002.runs").write_bytes(content)
    opened = Folder.open(folder / "r")
    list(damages(opened))
    for name in opened.store.names():
        _ = opened.named(name).head, opened.named(name).answers, opened.named(name).results()
    with Folder.create(folder / "r", version="1", command="x") as again:
        assert again.store.names()
    for command in COMMANDS[:5]:
        _command([word.format(r=folder / "r") for word in command])


def _trials(content: bytes, folder: Path) -> None:
    """Put lines behind the first, which names this build."""
    for _ in range(2):
        Trials(Subject("", "x.toml", ""), ["share(a)"], 1, folder).close()
        with (folder / "trials.jsonl").open("ab") as file:
            file.write(content)


def _template(content: bytes, folder: Path) -> None:
    _stored(folder)
    file = folder / "mine.md"
    file.write_bytes(content)
    templates.render(Folder.open(folder / "r"), file)


def _metric(content: bytes, _folder: Path) -> None:
    _run().metric(content.decode("utf-8", "replace"))


TARGETS: Final[dict[str, Callable[[bytes, Path], None]]] = {
    "experiment": _experiment,
    "batch": _batch,
    "flent": _flent,
    "qlog": _qlog,
    "iperf3": _tool,
    "irtt": _tool,
    "ss": _tool,
    "mahimahi": _tool,
    "published": _published,
    "stored-scenario": _head,
    "segment": _segment,
    "trials": _trials,
    "template": _template,
    "metric": _metric,
}


def corpus(target: str) -> list[bytes]:
    """Return the files that are kept for a target, in the order of their names."""
    return [file.read_bytes() for file in sorted((CORPUS / target).iterdir())]


def attempt(target: str, content: bytes) -> str | None:
    """Give bytes to a target; return what went wrong if it was not a message, else None."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            TARGETS[target](content, Path(folder))
        except SojournError as error:
            return None if str(error).strip() else "a message without a word"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return f"{type(error).__name__}: {error}"
    return None


def _search(minutes: float, names: Sequence[str]) -> int:
    kept = {name: corpus(name) for name in names}
    counts, failed = dict.fromkeys(names, 0), 0
    seed = time.time_ns()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        for name in names:
            seed += 1
            content = mutated(kept[name], seed)
            counts[name] += 1
            if (wrong := attempt(name, content)) is not None:
                failed += 1
                file = CORPUS / name / f"failed-{seed}"
                file.write_bytes(content)
                sys.stdout.write(f"{file}: {wrong}\n")
    sys.stdout.write(", ".join(f"{name} {count}" for name, count in counts.items()) + f"; {failed} failed\n")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(_search(float(sys.argv[1]), sys.argv[2:] or list(TARGETS)))
