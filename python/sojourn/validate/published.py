"""Published rows: what was run and what came out.

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

from dataclasses import dataclass
from pathlib import Path

from sojourn.validate.table import Entry, read

_NEEDED = ("rate_mbit", "qdisc", "cc1", "rtt1_ms", "d1_mbps")
_DEFAULT_WINDOW = 60.0


@dataclass(frozen=True, slots=True, order=True)
class Sender:
    """What tells one flow of a row from another."""

    cc: str
    """Congestion control, by Linux's name."""
    rtt_ms: float
    """Base RTT, ms."""
    bleached: bool = False
    """Whether its packets lose their ECN field on the way."""

    def __str__(self) -> str:
        """Return it as tables show it: ``cubic 20ms``."""
        return f"{self.cc}{'-noecn' if self.bleached else ''} {self.rtt_ms:g}ms"


@dataclass(frozen=True, slots=True)
class Row:
    """One published run."""

    line: int
    """In the file, from 1."""
    scenario: str
    rate_mbit: float
    queue: str
    """As the source calls it."""
    qdisc: str
    """In tc's words."""
    senders: tuple[Sender, ...]
    """One or two."""
    rates_mbps: tuple[float, ...]
    """Mean delivery rate of each sender's flow."""
    window_s: float
    length_s: float | None
    """None where it is not stated."""

    @property
    def total_mbps(self) -> float:
        """Their sum."""
        return sum(self.rates_mbps)

    def __str__(self) -> str:
        """Return it in one line."""
        return f"{self.rate_mbit:g} Mbit/s, {self.queue}, {' / '.join(str(s) for s in self.senders)}"


def read_published(file: Path) -> list[Row]:
    """Read a table of published rows.

    Raises:
        UsageError: if the file cannot be read or understood, naming line and column.
    """
    return [_row(entry) for entry in read(file, _NEEDED)]


def _row(entry: Entry) -> Row:
    flows = ["1", "2"] if entry.text("cc2") else ["1"]
    queue = entry.text("qdisc")
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
        rates_mbps=tuple(entry.number(f"d{n}_mbps") for n in flows),
        window_s=entry.number("window_s", _DEFAULT_WINDOW),
        length_s=entry.number("length_s") if entry.text("length_s") else None,
    )
