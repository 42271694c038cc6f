"""``sojourn run``."""

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from sojourn import _core, runner
from sojourn.cli.capture import snap_length
from sojourn.cli.plan import LONG_S, show_plan, told
from sojourn.cli.plugins import note_plugins
from sojourn.cli.progress import watching
from sojourn.cli.screen import detail, out, print_json, say
from sojourn.cli.tables import print_summary, summary_json
from sojourn.cli.warnings import show_remarks, show_warnings
from sojourn.core import cells, checks, remarks, selection
from sojourn.core.run import Run
from sojourn.core.store import Folder, RunKey
from sojourn.errors import Interrupted, UsageError
from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment, load
from sojourn.interop import batch
from sojourn.interop.qlog import export_runs
from sojourn.linux import kernels
from sojourn.runner import executors
from sojourn.runner.shard import Shard


def run(
    what: list[str],
    output: Path | None,
    *,
    engine: str,
    seeds: int | None,
    threads: int | None,
    on: str | None,
    shard: str | None,
    settings: list[str],
    pcap: bool,
    snap_len: int | None,
    qlog: bool,
    batches: list[str],
    only: list[str],
    yes: bool,
    dry_run: bool,
    memory: float | None,
    plugins: list[str],
    as_json: bool,
) -> None:
    """Run experiments into a results folder and show what came out; exit with status 1 if a check fails."""
    keys = run_keys(
        what, engine=engine, seeds=seeds, settings=settings, batches=batches, only=only, yes=yes, plugins=plugins
    )
    keys = _part(keys, shard)
    # What is to be run comes first: a wrong name is the nearer mistake.
    if output is None and not dry_run:
        raise UsageError("there is no results folder to run into", help="say -o DIR; --dry-run needs none")
    snap_len = snap_length(snap_len, pcap=pcap)
    if pcap and on is not None:
        raise UsageError("packets are kept where runs are made", help="leave out --pcap or --on")
    if engine.partition(":")[0] == "linux":
        # Programs are run from there: not from a folder that is somebody else's.
        kernels.cache()
    runner.refuse(keys, engine=engine, pcap=pcap)
    threads = threads or os.cpu_count() or 1
    if output is None or dry_run:
        show_plan(keys, output, threads=threads, as_json=as_json)
        return
    command = shlex.join(["sojourn", *sys.argv[1:]])
    with Folder.create(output, version=_core.version(engine), command=command) as folder:
        plan = runner.Plan.of(keys, folder, pcap=pcap)
        if plan.there:
            say(f"{len(plan.there)} of {len(keys)} runs are in {output} already")
        if plan.uncaptured:
            say(f"{len(plan.uncaptured)} of them are repeated for their packets")
        detail(f"{len(plan.to_make)} runs to make, {plan.seconds:g} simulated seconds")
        if (here := executors.here(on, threads)) is not None:
            # What other machines have is not known here.
            most = None if memory is None else memory * 1e9
            runner.refuse_what_cannot_fit(plan.to_make, engine=engine, threads=here, most_bytes=most)
            _say_needs(plan, engine=engine, threads=here)
        try:
            runs = _made(plan, folder, engine=engine, threads=threads, on=on, command=command, snap_len=snap_len)
        except KeyboardInterrupt:
            kept = sum(key in folder for key in keys)
            raise Interrupted(
                f"interrupted: {kept} of {len(keys)} runs are finished and kept in {output}",
                help=f"to go on from there: {command}",
            ) from None
        _write_qlog(runs if qlog else [], folder, output / "qlog")
    tallies = checks.tally(runs)
    _show(runs, tallies, output, as_json=as_json)
    if any(tally.failed for tally in tallies):
        sys.exit(1)


def _part(keys: list[RunKey], shard: str | None) -> list[RunKey]:
    if shard is None:
        return keys
    part = Shard.parse(shard).part(keys)
    say(f"shard {shard}: {len(part)} of {len(keys)} runs")
    return part


