"""``sojourn export`` and ``sojourn import``: results out to other programs, and in from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli.options import AsJson

_exports = typer.Typer(help="Write results in other programs' formats.", no_args_is_help=True)


Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Target folder (default: one named after the format in DIR)."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_exports, name="export")
    app.command(name="import")(import_)


@_exports.command()
def parquet(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Output = None,
    table: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this table (repeatable; default: all).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the tables of all runs as Parquet, for DuckDB, Polars and pandas.

    Each row begins with the run's name, the labels of its axes, its seed and its engine. runs.parquet lists the runs.
    """
    from sojourn.interop.tables import export_tables

    to = output or folder / "parquet"
    _tell(export_tables(folder, to, table or ()), to, as_json=as_json)


@_exports.command()
def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    name: Annotated[
        str, typer.Argument(metavar="RUN", help="The run's name, or the part of it that no other run has.")
    ],
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Write one run as a folder: scenario.json, which [b]sojourn run[/b] takes, and its tables as Parquet."""
    from sojourn.core.store import Folder
    from sojourn.errors import UsageError
    from sojourn.interop.tables import export_run

    opened = Folder.open(folder)
    names = [record.name for record in opened.records()]
    found = [name] if name in names else [own for own in names if name in own]
    if len(found) != 1:
        if found:
            raise UsageError(f'{len(found)} runs have "{name}" in their names', help=f"such as {', '.join(found[:3])}")
        raise UsageError(f'no run has "{name}" in its name', help=f"names are such as {names[0]}" if names else None)
    to = output or folder / found[0]
    _tell(export_run(opened.named(found[0]), to), to, as_json=as_json)


@_exports.command()
def flent(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Output = None,
    uploads: Annotated[
        bool,
        typer.Option(
            "--uploads",
            help="Write the down direction as uploads: most suites reproduce testbeds with a sending client.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write each run as a Flent data file, with raw values and socket statistics.

    The down direction becomes downloads, the up direction uploads.
    """
    from sojourn.interop.flent import export_folder

    to = output or folder / "flent"
    _tell(export_folder(folder, to, "upload" if uploads else "download"), to, as_json=as_json, opens="flent --gui")


@_exports.command()
def qlog(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Output = None,
    packets: Annotated[
        bool,
        typer.Option(
            "--packets",
            help="Include QUIC's packets, from runs made with [b]--pcap --snap-len 2000[/b]. Files are large.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write each single-connection flow as qlog: windows, RTTs, losses and states, one sample per interval.

    qlog has no schema for TCP; its flows use the equivalent QUIC events.
    """
    from sojourn.interop.qlog import export_folder

    to = output or folder / "qlog"
    _tell(export_folder(folder, to, packets=packets), to, as_json=as_json)


@_exports.command()
def pcapng(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder with captures (--pcap).")],
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Write each run's captures as one pcapng file for Wireshark.

    Each point is an interface with its name. Packets say in comments which flow they are of, whether a queue dropped or
    marked them, and how long they waited.
    """
    from sojourn.interop.pcapng import export_folder

    to = output or folder / "pcapng"
    _tell(export_folder(folder, to), to, as_json=as_json, opens="wireshark")


def _tell(written: Sequence[Path], to: Path, *, as_json: bool, opens: str | None = None) -> None:
    """Say which files were written, and what opens the first."""
    from sojourn.cli.screen import out, print_json

    if as_json:
        print_json({"files": [str(file) for file in written]})
        return
    out().print(f"{len(written)} files in {to}", soft_wrap=True, markup=False)
    if written and opens:
        out().print(f"{opens} {written[0]}", soft_wrap=True, markup=False)


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Flent's .flent.gz; .qlog, .sqlog; output of iperf3 -J, irtt -o, ss -tin; logs of mm-link.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The results folder.")],
    as_json: AsJson = False,
) -> None:
    """Import other measurements into a results folder.

    Flent's data files, qlog of QUIC implementations, iperf3's and irtt's JSON, what ss said again and again with a line
    Time: SECONDS before each, and the logs of Mahimahi's mm-link.

    If a file is unreadable, names it, imports the others, and exits with status 2.
    """
    import shlex
    import sys

    from sojourn.cli.screen import out, print_json, say, show_error
    from sojourn.errors import DataFileError
    from sojourn.interop.importing import import_files

    command = shlex.join(["sojourn", *sys.argv[1:]])
    failed: list[DataFileError] = []
    done = import_files(files, output, command=command, failed=failed.append)
    for error in failed:
        show_error(error)
    for one in done:
        if not one.new:
            say(f"{one.file} is in {output} already")
        if one.left_out:
            say(f"{one.file}: ignored, because Sojourn has no column for them: {', '.join(one.left_out)}")
    new = sum(one.new for one in done)
    if as_json:
        entries = [{"file": str(one.file), "new": one.new, "left_out": list(one.left_out)} for one in done]
        print_json({"folder": str(output), "files": entries, "failed": [str(error) for error in failed]})
    else:
        out().print(f"{new} of {len(files)} files imported into {output}", soft_wrap=True, markup=False)
    if failed:
        sys.exit(DataFileError.status)
