"""Experiments, resolved into one scenario for each cell and seed."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from sojourn import _core, runner
from sojourn.core import selection
from sojourn.core.scenario import Scenario
from sojourn.core.store import RunKey
from sojourn.errors import StoreError, UsageError
from sojourn.experiments import document, library
from sojourn.experiments.warning import ExperimentWarning
from sojourn.runner import Campaign, Watcher, cores
from sojourn.runner.progress import Progress
from sojourn.views import html
from sojourn.views.results import Results


@dataclass(frozen=True, repr=False)
class Experiment:
    """What an experiment file says, every name resolved.

    >>> text = '''
    ... [experiment]
    ... name = "one-flow"
    ... duration = "10s"
    ... [[hop]]
    ... name = "bottleneck"
    ... rate = "50mbit"
    ... rtt = "20ms"
    ... qdisc = "fq_codel"
    ... [[flow]]
    ... name = "cubic"
    ... cc = "cubic"
    ... '''
    >>> experiment = parse(text, "example.toml")
    >>> [key.label for key in experiment.run_keys]
    ['one-flow#1']
    """

    name: str
    about: str
    source: str
    engine: str
    run_keys: Sequence[RunKey]
    """Every run: cells in the order of the file, seeds ascending within each."""
    text: str | None = None
    """The file that says it; None if it was read from a resolved scenario."""
    settings: Sequence[str] = ()
    """Settings made outside the file."""
    seeds: int | None = None
    """The number of seeds requested outside the file."""
    warnings: Sequence[ExperimentWarning] = ()
    """Legal settings that may be unintended; stored with the runs that have them."""

    @classmethod
    def build(cls, *, engine: str = "sim", **said: object) -> "Experiment":
        """Return an experiment that a program describes, in the words of the experiment language.

        >>> queues = {name: {"hop.bottleneck.qdisc": name} for name in ("pfifo", "fq_codel")}
        >>> experiment = Experiment.build(
        ...     name="two-queues",
        ...     duration="10s",
        ...     axis={"queue": queues},
        ...     hop=[{"name": "bottleneck", "rate": "50mbit", "rtt": "20ms"}],
        ...     flow=[{"name": "cubic", "cc": "cubic"}, {"name": "reno", "cc": "reno", "start": "2s"}],
        ... )
        >>> experiment
        <Experiment two-queues: 2 cells, 2 runs on sim>

        Args:
            engine: the engine to run it.
            said: sections (``hop``, ``flow``, ``axis``, ``event``, …) as lists and mappings, and the settings of
                ``[experiment]`` (``name``, ``duration``, ``seeds``, …); None omits a setting. :meth:`toml` has
                the file that comes of it.

        Raises:
            ExperimentError: if something is not right, with its place in that file.
            UsageError: if there is no such section or setting, or a value is nothing that TOML can say.
        """
        return parse(document.toml(**said), BUILT, engine=engine)

    @classmethod
    def dumbbell(
        cls,
        *,
        rate: str | Sequence[str] | Mapping[str, str] = "50mbit",
        rtt: str | Sequence[str] | Mapping[str, str] = "20ms",
        qdisc: str | Sequence[str] | Mapping[str, str] = "fq_codel",
        flows: str | Sequence[str | Mapping[str, object]] = ("cubic",),
        duration: str = "30s",
        name: str = "dumbbell",
        engine: str = "sim",
        **said: object,
    ) -> "Experiment":
        """Return flows over one bottleneck; a list, or a mapping of labels to values, becomes an axis.

        >>> Experiment.dumbbell(qdisc=["pfifo", "fq_codel", "dualpi2"], flows=["cubic", "prague"], seeds=5)
        <Experiment dumbbell: 3 cells, 15 runs on sim>

        Args:
            rate: of the bottleneck: ``50mbit``.
            rtt: base RTT: ``20ms``.
            qdisc: its queue, in tc's words: ``fq_codel flows 1``.
            flows: congestion controls, or the settings of a ``[[flow]]``: ``{"cc": "reno", "start": "5s"}``.
            duration: how long to run.
            name: the experiment's.
            engine: the engine to run it.
            said: more, as for :meth:`build`: ``stack="linux-5.4"``, ``seeds=10``, ``event=[...]``.

        Raises:
            ExperimentError, UsageError: as :meth:`build`.
        """
        text = document.dumbbell(rate=rate, rtt=rtt, qdisc=qdisc, flows=flows, duration=duration, name=name, said=said)
        return parse(text, BUILT, engine=engine)

    def toml(self) -> str:
        """Return the experiment file. A comment at its start lists settings that were made outside the file.

        Raises:
            UsageError: if there is none: the experiment was read from a resolved scenario or a batch file.
        """
        if self.text is None:
            raise UsageError(f"{self.name} was not read from an experiment file, and there is none of it")
        lines = [*self.settings, *([f"seeds={self.seeds}"] if self.seeds is not None else [])]
        return "".join(f"# set outside this file: {line}\n" for line in lines) + self.text

    def only(self, **labels: str | Sequence[str]) -> "Experiment":
        """Return this experiment with some of its cells alone.

        >>> Experiment.dumbbell(qdisc=["pfifo", "fq_codel"], rtt=["20ms", "80ms"]).only(qdisc="pfifo")
        <Experiment dumbbell: 2 cells, 2 runs on sim>

        Args:
            labels: the label that is meant, or several, by axis; an axis that is not named is meant whole.

        Raises:
            UsageError: if there is no such axis or label, with the nearest.
        """
        meant = {axis: frozenset([own] if isinstance(own, str) else own) for axis, own in labels.items()}
        selection.check(meant, (key.scenario for key in self.run_keys))
        return replace(self, run_keys=[key for key in self.run_keys if selection.takes(meant, key.scenario)])

    @property
    def axes(self) -> dict[str, list[str]]:
        """The labels of each axis, in the order of the file."""
        found: dict[str, dict[str, None]] = {}
        for key in self.run_keys:
            for axis, label in key.scenario.labels:
                found.setdefault(axis, {})[label] = None
        return {axis: list(labels) for axis, labels in found.items()}

    @cached_property
    def cells(self) -> list[str]:
        """The cells, by their labels."""
        return list(dict.fromkeys(key.scenario.cell_label for key in self.run_keys))

    @property
    def seconds(self) -> float:
        """Simulated seconds of all runs together."""
        return sum(key.scenario.length for key in self.run_keys)

    def run(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        watcher: Watcher | None = None,
        pcap: int | None = None,
        memory: float | None = None,
        quiet: bool = False,
    ) -> Results:
        """Run it; the results do not depend on the machine or on the number of threads.

        Args:
            folder: a results folder to keep the runs in, made if need be; runs that it has are not made again.
                Without one, results stay in memory.
            threads: runs at a time (default: the number of cores).
            watcher: receives the progress, instead of a notebook or a terminal.
            pcap: bytes of each packet to capture, in files next to the tables (see docs/data.md); it needs a
                folder.
            memory: the bytes of memory that the runs may use (default: the machine's memory).
            quiet: whether to show nothing; otherwise what takes more than a second shows how far it is, in a notebook
                or on a terminal.

        Raises:
            Refused: if the engine lacks something that the experiment needs, or the runs would not fit into memory;
                nothing was run then.
            RunError: if a run failed; the others are kept.
            StoreError: if the folder cannot be written or belongs to another version.
        """
        campaign = Campaign(
            keys=self.run_keys,
            engine=self.engine,
            folder=None if folder is None else Path(folder),
            threads=threads or cores(),
            pcap=pcap,
            memory=memory,
            command=f"Experiment {self.name}",
        )
        return campaign.run(partial(_watched, watcher, quiet=quiet))

    def __repr__(self) -> str:
        """Return its name and its size."""
        return f"<Experiment {self.name}: {self._size}>"

    def _repr_html_(self) -> str:
        text = "; ".join(part for part in (self.about, self.source, self._size) if part)
        return (
            html.head(self.name, f"{text}; {self.seconds:g} simulated seconds")
            + "".join(html.head("warning", str(warning)) for warning in self.warnings)
            + html.axes(self.axes)
        )

    @property
    def _size(self) -> str:
        cells, runs = len(self.cells), len(self.run_keys)
        return f"{cells} cell{'s'[: cells != 1]}, {runs} run{'s'[: runs != 1]} on {self.engine}"


BUILT: Final = "<built>"
"""What errors call the file of an experiment that a program describes."""

_PATIENCE_S: Final = 1.0
"""What takes no longer shows no progress."""


@contextmanager
def _watched(watcher: Watcher | None, runs: int, seconds: float, *, quiet: bool) -> Iterator[Watcher | None]:
    """Lend whoever watches."""
    if watcher is not None or quiet:
        yield watcher
        return
    with Progress(runs, seconds, after=_PATIENCE_S, lines=False) as progress:
        yield progress


def load(
    what: str | os.PathLike[str],
    *,
    settings: Sequence[str] = (),
    seeds: int | None = None,
    engine: str = "sim",
    yes: bool = False,
    plugins: Sequence[str] = (),
) -> Experiment:
    """Read an experiment of a suite, an experiment file, or the ``scenario.json`` of a stored run.

    >>> load("l4s-tests/s6", seeds=1)
    <Experiment l4s-tests/s6: 24 cells, 24 runs on sim>

    Args:
        what: its name (:func:`suites` has them), or where the file is.
        settings: changes as ``path=value``: ``hop.bottleneck.rate=10mbit``.
        seeds: the number of seeds (1, 2, …) of each cell, instead of the file's.
        engine: the engine: ``sim``, ``linux``, or ``linux:NAME`` for the kernel of this name.
        yes: whether more than 100 000 runs are meant.
        plugins: shared libraries with your own words, in addition to those that the file names. They are native code,
            which runs with your rights.

    Raises:
        ExperimentError: if the file says something that is not right, with the place.
        UsageError: if there is none of that name, with the nearest, or the file or a plugin cannot be read.
    """
    path = _file(what)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8") from error
    if path.suffix == ".json":
        if plugins:
            raise UsageError(
                f"{path} is a resolved scenario, which names its plugins itself",
                help="run it without, or the experiment file that it came from",
            )
        return _stored(path, text, settings, seeds, engine)
    return parse(
        text,
        str(path),
        settings=settings,
        seeds=seeds,
        engine=engine,
        yes=yes,
        plugins=plugins,
        folder=path.parent,
    )


def parse(
    text: str,
    name: str,
    *,
    settings: Sequence[str] = (),
    seeds: int | None = None,
    engine: str = "sim",
    yes: bool = False,
    plugins: Sequence[str] = (),
    folder: str | os.PathLike[str] = "",
) -> Experiment:
    """Read an experiment from a text; errors use ``name`` for it. Otherwise as :func:`load`.

    The plugins that the text names are looked for in ``folder``, or in the present one.
    """
    loaded = _core.load(
        text,
        name,
        settings=list(settings),
        seeds=seeds,
        yes=yes,
        engine=engine,
        plugins=list(plugins),
        folder=os.fspath(folder),
    )
    warnings = [ExperimentWarning.of(warning) for warning in loaded.warnings]
    scenarios = loaded.scenarios
    said: list[list[str]] = [[] for _ in scenarios]
    for warning in warnings:
        for index in warning.runs:
            said[index].append(str(warning))
    keys = runner.run_keys(scenarios, engine=engine, keep=loaded.keep or "all", warnings=said)
    return Experiment(loaded.name, loaded.about, loaded.source, engine, keys, text, tuple(settings), seeds, warnings)


def suites() -> dict[str, str]:
    """Return the experiments that come with Sojourn: descriptions by the name that :func:`load` takes.

    >>> suites()["l4s-tests/s7"]
    'One CUBIC, Reno or Prague flow through fq_codel'
    """
    return library.abouts()


def _file(what: str | os.PathLike[str]) -> Path:
    """Return the file of an experiment that is asked for."""
    if not isinstance(what, str):
        return Path(what)
    found = library.resolve(what)
    if len(found) > 1:
        names = [named.name for named in found]
        raise UsageError(f"{what} is {len(found)} experiments", help=f"name one of them: {', '.join(names)}")
    if found[0].file.suffix == ".batch":
        raise UsageError(f"{what} is a batch file of Flent's", help="sojourn.interop.batch.load reads it")
    return found[0].file


def _stored(path: Path, text: str, settings: Sequence[str], seeds: int | None, engine: str) -> Experiment:
    if settings:
        raise UsageError(
            f"{path} is a resolved scenario: its settings cannot be changed",
            help="change them in the experiment file that it came from",
        )
    try:
        resolved = _core.Scenario(json.dumps(json.loads(text)["scenario"]))
        resolved.check()
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is not a stored scenario: {error}") from error
    all_seeds = [resolved] if seeds is None else [resolved.with_seed(seed) for seed in range(1, seeds + 1)]
    keys = runner.run_keys(all_seeds, engine=engine)
    own = Scenario(resolved.mapping)
    return Experiment(own["experiment"], "", own["source"], engine, keys)
