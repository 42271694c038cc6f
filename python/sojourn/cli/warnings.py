"""What the command line says of legal settings that may not be what was meant."""

from collections.abc import Callable, Iterable

from rich.text import Text

from sojourn.cli.screen import TALK, err
from sojourn.errors import ExperimentError
from sojourn.experiments.warning import ExperimentWarning


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
    said = dict.fromkeys(pointed_at(warning.place).render() for warning in warnings)
    for text in said:
        first, *rest = text.split("\n")
        err().print(Text("warning: ", style="bold yellow").append(first, style="bold default"), soft_wrap=True)
        for line in rest:
            err().print(Text(line), soft_wrap=True)
