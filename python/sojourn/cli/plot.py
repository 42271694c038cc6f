"""``sojourn plot``: one figure of a results folder, with its data as CSV."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from sojourn.cli import complete
from sojourn.cli.options import AsJson

if TYPE_CHECKING:
    from sojourn.plotting.figures import Kind


class _Plot(TyperCommand):
    """The command; its help lists the kinds."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - of click's, or of what typer has of it
        """Print the help."""
        from sojourn.core.extensions import FIGURES

        self.epilog = f"Kinds: {', '.join(FIGURES.names)}."
        super().format_help(ctx, formatter)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=_Plot)(plot)


def plot(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="Results folder.")] = None,
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help="The kind of figure (default: list all).", autocompletion=complete.figures),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="OPTION=VALUE...",
            help="Options of the kind: [b]x=rtt[/b].",
            autocompletion=complete.figure_options,
        ),
    ] = None,
    cell: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="Only these runs: [b]queue=dualpi2,rtt=20*[/b], or a part of a run's name.",
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The picture: .svg, .pdf or .png (default: KIND.svg)."),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--format", metavar="svg|pdf|png", help="The picture's format (default: FILE's extension)."),
    ] = "",
    size: Annotated[
        str,
        typer.Option(
            metavar="SIZE", help="Width and height, or the width: [b]160x90mm[/b], [b]3.5in[/b], [b]1200x800px[/b]."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Draw a figure of a results folder, and write its data as CSV.

    Without a kind, lists all kinds; [b]sojourn plot DIR KIND help[/b] shows a kind's options.
    """
    from sojourn.cli.screen import out, print_json, say
    from sojourn.errors import UsageError
    from sojourn.plotting import figures
    from sojourn.views.results import results

    if folder is not None and kind is None and str(folder) in figures.KINDS:
        _show(figures.KINDS[str(folder)], as_json=as_json)
        return
    if folder is None or kind is None:
        _list(as_json=as_json)
        return
    chosen = figures.kind(kind)
    if options == ["help"]:
        _show(chosen, as_json=as_json)
        return
    given = {}
    for text in options or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f'"{text}" is no option', help=f"write {text}=VALUE; `sojourn plot {kind}` shows them")
        given[name] = value
    target, ends = _target(output, kind, form)
    drawn = chosen.draw(figures.select(results(folder), cell), given)
    picture, csv = drawn.write(target.parent, target.stem, ends, size)
    caption = re.sub(r"\s+", " ", drawn.caption)
    if as_json:
        print_json({"picture": str(picture), "data": str(csv), "caption": caption})
        return
    say(caption)
    out().print(f"{picture}\n{csv}", soft_wrap=True, markup=False)


def _target(output: Path | None, kind: str, form: str) -> tuple[Path, str]:
    """Return where the picture goes and its format; wrong ones are found before anything is drawn."""
    from sojourn.errors import UsageError
    from sojourn.plotting.draw.sheet import FORMATS

    target = output or Path(f"{kind}.{form or 'svg'}")
    ends = target.suffix.removeprefix(".").lower()
    if form and form not in FORMATS:
        raise UsageError.unknown("format of figures", form, list(FORMATS))
    if not ends:
        target = target.with_suffix(f".{form or 'svg'}")
        ends = form or "svg"
    if ends not in FORMATS:
        raise UsageError(
            f"{target} is not a figure file name: use {', '.join(FORMATS)}",
            help=f"say {target.with_suffix('.svg')}",
        )
    if form and form != ends:
        raise UsageError(f"{target} ends with .{ends}, and --format says {form}", help="leave one of the two out")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}")
    return target, ends


def _list(*, as_json: bool) -> None:
    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import print_json
    from sojourn.plotting import figures

    if as_json:
        print_json([{"kind": kind.name, "what": kind.what} for kind in figures.KINDS.values()])
        return
    print_table(["kind", "what it shows"], [[kind.name, kind.what] for kind in figures.KINDS.values()], prose=(1,))


def _show(kind: "Kind", *, as_json: bool) -> None:
    from rich.text import Text

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out, print_json

    if as_json:
        options = [
            {"name": o.name, "default": o.default, "meaning": o.meaning, "choices": list(o.choices or ())}
            for o in kind.options
        ]
        print_json({"kind": kind.name, "what": kind.what, "after": kind.after, "options": options})
        return
    out().print(Text.assemble((kind.name, "bold"), f": {kind.what}\nafter: {kind.after}"))
    if kind.options:
        rows = [
            [o.name, o.default, o.meaning + (f": {', '.join(o.choices)}" if o.choices else "")] for o in kind.options
        ]
        print_table(["option", "default", "meaning"], rows, prose=(1, 2))
