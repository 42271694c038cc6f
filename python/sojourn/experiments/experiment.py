"""Experiments: what is to be run, resolved into one scenario a cell and seed."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sojourn import _core, runner
from sojourn.core import describe
from sojourn.core.run import Run
from sojourn.core.store import Folder, RunKey
from sojourn.errors import StoreError, UsageError
from sojourn.runner import Watcher


@dataclass(frozen=True)
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

    @cached_property
    def cells(self) -> list[str]:
        """The cells, by their labels."""
        return list(dict.fromkeys(describe.cell_label(key.scenario) for key in self.run_keys))

    @property
    def seconds(self) -> float:
        """Simulated seconds of all runs together."""
        return sum(describe.length(key.scenario) for key in self.run_keys)

    def run(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        watcher: Watcher | None = None,
        pcap: int | None = None,
    ) -> list[Run]:
        """Run it; the results do not depend on the machine or on the number of threads.

        Args:
            folder: a results folder to keep the runs in, made if need be; runs that it has are not made again.
                Without one, results stay in memory.
            threads: runs at a time; as many as there are cores unless given.
            watcher: told how far it is.
            pcap: so many bytes of each packet to keep, in captures beside the tables (see docs/data.md); it needs a
                folder.

        Raises:
            Refused: if the engine lacks something that the experiment needs; nothing was run then.
            RunError: if a run failed; the others are kept.
            StoreError: if the folder cannot be written or belongs to another version.
        """
        runner.refuse(self.run_keys, engine=self.engine, pcap=pcap is not None)
        threads = threads or os.cpu_count() or 1
        if folder is None:
            if pcap is not None:
                raise UsageError("packets are kept in a results folder", help="give one")
            return runner.make_fresh(self.run_keys, engine=self.engine, threads=threads, watcher=watcher)
        with Folder.create(folder, version=_core.version(self.engine), command=f"Experiment {self.name}") as store:
            plan = runner.Plan.of(self.run_keys, store, pcap=pcap is not None)
            return runner.make_stored(
                plan,
                store,
                engine=self.engine,
                threads=threads,
                command=store.command,
                watcher=watcher,
                snap_len=pcap,
            )


def load(
    file: str | os.PathLike[str],
    *,
    settings: Sequence[str] = (),
    seeds: int | None = None,
    engine: str = "sim",
    yes: bool = False,
) -> Experiment:
    """Read an experiment file, or the ``scenario.json`` of a stored run.

    Args:
        file: where it is.
        settings: changes as ``path=value``: ``hop.bottleneck.rate=10mbit``.
        seeds: so many seeds (1, 2, …) for each cell, instead of the file's.
        engine: what is to run it.
        yes: whether more than 100 000 runs are meant.

    Raises:
        ExperimentError: if the file says something that is not right, with the place.
        UsageError: if it cannot be read.
    """
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8") from error
    if path.suffix == ".json":
        return _stored(path, text, settings, seeds, engine)
    return parse(text, str(path), settings=settings, seeds=seeds, engine=engine, yes=yes)


def parse(
    text: str,
    name: str,
    *,
    settings: Sequence[str] = (),
    seeds: int | None = None,
    engine: str = "sim",
    yes: bool = False,
) -> Experiment:
    """Read an experiment from a text; ``name`` is what errors call it. Otherwise as :func:`load`."""
    loaded = _core.load(text, name, settings=list(settings), seeds=seeds, yes=yes)
    keys = [runner.run_key(scenario, engine=engine) for scenario in loaded.scenarios]
    return Experiment(loaded.name, loaded.about, loaded.source, engine, keys)


def _stored(path: Path, text: str, settings: Sequence[str], seeds: int | None, engine: str) -> Experiment:
    if settings:
        raise UsageError(
            f"{path} is a resolved scenario: its settings cannot be changed",
            help="change them in the experiment file that it came from",
        )
    try:
        scenario = json.loads(text)["scenario"]
        own = runner.run_key(_core.check(json.dumps(scenario)), engine=engine).scenario
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is not a stored scenario: {error}") from error
    numbers = range(1, seeds + 1) if seeds is not None else [own["seed"]]
    keys = [runner.run_key(json.dumps({**own, "seed": seed}), engine=engine) for seed in numbers]
    return Experiment(own["experiment"], "", own["source"], engine, keys)
