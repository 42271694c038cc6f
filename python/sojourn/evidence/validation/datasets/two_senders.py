"""Mean delivery rates of one or two flows that run all the time: l4s-tests' scenarios 1 and 6, and tables like them.

Columns that are understood (others are passed over):

=============== ======================================================================================
``rate_mbit``   the bottleneck's rate, Mbit/s
``qdisc``       the queue as the source calls it; rows are grouped by it
``qdisc_tc``    the queue in tc's words; ``qdisc`` if it is not there
``cc1 cc2``     the congestion controls; ``cc2`` empty for one flow
``cc1_label``   the sender as the source calls it; ``...-noecn`` says that ECN is bleached on its way
``rtt1_ms``     base RTT, ms (and ``rtt2_ms``)
``d1_mbps``     mean delivery rate, Mbit/s (and ``d2_mbps``)
``window_s``    the window that it was taken over, s, ending 1 s before the flow's last sample; 60 if not there
``length_s``    how long the run was, s; runs of another length are not matched
``scenario``    the source's name for the scenario; shown
=============== ======================================================================================
"""

from collections.abc import Sequence
from typing import Final

from sojourn.evidence.validation.rows import Row, Sender, delivery_rate
from sojourn.evidence.validation.table import Entry

NEEDED: Final = ("rate_mbit", "qdisc", "cc1", "rtt1_ms", "d1_mbps")
_DEFAULT_WINDOW: Final = 60.0


def rows(entries: Sequence[Entry]) -> list[Row]:
    """Return a row a line."""
    return [_row(entry) for entry in entries]


def _row(entry: Entry) -> Row:
    flows = ["1", "2"] if entry.text("cc2") else ["1"]
    queue = entry.text("qdisc")
    window = f"over last {entry.number('window_s', _DEFAULT_WINDOW):g}s before 1s"
    return Row(
        line=entry.line,
        scenario=entry.text("scenario"),
        rate_mbit=entry.number("rate_mbit"),
        queue=queue,
        qdisc=entry.text("qdisc_tc", queue),
        senders=tuple(
            Sender(
                entry.text(f"cc{n}"),
                entry.number(f"rtt{n}_ms"),
                bleached=entry.text(f"cc{n}_label").endswith("-noecn"),
            )
            for n in flows
        ),
        figures=tuple(delivery_rate(i, entry.number(f"d{n}_mbps"), window) for i, n in enumerate(flows)),
        length_s=entry.number("length_s") if entry.text("length_s") else None,
    )
