"""One run's results, fresh from the engine or read back from a results folder."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, Self

import polars as pl

from sojourn import _core
from sojourn.core.extensions import METRICS
from sojourn.core.scenario import Scenario
from sojourn.core.store import Record, RunKey
from sojourn.errors import StoreError, UsageError

Span = tuple[float, float]
"""After the first of these times, up to the second, s."""


class Check(NamedTuple):
    """What came of a check in a run."""

    name: str
    said: str
    """In words: ``23.50 >= 10: passed``."""
    passed: bool | None
    """None where the run gives it no value."""
    windows: Sequence[Span]
    """Where it looks, s, as :attr:`Measured.windows`."""


class Measured(NamedTuple):
    """A metric's value in a run."""

    value: float
    """In base units; NaN where the run has none."""
    windows: Sequence[Span]
    """Where it was measured: after the first of these times (s), up to the second; several where its flows end apart or
    it is made of metrics that look elsewhere. Empty for a metric that another distribution adds."""


Better = Literal["more", "less"]
"""Which of a metric's values is the better one."""


def harm(alone: float, beside: float, better: Better = "more") -> float:
    """Return the harm that rivals do to a value, as :meth:`Run.harm`.

    >>> harm(10.0, 4.0), harm(176.0, 339.0, "less"), harm(1.0, 2.0)
    (0.6, 0.4808259587020649, 0.0)
    """
    return _core.harm(alone, beside, better=better)


_WINDOWS = ("events",)
"""Tables that tell when phases were."""


class _Source(Protocol):
    """Where a run's tables come from."""

    @property
    def names(self) -> list[str]: ...

    @property
    def remarks(self) -> Sequence[Mapping[str, Any]] | None:
        """What was said of the results when they were stored; None if nothing was."""

    def frame(self, name: str) -> pl.DataFrame: ...

    def results(self, names: Iterable[str]) -> _core.Run: ...


