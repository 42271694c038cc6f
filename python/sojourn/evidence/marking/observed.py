"""What came out of a run: the queue's length and delay, and by flow what arrived, marked or not, and what did not."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from sojourn.evidence.marking.stimuli import FRAME
from sojourn.views.run import Run

Floats = npt.NDArray[np.float64]

QUEUE = "bottleneck.down.qdisc"


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow's packets in each step: how many arrived, of those how many with CE, and how many were lost."""

    arrived: Floats
    marked: Floats
    lost: Floats

    @property
    def offered(self) -> Floats:
        """What came to the queue and was decided on in each step."""
        return self.arrived + self.lost


@dataclass(frozen=True, slots=True)
class Observed:
    """A run, step by step."""

    seed: int
    t: Floats
    """The ends of the steps, s."""
    bytes: Floats
    """Length of the queue at the end of each step."""
    delay: Floats
    """Mean time that the packets waited that left in each step, s; as before where none left."""
    marks: Floats
    drops: Floats
    """Of the queue, in each step."""
    sent: Floats
    """Packets that left in each step."""
    flows: Mapping[str, Flow]

    @property
    def signals(self) -> Floats:
        """Marks and drops of the queue in each step."""
        return self.marks + self.drops

    @property
    def entered(self) -> Floats:
        """Packets that came to the queue in each step, those that it dropped included."""
        return self.left + np.diff(self.bytes, prepend=0.0) / FRAME

    @property
    def left(self) -> Floats:
        """Packets that were taken off the queue in each step, those that it dropped included."""
        return self.sent + self.drops

    def flow(self, name: str = "load") -> Flow:
        """Return a flow."""
        return self.flows[name]

    def first(self, what: Floats, after: float = 0.0) -> float:
        """Return when something first happened after a time; NaN if never."""
        found = np.flatnonzero((what > 0) & (self.t > after))
        return float(self.t[found[0]]) if len(found) else float("nan")

    def times(self, what: Floats) -> Floats:
        """Return the time of each event, those of one step all at its end."""
        return np.repeat(self.t, np.maximum(what, 0).astype(np.int64))

    def within(self, since: float, until: float) -> npt.NDArray[np.bool_]:
        """Return which steps end after the first time, up to the second."""
        return (self.t > since) & (self.t <= until)


def observed(run: Run, *, on_kernel: bool = False) -> Observed:
    """Return what came out of a run, by a kernel's own queue or by one of ours."""
    queue = pl.DataFrame(run.table("queues")).filter(pl.col("queue").cast(pl.String) == QUEUE).sort("t_s")
    flows = pl.DataFrame(run.table("flows"))
    t = queue["t_s"].to_numpy()
    delay = queue["sojourn_mean_s"].fill_nan(None).fill_null(strategy="forward").fill_null(0.0).to_numpy()

    def steps(column: pl.Series) -> Floats:
        return np.diff(column.to_numpy().astype(np.float64), prepend=0.0)

    own: dict[str, Flow] = {}
    for (name,), table in flows.group_by(pl.col("flow").cast(pl.String)):
        at = pl.DataFrame({"t_s": t}).join_asof(table.sort("t_s"), on="t_s")
        counts = {key: steps(at[key].fill_null(0)) for key in ("delivered", "ce", "lost")}
        own[str(name)] = Flow(counts["delivered"], counts["ce"], counts["lost"])
    return Observed(
        seed=run.seed,
        t=t,
        bytes=queue["bytes"].to_numpy().astype(np.float64),
        delay=delay,
        marks=steps(_counted(run, queue) if on_kernel else queue["marks"]),
        drops=steps(queue["drops"]),
        sent=steps(queue["sent_packets"]),
        flows=own,
    )


def _counted(run: Run, queue: pl.DataFrame) -> pl.Series:
    """Return the marks of a kernel's queue until each step.

    The engine finds a mark where its packet leaves, which is late for a queue that marks at the door. So a
    discipline's only count of marks goes first. DualPI2 has two, and a packet may be in both.
    """
    signals = pl.DataFrame(run.table("queue_signals")).filter(
        (pl.col("queue").cast(pl.String) == QUEUE) & (pl.col("kind").cast(pl.String) == "mark")
    )
    if signals["reason"].n_unique() != 1:
        return queue["marks"]
    return queue.select("t_s").join_asof(signals.sort("t_s"), on="t_s")["count"].fill_null(0)
