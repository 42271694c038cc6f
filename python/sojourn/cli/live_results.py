"""The results folder of ``sojourn shell`` and ``sojourn router``: written when the run is over."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import UsageError

if TYPE_CHECKING:
    from sojourn import _core
    from sojourn.core.store.run_key import RunKey
    from sojourn.quick.line import Way
    from sojourn.views.run import Run

    Runner = Callable[["Folders"], tuple[_core.Run, Sequence[str], Mapping[str, str]]]
    """Runs, and returns the results, why they are not valid, and texts to keep with them by name."""


@dataclass(frozen=True, slots=True)
class Folders:
    """The input of a run that is about to start."""

    base: "RunKey"
    """Of the experiment before the run."""
    captures: str | None
    """The folder for packets; None if none are wanted."""
    snap_len: int
    """Bytes kept of each packet."""
    door: str
    """The place of the control socket."""


def keep(
    run: "Runner",
    line: "Way",
    command: str,
    output: Path,
    save: Path | None,
    *,
    pcap: bool,
    snap_len: int | None,
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Run, and write the results folder and the experiment that is asked for.

    Args:
        run: does it.
        line: the path.
        command: the command line.
        output: the results folder.
        save: where the experiment of the flows that were seen goes; None if it is not wanted.
        pcap: whether packets are captured.
        snap_len: bytes of each packet; None for the default.
        ended: called when everything is written, before the summary.

    Raises:
        UsageError: if the line is wrong, or a file cannot be written.
    """
    from sojourn import _core
    from sojourn.cli import doors
    from sojourn.cli.capture import snap_length
    from sojourn.cli.screen import TALK, out, say
    from sojourn.cli.tables import print_summary
    from sojourn.core import cells
    from sojourn.core.store import Folder
    from sojourn.experiments.experiment import parse
    from sojourn.quick.asked import FILE
    from sojourn.runner.runs import run_keys
    from sojourn.views.run import Run

    engine = "live"
    base = parse(line.toml(), FILE, settings=[], engine=engine, plugins=[]).run_keys[0]
    snap = snap_length(snap_len, pcap=pcap)
    with ExitStack() as stack:
        store = stack.enter_context(Folder.create(output, version=_core.version(engine), command=command))
        captures = stack.enter_context(store.captures(base)) if pcap else None
        packets = None if captures is None else str(captures)
        results, faults, texts = run(Folders(base, packets, snap or _core.SNAP_LEN, str(doors.own())))
        [key] = run_keys([results.scenario], engine=engine)
        while key in store:
            key = replace(key, repetition=key.repetition + 1)
        encoded = _core.encode_run(results, key.version, command=command, repetition=key.repetition, texts=dict(texts))
        store.add_encoded(encoded)
        if captures is not None:
            store.add_captures(key, captures)
        seen = Run.fresh(key, results)
        if save is not None:
            _save(save, line, seen, command)
    ended()
    for fault in faults:
        say(f"warning: not valid: {fault} (docs/live.md)")
    if not TALK.quiet:
        print_summary(cells.group([seen]))
        out().print(
            f"results in {output}; for pictures: sojourn report {shlex.quote(str(output))}",
            soft_wrap=True,
            markup=False,
        )


def _save(path: Path, line: "Way", run: "Run", command: str) -> None:
    """Write an experiment like the run."""
    import polars as pl

    from sojourn.cli.screen import say
    from sojourn.core.store.atomic import write_file

    events = run.table("events").cast({pl.Categorical: pl.String})
    events = events.filter((pl.col("what") == "event") & (pl.col("subject") == "command"))
    text = line.of_run(run.scenario, list(events.select("t_s", "detail").iter_rows()))
    try:
        comment = "".join(f"# {row}\n" for row in f"seen of: {command}".splitlines())
        write_file(path, f"{comment}\n{text}".encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    say(f"the observed line is in {path}; to simulate it: sojourn run {path} -o DIR")