class Run:
    """The data of a run: what was run, and its tables as Polars frames; :class:`sojourn.Run` adds the views.

    Times are seconds from the run's origin; the unit of a column is in its name (``_s``, ``_bps``).
    """

    def __init__(self, key: RunKey, source: _Source) -> None:
        self._key = key
        self._source = source

    @classmethod
    def fresh(cls, key: RunKey, results: _core.Run) -> Self:
        """Return a run that an engine has just finished."""
        return cls(key, _Fresh(results))

    @classmethod
    def stored(cls, record: Record) -> Self:
        """Return a run of a results folder; tables are read when they are asked for."""
        return cls(record.key, _Stored(record))

    @property
    def label(self) -> str:
        """How people call it: ``s1[fq_codel,20ms]#3``."""
        return self._key.label

    @property
    def scenario(self) -> Scenario:
        """The whole scenario, as it is stored."""
        return self._key.scenario

    @property
    def seed(self) -> int:
        """The seed of its random streams."""
        return self.scenario.seed

    @property
    def engine(self) -> str:
        """The engine that ran it."""
        return self._key.engine

    @property
    def key(self) -> RunKey:
        """What identifies it."""
        return self._key

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return self._source.names

    def table(self, name: str) -> pl.DataFrame:
        """Return the table of this name; see :attr:`tables`.

        Raises:
            UsageError: if the run has no such table, with the nearest name.
        """
        if name not in self.tables:
            raise UsageError.unknown("table", name, self.tables, _core.renamed_table(name))
        return self._source.frame(name)

    def metric(self, expression: str) -> float:
        """Return the value of a metric, in base units (s, bit/s, packets); NaN where the run has none.

        Args:
            expression: a metric of the experiment language: ``ratio(delivery_rate, a, b)``,
                ``p99(sojourn, bottleneck.down.qdisc) over steady``; or the name of one that another distribution
                adds (:data:`sojourn.core.extensions.METRICS`).

        Raises:
            UsageError: if the expression is wrong, names what the run does not have, or asks for delays that it did not
                keep.
        """
        value = self.measure([expression])[0]
        if math.isnan(value) and (missing := self.not_recorded(expression)):
            raise missing
        return value

    def not_recorded(self, expression: str) -> UsageError | None:
        """Return why a metric has no value that the run could have had, with what to write to have it.

        Args:
            expression: as in :meth:`metric`.
        """
        if _added(expression):
            return None
        missing = self._source.results(self.tables).not_recorded(expression)
        return missing and UsageError(missing[0], help=missing[1])

    def measure(self, expressions: Sequence[str], tables: Iterable[str] | None = None) -> list[float]:
        """Return the values of several metrics; quicker than one by one.

        Args:
            expressions: as in :meth:`metric`.
            tables: the tables that they need, for those who know; all unless given.
        """
        return [own.value for own in self.measured(expressions, tables)]

    def measured(self, expressions: Sequence[str], tables: Iterable[str] | None = None) -> list[Measured]:
        """Return the values of several metrics, each with where it was measured.

        Args:
            expressions: as in :meth:`metric`.
            tables: as in :meth:`measure`.
        """
        ours = [expression for expression in expressions if not _added(expression)]
        found = iter(self._source.results(self.tables if tables is None else tables).measure(ours) if ours else ())
        return [Measured(float(METRICS[e](self)), ()) if _added(e) else Measured(*next(found)) for e in expressions]

    @property
    def stored_remarks(self) -> Sequence[Mapping[str, Any]] | None:
        """The remarks as they were stored with it; None if it was stored without, or not at all."""
        return self._source.remarks

    def swing(self) -> tuple[list[str], bool, float, tuple[float, float]] | None:
        """Return the flows whose rates swing so slowly that the default window holds fewer than two of their periods.

        Returns:
            The flows' names, whether they are two that alternate, the period (s), and the window (s); None if none do.
        """
        return self._source.results([name for name in ("flows", "events") if name in self.tables]).swing()

    def window(self, words: str = "") -> tuple[float, float] | None:
        """Return where metrics look: after the first of these times (s), up to the second; None if the run has no such.

        Args:
            words: as behind a metric, ``over last 20s`` or ``during NAME``; the default window if empty.

        Raises:
            UsageError: if that is no window, or one that the run does not have.
        """
        found = self._source.results([name for name in _WINDOWS if name in self.tables]).windows(words)
        return found[0] if found else None

    def harm(self, alone: "Run", metric: str, better: Better = "more") -> float:
        """Return the harm (Ware et al., HotNets 2019) that this run's rivals do to a metric, 0 to 1.

        With more better it is (alone - beside) / alone, with less better (beside - alone) / beside; 0 if nothing got
        worse; NaN where a run has no value or there is nothing to measure by.

        Args:
            alone: the run without the rivals. Of two phases of one run: :func:`harm`.
            metric: as in :meth:`metric`; of something that both runs have.
            better: whether ``more`` or ``less`` of it is better.
        """
        return harm(alone.metric(metric), self.metric(metric), better)

    def checks(self) -> list[Check]:
        """Return what came of the experiment's checks in this run."""
        asked = [check["that"] for check in self.scenario["checks"]]
        if not asked:
            return []
        # The controllers' own numbers are by far the largest tables, and seldom asked for.
        whole = any("state." in that for that in asked)
        tables = [name for name in self.tables if whole or not name.endswith("_state")]
        return [Check(*found) for found in self._source.results(tables).checks()]

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Flows, one row per sample interval: rates (bit/s), RTT (s), cwnd (packets), counters since the start."""
        return self.table("flows")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Queues, one row per sample interval: length, sojourn time (s), marks and drops since the start."""
        return self.table("queues")

    @cached_property
    def pings(self) -> pl.DataFrame:
        """One row a probe packet: its RTT (s), NaN if it was lost."""
        return self.table("pings")

    @cached_property
    def events(self) -> pl.DataFrame:
        """What happened and when: starts, ends, events."""
        return self.table("events")

    # Type checkers are not to believe that a run has attributes of any name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say what a table of earlier versions is called now."""
            raise AttributeError(_core.renamed_table(name) or f"a run has no {name!r}", name=name, obj=self)

    @cached_property
    def totals(self) -> pl.DataFrame:
        """Counters at the end of the run."""
        return self.table("totals")

    def __repr__(self) -> str:
        """Return its label, its engine and its size."""
        flows = len(self.scenario.loads)
        size = f"{flows} flow{'s'[: flows != 1]}, {self.scenario.seconds:g} s"
        return f"<Run {self.label} on {self.engine}: {size}>"


def _added(expression: str) -> bool:
    """Whether a metric is one that another distribution adds: a bare name, which the language has none of."""
    return expression.isidentifier() and expression in METRICS


class _Fresh:
    """Tables that the extension module holds; frames share their memory."""

    remarks = None

    def __init__(self, results: _core.Run) -> None:
        self._results = results

    @property
    def names(self) -> list[str]:
        return self._results.tables

    def frame(self, name: str) -> pl.DataFrame:
        return pl.DataFrame(self._results.table(name))

    def results(self, names: Iterable[str]) -> _core.Run:
        del names
        return self._results


class _Stored:
    """Tables in a results folder."""

    def __init__(self, record: Record) -> None:
        self._record = record

    @property
    def names(self) -> list[str]:
        return self._record.tables

    @property
    def remarks(self) -> Sequence[Mapping[str, Any]] | None:
        return self._record.remarks

    def frame(self, name: str) -> pl.DataFrame:
        return self._record.table(name)

    def results(self, names: Iterable[str]) -> _core.Run:
        key = self._record.key
        tables = {name: self._record.table(name) for name in names if name in self._record.tables}
        try:
            return _core.Run(key.resolved, key.engine, key.version, tables)
        except ValueError as error:
            raise StoreError(
                f"{self._record.path}: {error}", help="it was written by another Sojourn; make the run again"
            ) from error
