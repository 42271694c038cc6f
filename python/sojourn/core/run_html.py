"""What notebooks show of a run: what it is, its flows, and a few numbers of each."""

from typing import Final

from sojourn.core import describe, html
from sojourn.core.run import Run
from sojourn.core.summary import COLUMNS, number, numbers_of

_FLOWS_SHOWN: Final = 12


def shown(run: Run) -> str:
    """Return it as HTML."""
    flows = describe.loads(run.scenario)
    columns = [column for column in COLUMNS if column.flows(run.scenario)]
    found = [
        dict(zip(column.flows(run.scenario), values, strict=True))
        for column, values in zip(columns, numbers_of(run, columns), strict=True)
    ]
    heads = [f"{column.name}{f' ({column.unit})' if column.unit else ''}" for column in columns]
    rows = [
        [str(flow["name"]), describe.sender(flow)]
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
