"""Runs drawn by the name of a kind of figure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sojourn.core.extensions import FIGURES, Drawing
from sojourn.errors import UsageError


class Figures(dict[str, Drawing]):
    """Figures by kind; a notebook shows them below one another."""

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{kind}</h4>{drawn._repr_html_()}" for kind, drawn in self.items())

    def __repr__(self) -> str:
        """Return the kinds."""
        return f"<Figures: {', '.join(self)}>"


def draw(runs: Sequence[Any], kind: str, options: Mapping[str, object]) -> Drawing:
    """Draw one figure.

    Args:
        runs: any number, of any cells.
        kind: its name.
        options: those of the kind.

    Raises:
        UsageError: if there is no such kind or option, or the runs lack what is to be shown.
    """
    drawn: Drawing = FIGURES.find(kind).draw(runs, {name: option_text(value) for name, value in options.items()})
    return drawn


def figures(runs: Sequence[Any]) -> Figures:
    """Draw every kind that these runs have the data for."""
    drawn = Figures()
    for kind in FIGURES:
        try:
            drawn[kind] = draw(runs, kind, {})
        except UsageError:
            continue
    return drawn


def option_text(value: object) -> str:
    """Return an option as kinds of figures read it.

    >>> option_text(True), option_text(0.5), option_text(["rate", "rtt"]), option_text(None)
    ('yes', '0.5', 'rate,rtt', '')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case float():
            return f"{value:g}"
        case Iterable():
            return ",".join(option_text(part) for part in value)
        case _:
            return str(value)
