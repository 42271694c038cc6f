"""``sojourn table``: metrics of a results folder, a row a cell."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import complete


class Form(StrEnum):
    """How a table is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(table)


def table(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder.")],
    metrics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METRIC...",
            help="Metrics (docs/metrics.md): [b]'p99(srtt, {flow}) over last 20s'[/b]. {flow} is each flow that "
            "carries data, {queue} the bottleneck. Default: the summary, for all relevant queues.",
            autocompletion=complete.metrics,
        ),
    ] = None,
    cell: Annotated[
        str,
        typer.Option(
            metavar="PATTERN", help="Only these runs: [b]queue=dualpi2,rtt=20*[/b], or a part of a run's name."
        ),
    ] = "",
    by: Annotated[
        str, typer.Option(metavar="AXIS", help="Put the labels of this axis across the top: [b]--by queue[/b].")
    ] = "",
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.TEXT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print metrics of every cell of a results folder: the mean over the seeds with their range."""
    import math
    import sys

    from sojourn.cli.grid import print_table
    from sojourn.cli.screen import out, print_json, say
    from sojourn.cli.warnings import show_remarks
    from sojourn.errors import UsageError
    from sojourn.plotting import figures
    from sojourn.plotting.labels import of_means
    from sojourn.views.remarks import shared_remarks
    from sojourn.views.results import results
    from sojourn.views.summary_table import USUAL, Asked, SummaryTable

    asked = [Asked(text, text) for text in metrics or []] or USUAL
    chosen = figures.select(results(folder), cell)
    made = SummaryTable.of(chosen, asked, by)
    show_remarks(shared_remarks(chosen))
    nothing = all(math.isnan(spread.mean) for row in made.rows for spread in row.values.values())
    for expression, missing in made.missing.items():
        if metrics and nothing and missing.everywhere:
            raise UsageError(f"no run has a value of {expression}: {missing.why.message}", help=missing.why.help)
        say(f"{expression}: {missing}")
    match Form.JSON if as_json else form:
        case Form.TEXT:
            heads = [*made.axes, *(column.replace(" of ", "\nof ").replace(", ", ",\n") for column in made.columns)]
            print_table(heads, made.cells(), right=range(len(made.axes), len(heads)), labels=len(made.axes))
            if said := made.measured():
                out().print(said, style="dim", markup=False)
            for text in metrics or []:
                if said := of_means(text):
                    out().print(f"{said}.", style="dim", markup=False)
        case Form.MARKDOWN:
            sys.stdout.write(made.markdown())
        case Form.CSV:
            sys.stdout.write(made.frame().write_csv())
        case Form.JSON:
            print_json(made.json())
