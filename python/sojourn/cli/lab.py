"""``sojourn lab``: exercises for courses, and marks for them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.options import AsJson, Threads

if TYPE_CHECKING:
    from sojourn.evidence.labs import Mark

Which = Annotated[
    str | None,
    typer.Option("--lab", metavar="NAME", help="The lab (default: the experiment's name)."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(no_args_is_help=True, help="Course labs: list them, start one, mark a file.")
    commands.command("list")(list_labs)
    commands.command("start")(start)
    commands.command("check")(check)
    app.add_typer(commands, name="lab")


def list_labs() -> None:
    """List the labs."""
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import say
    from sojourn.evidence.labs import labs

    print_table(["lab", "about"], [[name, own.summary] for name, own in labs().items()], prose=(1,))
    say("to start one: sojourn lab start NAME")


def start(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The lab, of `sojourn lab list`.")],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The file to write (default: NAME.toml).", show_default=False),
    ] = None,
) -> None:
    """Print a lab's task and questions, and write its starting experiment to a file."""
    from rich.markdown import Markdown

    from sojourn.cli.screen import out, say
    from sojourn.errors import UsageError
    from sojourn.evidence.labs import lab

    own = lab(name)
    target = file or Path(f"{name}.toml")
    try:
        with target.open("x", encoding="utf-8") as opened:
            opened.write(own.start)
    except FileExistsError:
        raise UsageError(
            f"{target} exists already", help="name another file; existing files are never replaced"
        ) from None
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror}", help="name a file in a folder that you may write to"
        ) from None
    questions = "\n".join(f"{number}. {question}" for number, question in enumerate(own.questions, 1))
    out().print(Markdown(f"# {own.title}\n\n{own.text}\n\n## Task\n\n{own.task}\n\n## Questions\n\n{questions}\n"))
    say(f"wrote {target}\nrun it:   sojourn run {target} -o results/{name}\nmark it:  sojourn lab check {target}")


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Students' experiment files.")],
    name: Which = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Mark students' experiments and explain each point.

    The mark depends on the experiment's results over several seeds, and on nothing else: not on names or layout of
    the file. Plugins, Python classes and programs are refused. Exits with status 1 if a file misses points, and with 2
    if a file is no experiment.
    """
    from sojourn.cli.screen import err, out, print_json
    from sojourn.evidence.labs import mark
    from sojourn.runner import cores

    with err().status("marking"):
        marks = [(file, mark(file, name, threads=threads or cores())) for file in files]
    if as_json:
        print_json([_json(file, own) for file, own in marks])
    else:
        for file, own in marks:
            out().print(
                f"{file}: {_number(own.points)} of {own.of} points (lab {own.lab})", markup=False, soft_wrap=True
            )
            for item in own.items:
                sign = "✓" if item.points == item.of else "½" if item.points else "✗"
                out().print(f"  {sign} {_number(item.points)}/{item.of}  {item.what}", markup=False, soft_wrap=True)
                out().print(f"          {item.why}", markup=False, soft_wrap=True)
    if any(own.points < own.of for _, own in marks):
        sys.exit(1)


def _number(points: float) -> str:
    return f"{points:g}"


def _json(file: Path, own: "Mark") -> dict[str, object]:
    from dataclasses import asdict

    return {"file": str(file), "points": own.points, **asdict(own), "of": own.of}
