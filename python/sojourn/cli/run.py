"""``sojourn run``."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from sojourn import _core, runner
from sojourn.campaign import Campaign
from sojourn.cli.capture import snap_length
from sojourn.cli.plan import LONG_S, needs_line, show_plan
from sojourn.cli.plugins import note_plugins
from sojourn.cli.progress import interruptible, watching_to_the_end
from sojourn.cli.screen import detail, out, print_json, say
from sojourn.cli.tables import print_summary, summary_json
from sojourn.cli.warnings import show_remarks, show_warnings
from sojourn.core import cells, selection
from sojourn.core.run import Run
from sojourn.core.store import Folder, RunKey
from sojourn.errors import UsageError
from sojourn.evidence import precision
from sojourn.evidence.interval import SEEDS, Look
from sojourn.experiments import library
from sojourn.experiments.experiment import Experiment, load
from sojourn.experiments.hosts import with_real_tcp
from sojourn.runner.shard import Shard
from sojourn.views import checks, remarks


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
    keep: str | None,
    batches: list[str],
    only: list[str],
    yes: bool,
    dry_run: bool,
    memory: float | None,
    plugins: list[str],
    real_tcp: list[str],
    as_json: bool,
    aims: Sequence[str] = (),
    max_seeds: int | None = None,
    repeat: int = 1,
) -> None:
    """Run experiments into a results folder and show what came out; exit with status 1 if a check fails."""
    wanted, looks = _looks(aims, seeds, max_seeds)
    if looks and shard is not None:
        raise UsageError("a shard needs a fixed number of seeds per cell", help="leave out --precision or --shard")
    seeds = looks[-1].seeds if looks else seeds
    keys = run_keys(
        what, engine=engine, seeds=seeds, settings=settings, batches=batches, only=only, yes=yes, plugins=plugins
    )
    if real_tcp:
        everything = len(keys)
        keys = with_real_tcp(keys, real_tcp, engine=engine)
        if len(keys) < everything:
            say(f"{everything - len(keys)} runs have no flow with {' or '.join(real_tcp)}, and are left out")
    keys = _part(_repeated(keys, repeat, engine), shard)
    if keep is not None:
        keys = [replace(key, keep=keep) for key in keys]
    # What is to be run comes first: a wrong name is the nearer mistake.
    if output is None and not dry_run:
        raise UsageError("-o names no results folder", help="add -o DIR; --dry-run needs none")
    campaign = Campaign(
        keys=keys,
        engine=engine,
        folder=output,
        threads=threads or runner.cores(),
        on=on,
        pcap=snap_length(snap_len, pcap=pcap),
        memory=None if memory is None else memory * 1e9,
        command=shlex.join(["sojourn", *sys.argv[1:]]),
    )
    campaign.refuse()
    joint = _claimed(keys, looks, engine) if precision.CLAIMS in aims else None
    if output is None or dry_run:
        show_plan(campaign, as_json=as_json)
        return
    _say_plan(campaign, limit=bool(looks))
    with interruptible(campaign), campaign.making(watching_to_the_end()) as make:
        runs, standings = _made(keys, wanted, looks, make, joint)
    if qlog:
        folder = Folder.open(output)
        from sojourn.interop.qlog import export_runs

        files = export_runs(((folder.record(run.key).name, run) for run in runs), output / "qlog")
        say(f"{len(files)} connections as qlog in {output / 'qlog'}")
    tallies = campaign.judge(runs)
    _show(runs, tallies, standings, output, as_json=as_json)
    if _failed(tallies, standings):
        sys.exit(1)


def _say_plan(campaign: Campaign, *, limit: bool) -> None:
    """Say which runs are there, and what the others need if they take long; refuse those that do not fit."""
    plan = campaign.plan()
    if plan.there:
        say(f"{len(plan.there)} of {len(plan.there) + len(plan.missing)} runs are in {campaign.folder} already")
    if plan.uncaptured:
        say(f"{len(plan.uncaptured)} of them are repeated for their packets")
    detail(f"{len(plan.to_make)} runs to make, {plan.seconds:g} simulated seconds")
    campaign.refuse_what_cannot_fit()
    if (threads := campaign.here) is None:
        return
    needed = runner.needs(plan.to_make, engine=campaign.engine, threads=threads)
    if needed.expected_s(threads) > LONG_S:
        runs = f"{needed.runs} run{'s'[: needed.runs != 1]}"
        say(f"{'at most ' if limit else ''}{runs} to make, {needs_line(needed, threads)}")


def _repeated(keys: list[RunKey], times: int, engine: str) -> list[RunKey]:
    if times == 1:
        return keys
    if _core.facts(engine).deterministic:
        raise UsageError(f"runs with the same seed are identical on {engine}", help="use --seeds instead of --repeat")
    return [replace(key, repetition=number) for key in keys for number in range(1, times + 1)]


def _part(keys: list[RunKey], shard: str | None) -> list[RunKey]:
    if shard is None:
        return keys
    part = Shard.parse(shard).part(keys)
    say(f"shard {shard}: {len(part)} of {len(keys)} runs")
    return part


def _looks(aims: Sequence[str], seeds: int | None, max_seeds: int | None) -> tuple[list[precision.Aim], list[Look]]:
    """Return the aims of ``--precision`` and the looks; neither without that option."""
    wanted = [precision.Aim.parse(text) for text in aims if text != precision.CLAIMS]
    if max_seeds is not None and not aims:
        raise UsageError("--max-seeds goes with --precision", help="--seeds sets the number of seeds")
    return wanted, precision.plan(seeds or SEEDS, max_seeds or precision.MOST) if aims else []


def _claimed(keys: Sequence[RunKey], looks: Sequence[Look], engine: str) -> precision.Joint:
    from sojourn.evidence.claimed import Claimed, place_of

    claimed = Claimed(keys, engine=engine.partition(":")[0], first=looks[0].seeds)

    def judge(runs: Sequence[Run]) -> tuple[Sequence[precision.Known], Callable[[Run], bool]]:
        standings, wanting = claimed.judge(runs)
        return standings, lambda run: place_of(run) in wanting

    return judge


def _failed(tallies: Sequence[checks.Tally], standings: Sequence[precision.Known]) -> bool:
    """Return whether a check does not hold: in the median run where that was asked for, otherwise in every run."""
    judged = [own for own in standings if isinstance(own, precision.Standing) and own.is_check]
    if judged:
        return not all(own.reached and own.median == 1 for own in judged)
    return any(tally.failed for tally in tallies)


def _made(
    keys: Sequence[RunKey],
    wanted: Sequence[precision.Aim],
    looks: Sequence[Look],
    make: Callable[[Sequence[RunKey]], Sequence[Run]],
    joint: precision.Joint | None,
) -> tuple[Sequence[Run], list[precision.Known]]:
    if not looks:
        return make(keys), []
    return precision.until(keys, wanted, looks, make, detail, joint)


def _show(
    runs: Sequence[Run],
    tallies: Sequence[checks.Tally],
    standings: Sequence[precision.Known],
    output: Path,
    *,
    as_json: bool,
) -> None:
    found = cells.group(runs)
    if as_json:
        print_json(
            {
                "folder": str(output),
                "warnings": list(dict.fromkeys(text for run in runs for text in run.key.warnings)),
                "remarks": [own.json() for own in remarks.shared_remarks(runs)],
                "cells": summary_json(found),
                "checks": [{**asdict(own), "said": str(own)} for own in tallies],
                "precision": [{**asdict(own), "said": str(own)} for own in standings],
            }
        )
    else:
        print_summary(found)
        show_remarks(remarks.shared_remarks(runs))
        for tally in tallies:
            out().print(f"{tally.experiment}: {tally}", soft_wrap=True, markup=False)
        for standing in standings:
            out().print(str(standing), soft_wrap=True, markup=False)
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
                    raise UsageError(
                        "Flent's batch files do not support plugins", help="omit --plugin, or write a .toml file"
                    )
                read = _batch(named.file, engine=engine, seeds=seeds, settings=settings, batches=batches or [])
            else:
                read = [load(named.file, settings=settings, seeds=seeds, engine=engine, yes=yes, plugins=plugins)]
            experiments[named.file.resolve()] = read
    if batches and not any(file.suffix == ".batch" for file in experiments):
        raise UsageError("-b selects batches of a .batch file, and you named no such file")
    meant = selection.parse(only or [])
    everything = [key for read in experiments.values() for one in read for key in one.run_keys]
    selection.check(meant, (key.scenario for key in everything))
    keys = {key.digest: key for key in everything if selection.takes(meant, key.scenario)}
    if not keys:
        raise UsageError("no cell has all of these labels", help="`sojourn suites` names the suites; leave one out")
    if len(keys) > _core.MOST_RUNS and not yes:
        raise UsageError(f"these are {len(keys):,} runs", help="add --yes to go ahead")
    note_plugins(keys.values())
    show_warnings(warning for read in experiments.values() for one in read for warning in one.warnings)
    return list(keys.values())


def _batch(
    file: Path, *, engine: str, seeds: int | None, settings: list[str], batches: list[str]
) -> Sequence[Experiment]:
    from sojourn.interop import batch

    chosen = batch.load(file, batches=batches, settings=settings, seeds=seeds, engine=engine)
    for note in chosen.notes:
        say(str(note))
    return chosen.experiments
