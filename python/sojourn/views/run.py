"""A run with its views: figures, remarks, and its display in a notebook."""

from typing import Final

from sojourn.core import run as data
from sojourn.core.extensions import Drawing
from sojourn.views import html
from sojourn.views.drawing import Figures, draw, figures
from sojourn.views.remarks import remarks
from sojourn.views.summary import COLUMNS, number, numbers_of

_FLOWS_SHOWN: Final = 12


class Run(data.Run):
    """A run: its scenario, and its tables as Polars frames.

    Times are seconds from the run's origin; the unit of a column is in its name (``_s``, ``_bps``).
    """

    @property
    def remarks(self) -> list[str]:
        """What its results say that its numbers hide, each with what helps.

        Flows that a buffer limits, rates that swing more slowly than the measuring window can see.
        """
        return [str(own) for own in remarks(self)]

    def plot(self, kind: str = "delivery", **options: object) -> Drawing:
        """Draw a figure of this run; a notebook shows it, ``.write(folder, name)`` keeps it with its numbers.

        Args:
            kind: one of :data:`sojourn.figures.KINDS` (default: the run over time).
            options: those of the kind, as ``sojourn plot KIND`` lists them; numbers, booleans and lists are understood.

        Raises:
            UsageError: if there is no such kind or option, or the run lacks what is to be shown.
        """
        return draw([self], kind, options)

    def figures(self) -> Figures:
        """Draw every kind of figure that can be drawn of this run, with the kinds' defaults; takes some seconds."""
        return figures([self])

    def _repr_html_(self) -> str:
        return _html(self)


def _html(run: data.Run) -> str:
    """Return a run's name, its flows, and a few numbers of each."""
    flows = run.scenario.loads
    columns = [column for column in COLUMNS if column.flows(run.scenario)]
    found = [
        dict(zip(column.flows(run.scenario), values, strict=True))
        for column, values in zip(columns, numbers_of(run, columns), strict=True)
    ]
    heads = [f"{column.name}{f' ({column.unit})' if column.unit else ''}" for column in columns]
    rows = [
        [str(flow["name"]), flow.sender]
        # What a kind of traffic has no value for stays empty.
        + [
            number(own[flow["name"]], column.digits) if flow["name"] in own else ""
            for column, own in zip(columns, found, strict=True)
        ]
        for flow in flows[:_FLOWS_SHOWN]
    ]
    rest = len(flows) - len(rows)
    more = f"<div>… and {rest} more flows; <code>.flows</code> has all of them</div>" if rest > 0 else ""
    window = run.window()
    measured = f"; measured from {window[0]:.4g} s to {window[1]:.4g} s" if window else ""
    return (
        html.head("Run", f"{repr(run)[5:-1]}{measured}") + html.table(["flow", "sender", *heads], rows, left=2) + more
    )
