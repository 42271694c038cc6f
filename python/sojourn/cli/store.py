"""``sojourn store``: list, measure, verify and prune a results folder."""

import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.options import AsJson, Results

if TYPE_CHECKING:
    from sojourn.core.store import Folder, Record

_store = typer.Typer(help="List, measure, verify and prune a results folder.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_store, name="store")


@_store.command()
def ls(folder: Results, as_json: AsJson = False) -> None:
    """List the experiments in a folder: cells, runs, engines and sizes."""
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import print_json
    from sojourn.core.store import Folder
    from sojourn.runner.foresight import size

    rows: dict[tuple[str, str, str], tuple[set[str], int, int]] = {}
    for record in Folder.open(folder).records():
        own = record.brief
        place = (own.experiment, own.engine, own.version)
        cells, runs, room = rows.get(place, (set(), 0, 0))
        rows[place] = (cells | {own.cell}, runs + 1, room + _bytes(record))
    if as_json:
        print_json(
            [
                {"experiment": e, "engine": n, "version": v, "cells": len(cells), "runs": runs, "bytes": room}
                for (e, n, v), (cells, runs, room) in rows.items()
            ]
        )
        return
    lines = [[e, n, v, str(len(c)), str(r), size(b)] for (e, n, v), (c, r, b) in rows.items()]
    print_table(["experiment", "engine", "version", "cells", "runs", "size"], lines, right=range(3, 6))


@_store.command()
def du(folder: Results, as_json: AsJson = False) -> None:
    """Show disk usage: segments (all runs) and captures."""
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import print_json
    from sojourn.core.store import Folder
    from sojourn.runner.foresight import size

    opened = Folder.open(folder)
    found: Counter[str] = Counter()
    found["segments"] = sum(file.stat().st_size for file in opened.store.files())
    found["captures"] = sum(file.stat().st_size for record in opened.records() for file in record.captures)
    if as_json:
        print_json(dict(found.most_common()))
        return
    print_table(["what", "size"], [[what, size(room)] for what, room in found.most_common()], right=[1])


@_store.command()
def verify(folder: Results, as_json: AsJson = False) -> None:
    """Compare every byte of runs, captures and manifest with its checksum. Exits with 1 if one is damaged."""
    from sojourn.cli.screen import out, print_json
    from sojourn.core.store import Folder
    from sojourn.core.store.verify import damages

    opened = Folder.open(folder)
    runs = len(opened.store)
    found = list(damages(opened))
    left = opened.unfinished()
    if as_json:
        damaged = [{"run": own.run or None, "message": own.message} for own in found]
        print_json({"runs": runs, "damaged": damaged, "unfinished": [str(path) for path in left]})
    else:
        for own in found:
            out().print(own.message, soft_wrap=True, markup=False)
        if left:
            out().print(f"{len(left)} unfinished, left by a command that was killed, or being written now; never read")
        out().print(f"{runs} run{'s'[: runs != 1]}, {len(found)} damaged")
    if found:
        raise typer.Exit(1)


@_store.command()
def convert(
    folder: Results,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="NEW", help="The folder to write.")],
    as_json: AsJson = False,
) -> None:
    """Write a folder of an earlier version's format in this version's. The old folder stays as it is."""
    from sojourn.cli.screen import err, out, print_json
    from sojourn.core.store.convert import convert as converted
    from sojourn.errors import StoreError

    wrong: list[str] = []

    def failed(error: StoreError) -> None:
        wrong.append(error.message)
        err().print(error.message, soft_wrap=True, markup=False)

    runs = converted(folder, output, command=shlex.join(["sojourn", *sys.argv[1:]]), failed=failed)
    if as_json:
        print_json({"folder": str(output), "runs": runs, "failed": wrong})
    else:
        out().print(f"{runs} run{'s'[: runs != 1]} written to {output}, {len(wrong)} failed", markup=False)
    if wrong:
        raise typer.Exit(1)


@_store.command()
def prune(
    folder: Results,
    experiment: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="The runs of this experiment (repeatable).")
    ] = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="The damaged runs that [b]verify[/b] lists.")] = False,
    captures: Annotated[bool, typer.Option("--captures", help="The captures of all runs; the runs stay.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them (default: only list them).")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove runs, or their captures, and the remains of killed commands."""
    from sojourn import _core
    from sojourn.cli.screen import out, print_json
    from sojourn.core.store import Folder
    from sojourn.core.store.atomic import remove_folder, remove_unfinished
    from sojourn.core.store.folder import SEGMENTS
    from sojourn.core.store.record import CAPTURES
    from sojourn.errors import UsageError
    from sojourn.runner.foresight import size

    if not (experiment or damaged or captures):
        raise UsageError("nothing selected to remove", help="add --experiment NAME, --damaged or --captures")
    opened = Folder.open(folder)
    with opened.locked():
        runs = _chosen(opened, experiment or [], damaged=damaged)
        records = map(opened.named, opened.store.names())
        files = [file for record in records for file in record.captures] if captures else []
        files = [file for file in files if file.parent.name not in runs]
        room = sum(_bytes(opened.named(name)) for name in runs) + sum(file.stat().st_size for file in files)
        if yes:
            if runs or damaged:
                # Counted first: after a kill in between the folder has more runs than the manifest says, which is fine.
                opened.count(len(opened.store) - len(runs))
                _core.Store.remove(opened.path / SEGMENTS, runs, broken=damaged)
            for name in runs:
                remove_folder(opened.named(name).path)
            for file in files:
                file.with_name(CAPTURES).unlink(missing_ok=True)
                file.unlink()
            for path in opened.unfinished():
                remove_unfinished(path)
    if as_json:
        print_json({"runs": sorted(runs), "captures": len(files), "bytes": room, "removed": yes})
        return
    said = f"{len(runs)} run{'s'[: len(runs) != 1]} and {len(files)} captures, {size(room)}"
    out().print(f"{said}: removed" if yes else f"{said}: would be removed; say --yes if that is meant")


def _chosen(folder: "Folder", experiments: Iterable[str], *, damaged: bool) -> set[str]:
    from sojourn.core.store.verify import damages
    from sojourn.errors import UsageError

    runs = {own.run for own in damages(folder) if own.run} if damaged else set()
    wanted = set(experiments)
    if wanted:
        by_name: dict[str, set[str]] = {}
        for record in folder.records():
            by_name.setdefault(record.brief.experiment, set()).add(record.name)
        for name in wanted:
            if name not in by_name:
                raise UsageError.unknown("experiment", name, sorted(by_name))
            runs |= by_name[name]
    return runs


def _bytes(record: "Record") -> int:
    return record.store.bytes(record.name) + sum(file.stat().st_size for file in record.captures)
