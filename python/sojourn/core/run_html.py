"""What notebooks show of a run: what it is, its flows, and a few numbers of each."""

from typing import Final

from sojourn.core import describe, html
from sojourn.core.run import Run
from sojourn.core.summary import FLOW_COLUMNS, number, numbers_of

_FLOWS_SHOWN: Final = 12


def shown(run: Run) -> str:
    """Return it as HTML."""
    flows = describe.loads(run.scenario)
    columns = numbers_of(run, FLOW_COLUMNS)
    heads = [f"{column.name}{f' ({column.unit})' if column.unit else ''}" for column in FLOW_COLUMNS]
    rows = [
        [str(flow["name"]), describe.sender(flow)]
        + [number(own[i], column.digits) for column, own in zip(FLOW_COLUMNS, columns, strict=True)]
        for i, flow in enumerate(flows[:_FLOWS_SHOWN])
    ]
    rest = len(flows) - len(rows)
    more = f"<div>… and {rest} more flows; <code>.flows</code> has all of them</div>" if rest > 0 else ""
    window = run.window()
    measured = f"; measured from {window[0]:.4g} s to {window[1]:.4g} s" if window else ""
    return (
        html.head("Run", f"{repr(run)[5:-1]}{measured}") + html.table(["flow", "sender", *heads], rows, left=2) + more
    )
