"""Messages about legal settings that may be unintended, and about results that mislead."""

from collections.abc import Callable, Iterable

from rich.text import Text

from sojourn.cli.screen import TALK, err
from sojourn.errors import ExperimentError
from sojourn.experiments.warning import ExperimentWarning
from sojourn.views.remarks import SharedRemark


def show_warnings(
    warnings: Iterable[ExperimentWarning], pointed_at: Callable[[ExperimentError], ExperimentError] = lambda own: own
) -> None:
    """Print each warning once, with its place.

    Args:
        warnings: of any number of experiments.
        pointed_at: returns where a place is that the user did not write as a file.
    """
    if TALK.quiet:
        return
    for text in dict.fromkeys(pointed_at(warning.place).render() for warning in warnings):
        _show(text)


def show_remarks(shared: Iterable[SharedRemark]) -> None:
    """Print remarks to read before one believes the numbers of runs."""
    if TALK.quiet:
        return
    for own in shared:
        others = f" and {own.runs - 1} more runs" if own.runs > 1 else ""
        _show(f"{own.remark.message}\n  in {own.first}{others}\n  help: {own.remark.help}")


def _show(text: str) -> None:
    first, *rest = text.split("\n")
    err().print(Text("warning: ", style="bold yellow").append(first, style="bold default"), soft_wrap=True)
    for line in rest:
        err().print(Text(line), soft_wrap=True)