def _say_needs(plan: runner.Plan, *, engine: str, threads: int) -> None:
    needed = runner.needs(plan.to_make, engine=engine, threads=threads)
    if needed.expected_s(threads) > LONG_S:
        say(f"{needed.runs} run{'s'[: needed.runs != 1]} to make, {told(needed, threads)}")


def _made(
    plan: runner.Plan,
    folder: Folder,
    *,
    engine: str,
    threads: int,
    on: str | None,
    command: str,
    snap_len: int | None,
) -> list[Run]:
    with watching(len(plan.to_make), plan.seconds) as progress, ExitStack() as stack:
        workers = None
        if on is not None and plan.to_make:
            workers = executors.opened(on, executors.Asked(engine, threads))
            stack.callback(workers.close)
        runs = runner.make_stored(
            plan,
            folder,
            engine=engine,
            threads=threads,
            command=command,
            watcher=progress,
            snap_len=snap_len,
            on=workers,
        )
    if plan.to_make:
        say(progress.closing())
    return runs


def _write_qlog(runs: Sequence[Run], folder: Folder, to: Path) -> None:
    if runs:
        files = export_runs(((folder.record(run.key).path.name, run) for run in runs), to)
        say(f"{len(files)} connections as qlog in {to}")


def _show(runs: Sequence[Run], tallies: Sequence[checks.Tally], output: Path, *, as_json: bool) -> None:
    found = cells.group(runs)
    if as_json:
        print_json(
            {
                "folder": str(output),
                "warnings": list(dict.fromkeys(text for run in runs for text in run.key.warnings)),
                "remarks": [own.json() for own in remarks.told(runs)],
                "cells": summary_json(found),
                "checks": [{**asdict(own), "said": str(own)} for own in tallies],
            }
        )
    else:
        print_summary(found)
        show_remarks(remarks.told(runs))
        for tally in tallies:
            out().print(f"{tally.experiment}: {tally}", soft_wrap=True, markup=False)
        out().print(
            f"results in {output}; for pictures: sojourn report {shlex.quote(str(output))}",
            soft_wrap=True,
            markup=False,
        )


def run_keys(
    what: list[str],
    *,
    engine: str,
    seeds: int | None,
    settings: list[str],
    batches: list[str] | None = None,
    only: list[str] | None = None,
    yes: bool,
    plugins: list[str] | None = None,
) -> list[RunKey]:
    """Read everything that was asked for; the same run asked for twice is run once."""
    plugins = plugins or []
    experiments: dict[Path, Sequence[Experiment]] = {}
    for word in what:
        for named in library.resolve(word):
            if named.file.suffix == ".batch":
                if plugins:
                    raise UsageError("Flent's batch files know no plugins", help="leave --plugin out, or write a .toml")
                read = _batch(named.file, engine=engine, seeds=seeds, settings=settings, batches=batches or [])
            else:
                read = [load(named.file, settings=settings, seeds=seeds, engine=engine, yes=yes, plugins=plugins)]
            experiments[named.file.resolve()] = read
    if batches and not any(file.suffix == ".batch" for file in experiments):
        raise UsageError("-b chooses among the batches of a .batch file, and there is none")
    meant = selection.parse(only or [])
    everything = [key for read in experiments.values() for one in read for key in one.run_keys]
    selection.check(meant, (key.scenario for key in everything))
    keys = {key.digest: key for key in everything if selection.takes(meant, key.scenario)}
    if not keys:
        raise UsageError("no cell has all of these labels", help="`sojourn suites` names the suites; leave one out")
    if len(keys) > _core.MOST_RUNS and not yes:
        raise UsageError(f"these are {len(keys):,} runs", help="say --yes if they are meant")
    note_plugins(keys.values())
    show_warnings(warning for read in experiments.values() for one in read for warning in one.warnings)
    return list(keys.values())


def _batch(
    file: Path, *, engine: str, seeds: int | None, settings: list[str], batches: list[str]
) -> Sequence[Experiment]:
    chosen = batch.load(file, batches=batches, settings=settings, seeds=seeds, engine=engine)
    for note in chosen.notes:
        say(str(note))
    return chosen.experiments
