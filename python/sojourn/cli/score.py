"""``sojourn score``: one number for a congestion control, with its parts."""

from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import complete
from sojourn.cli.options import AsJson, Plugins, Settings, Threads

if TYPE_CHECKING:
    from sojourn.score import Score


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(score)


def score(
    controls: Annotated[
        list[str],
        typer.Argument(
            metavar="CONTROL...",
            help="Congestion controls: [b]cubic[/b], [b]'bbr3 drain_gain 0.35'[/b], [b]python:FILE:CLASS[/b], or a "
            "plugin's.",
            autocompletion=complete.ccs,
        ),
    ],
    on: Annotated[
        str,
        typer.Option("--on", metavar="SET", help="[b]train[/b], [b]test[/b], [b]found[/b], or an experiment file."),
    ] = "train",
    details: Annotated[bool, typer.Option("--details", help="Print every cell.")] = False,
    settings: Settings = None,
    threads: Threads = None,
    plugins: Plugins = None,
    as_json: AsJson = False,
) -> None:
    """Score congestion controls on a set of paths: 0 to 100, the same number every time.

    A control that crashes or never returns has a score, too. Exits with status 0 whatever the score is. docs/score.md
    states what the parts are.
    """
    from sojourn.cli.screen import out, print_json
    from sojourn.score import score as scored

    found = [
        scored(control, on=on, plugins=plugins or [], settings=settings or [], threads=threads or 1)
        for control in controls
    ]
    if as_json:
        print_json(found[0].json() if len(found) == 1 else [own.json() for own in found])
        return
    for line in lines(found, details=details):
        out().print(line, soft_wrap=True, markup=False, highlight=False)


def lines(found: list["Score"], *, details: bool) -> list[str]:
    """Return the scores as a table."""
    from sojourn.score import PARTS

    names = [*PARTS, "robustness"]
    wide = max(len(own.control) for own in found)
    text = [f"{'control':{wide}}  score  " + "  ".join(names)]
    for own in found:
        parts = own.parts
        cells = [f"{parts[name]:{len(name)}.3f}" if name in parts else f"{'–':>{len(name)}}" for name in names]
        text.append(f"{own.control:{wide}}  {own.number:5.1f}  " + "  ".join(cells))
    for own in found:
        if own.failures:
            text += ["", f"{own.control}: {len(own.failures)} of {len(own.verdicts)} cells failed"]
            text += [f"  {why}" for why in dict.fromkeys(one.failed for one in own.failures)]
        if details:
            text += ["", own.control]
            for one in own.verdicts:
                parts_of = ", ".join(f"{name} {value:.3f}" for name, value in one.parts.items())
                text.append(f"  {one.case:16} {100 * one.score:5.1f}  {one.failed or parts_of}")
    text += ["", f"On {found[0].on}, build {found[0].version}. Parts are from 0 to 1, higher is better."]
    return text
