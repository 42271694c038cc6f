"""``sojourn cluster doctor``: whether workers match this machine's build."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sojourn.cli.options import AsJson

if TYPE_CHECKING:
    from sojourn.cli.facts import Facts

_cluster = typer.Typer(help="Workers on other machines.", no_args_is_help=True)

CLOCK_S: Final = 2.0
"""Clocks that differ by more make logs hard to read, and certificates invalid; results do not depend on them."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_cluster, name="cluster")


@_cluster.command()
def doctor(
    on: Annotated[str, typer.Argument(metavar="WHERE", help="The workers: [b]dask://HOST:8786[/b].")],
    as_json: AsJson = False,
) -> None:
    """Compare each worker's build, kernels and clock with this machine's.

    Exits with status 1 if a worker could not take part.
    """
    from sojourn.cli import facts
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out, print_json
    from sojourn.errors import UsageError
    from sojourn.runner import executors
    from sojourn.runner.executors.dask import Dask
    from sojourn.runner.foresight import size

    workers = executors.opened(on, executors.Asked("sim", 1))
    try:
        if not isinstance(workers, Dask):
            raise UsageError(f"the workers of {on} cannot be asked", help="workers with another build cannot take part")
        before = time.time()
        answers = workers.ask(facts.of_this_process)
        middle = (before + time.time()) / 2
    finally:
        workers.close()
    ours = facts.of_this_process()
    unfit = {name: wrong(answer, ours) for name, answer in answers.items()}
    remarks = {name: notes(answer, ours, middle) for name, answer in answers.items()}
    if as_json:
        reports = {name: str(own) if isinstance(own, Exception) else own for name, own in answers.items()}
        print_json(
            {
                "here": ours,
                "workers": [{"worker": n, "said": reports[n], "wrong": unfit[n], "notes": remarks[n]} for n in answers],
            }
        )
    else:
        rows = [
            [
                name,
                own["host"],
                str(own["cores"]),
                own["builds"]["sim"],
                ", ".join(own["kernels"]),
                size(own["free_bytes"]),
            ]
            for name, own in answers.items()
            if not isinstance(own, Exception)
        ]
        print_table(["worker", "host", "cores", "build", "kernels", "room"], rows, right=[2, 5])
        for name in answers:
            for said in [*unfit[name], *remarks[name]]:
                out().print(f"{name}: {said}", soft_wrap=True, markup=False)
        able = sum(not own for own in unfit.values())
        out().print(f"{able} of {len(answers)} workers may take part")
    if not answers or any(unfit.values()):
        raise typer.Exit(1)


def wrong(own: "Facts | Exception", ours: "Facts") -> list[str]:
    """Return why a worker cannot take part."""
    if isinstance(own, Exception):
        return [f"it cannot answer: {type(own).__name__}: {own}"]
    return [
        f"its build of {engine} is {own['builds'].get(engine, 'not there')}, and ours {build}"
        for engine, build in ours["builds"].items()
        if own["builds"].get(engine) != build
    ]


def notes(own: "Facts | Exception", ours: "Facts", now: float) -> list[str]:
    """Return further notes on a worker."""
    if isinstance(own, Exception):
        return []
    said = _kernels(own["kernels"], ours["kernels"])
    if abs(own["clock_s"] - now) > CLOCK_S:
        said.append(f"its clock differs from ours by {own['clock_s'] - now:+.0f} s")
    return said


def _kernels(own: Mapping[str, str | None], ours: Mapping[str, str | None]) -> list[str]:
    return [
        f"it has {'another' if name in own else 'no'} kernel {name}: it makes no runs on it (--engine linux)"
        for name, known in ours.items()
        if name not in own or own[name] != known
    ]
