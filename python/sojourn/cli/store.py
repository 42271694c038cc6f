"""``sojourn store``: list, measure, verify and prune a results folder."""

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
        key = record.key
        place = (key.scenario.experiment, key.engine, key.version)
        cells, runs, room = rows.get(place, (set(), 0, 0))
        rows[place] = (cells | {key.cell_digest}, runs + 1, room + _bytes(record))
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
    """Show disk usage: tables, captures and texts of all runs."""
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import print_json
    from sojourn.core.store import Folder
    from sojourn.runner.foresight import size

    found: Counter[str] = Counter()
    for path in Folder.open(folder).run_folders():
        for file in path.iterdir():
            found["captures" if file.suffix == ".pcap" else file.name] += file.stat().st_size
    if as_json:
        print_json(dict(found.most_common()))
        return
    print_table(["what", "size"], [[what, size(room)] for what, room in found.most_common()], right=[1])


@_store.command()
def verify(folder: Results, as_json: AsJson = False) -> None:
    """Compare every file of the runs, manifest and index with their checksums. Exits with 1 if one is damaged."""
    from sojourn.cli.screen import out, print_json
    from sojourn.core.store import Folder
    from sojourn.core.store.verify import damaged_index, damages

    opened = Folder.open(folder)
    runs = sum(1 for _ in opened.run_folders())
    found = list(damages(opened))
    index = damaged_index(opened)
    left = opened.unfinished()
    if as_json:
        damaged = [{"run": str(own.run), "message": own.message} for own in found]
        print_json({"runs": runs, "damaged": damaged, "index": index, "unfinished": [str(path) for path in left]})
    else:
        for message in (*(own.message for own in found), *filter(None, [index])):
            out().print(message, soft_wrap=True, markup=False)
        if left:
            out().print(f"{len(left)} unfinished, left by a command that was killed, or being written now; never read")
        out().print(f"{runs} run{'s'[: runs != 1]}, {len(found)} damaged")
    if found or index:
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
    from sojourn.cli.screen import out, print_json
    from sojourn.core.store import Folder
    from sojourn.core.store.atomic import discard_folder, remove_unfinished
    from sojourn.core.store.record import CAPTURES
    from sojourn.errors import UsageError
    from sojourn.runner.foresight import size

    if not (experiment or damaged or captures):
        raise UsageError("nothing is named to be removed", help="say --experiment NAME, --damaged or --captures")
    opened = Folder.open(folder)
    with opened.locked():
        runs = _chosen(opened, experiment or [], damaged=damaged)
        files = [file for path in opened.run_folders() for file in path.glob("*.pcap")] if captures else []
        files = [file for file in files if file.parent not in runs]
        room = sum(file.stat().st_size for path in runs for file in path.iterdir()) + sum(
            file.stat().st_size for file in files
        )
        if yes:
            if runs:
                opened.index.begin()
            for path in runs:
                discard_folder(path)
            for file in files:
                file.with_name(CAPTURES).unlink(missing_ok=True)
                file.unlink()
            for path in opened.unfinished():
                remove_unfinished(path)
            opened.index.finish(opened.run_folders())
    if as_json:
        print_json({"runs": [str(path) for path in runs], "captures": len(files), "bytes": room, "removed": yes})
        return
    said = f"{len(runs)} run{'s'[: len(runs) != 1]} and {len(files)} captures, {size(room)}"
    out().print(f"{said}: removed" if yes else f"{said}: would be removed; say --yes if that is meant")


def _chosen(folder: "Folder", experiments: Iterable[str], *, damaged: bool) -> set[Path]:
    from sojourn.core.store.verify import damages
    from sojourn.errors import UsageError

    runs = {own.run for own in damages(folder)} if damaged else set()
    wanted = set(experiments)
    if wanted:
        by_name: dict[str, set[Path]] = {}
        for record in folder.records():
            by_name.setdefault(record.key.scenario.experiment, set()).add(record.path)
        for name in wanted:
            if name not in by_name:
                raise UsageError.unknown("experiment", name, sorted(by_name))
            runs |= by_name[name]
    return runs


def _bytes(record: "Record") -> int:
    return sum(file.stat().st_size for file in record.path.iterdir())
