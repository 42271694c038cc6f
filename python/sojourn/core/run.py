"""One run's results, fresh from the engine or read back from a results folder."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, Self

from sojourn import _core
from sojourn.core.extensions import METRICS
from sojourn.core.scenario import Scenario
from sojourn.core.store import Record, RunKey
from sojourn.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

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


Wanted = tuple[str | tuple[str, ...], Literal["mean", "least", "most"]]
"""A column, or several (the first with a value counts), and the number that stands for a step."""


class Steps(NamedTuple):
    """A flow or queue over time."""

    name: str
    """The texts that tell it apart, with a space between them."""
    t: list[float]
    """The middle of each step that has rows, s."""
    values: list[list[float]]
    """For each wanted column one number a step, NaN where no row has a value."""


Better = Literal["more", "less"]
"""Which of a metric's values is the better one."""


def harm(alone: float, shared: float, better: Better = "more") -> float:
    """Return the harm that rivals do to a value, as :meth:`Run.harm`.

    >>> harm(10.0, 4.0), harm(176.0, 339.0, "less"), harm(1.0, 2.0)
    (0.6, 0.4808259587020649, 0.0)
    """
    return _core.harm(alone, shared, better=better)


class _Source(Protocol):
    """Where a run's tables come from."""

    @property
    def names(self) -> list[str]: ...

    @property
    def answers(self) -> _core.Answers | None:
        """The answers that were computed when the run ended; None for an imported run."""

    def frame(self, name: str) -> "pl.DataFrame": ...

    def results(self, names: Sequence[str] | None = None) -> _core.Run:
        """Return these tables as metrics take them; all if None."""
        ...


class Run:
    """The data of a run: its scenario, and its tables as Polars frames; :class:`sojourn.Run` adds the views.

    Times are seconds from the run's origin; the unit of a column is in its name (``_s``, ``_bps``).
    """

    def __init__(self, key: RunKey, source: _Source, record: Record | None = None) -> None:
        self._key = key
        self._source = source
        self._record = record

    @classmethod
    def fresh(cls, key: RunKey, results: _core.Run) -> Self:
        """Return a run that an engine has just finished."""
        return cls(key, _Fresh(results))

    @classmethod
    def stored(cls, record: Record, key: RunKey | None = None) -> Self:
        """Return a run of a results folder; its tables are read on demand.

        Args:
            record: the stored run.
            key: its key, if the caller has it; its head is then read on demand, too.
        """
        return cls(record.key if key is None else key, _Stored(record), record)

    @property
    def record(self) -> Record | None:
        """The stored run; None if the run is not in a results folder."""
        return self._record

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
        return self._key.seed

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

    def table(self, name: str) -> "pl.DataFrame":
        """Return the table of this name; see :attr:`tables`.

        Raises:
            UsageError: if the run has no such table, with the nearest name.
        """
        self._known(name)
        return self._source.frame(name)

    def _known(self, table: str) -> None:
        if table not in self.tables:
            raise UsageError.unknown("table", table, self.tables, _core.renamed_table(table))

    def rows(self, table: str, *columns: str, only: Mapping[str, str] | None = None) -> list[list[Any]]:
        """Return columns of a table as lists, without a frame.

        Args:
            table: its name.
            columns: their names.
            only: keep the rows that have these texts, by column.

        Raises:
            UsageError: if the run has no such table.
        """
        self._known(table)
        return self._source.results([table]).rows(table, columns, only=list((only or {}).items()))

    def steps(
        self,
        table: str,
        step: float,
        *wanted: Wanted,
        by: Sequence[str] = (),
        only: Mapping[str, str] | None = None,
    ) -> list[Steps]:
        """Return a table over time in steps of equal length, a line for each flow or queue.

        Args:
            table: its name; it has the column ``t_s``. Rows before the origin are left out.
            step: the length of a step, s. A sample belongs to the step in which its interval ends.
            wanted: columns, and whether a step has their ``mean``, ``least`` or ``most``. Of several columns the first
                with a value counts.
            by: columns of text that tell the lines apart, as far as the table has them.
            only: keep the rows that have these texts, by column.

        Raises:
            UsageError: if the run has no such table.
        """
        self._known(table)
        pairs = [((columns,) if isinstance(columns, str) else columns, of) for columns, of in wanted]
        found = self._source.results([table]).steps(table, step, pairs, by=by, only=list((only or {}).items()))
        return [Steps(*own) for own in found]

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
        missing = self._source.results().not_recorded(expression)
        return missing and UsageError(missing[0], help=missing[1])

    def measure(self, expressions: Sequence[str]) -> list[float]:
        """Return the values of several metrics; quicker than one by one.

        Args:
            expressions: as in :meth:`metric`.
        """
        return [own.value for own in self.measured(expressions)]

    def measured(self, expressions: Sequence[str]) -> list[Measured]:
        """Return the values of several metrics, each with where it was measured.

        The stored answers have the usual ones; the others are computed from the tables, which are read only then.

        Args:
            expressions: as in :meth:`metric`.
        """
        answers = self._source.answers
        found: dict[str, Measured] = {}
        if answers is not None:
            found = {text: Measured(*known) for text in expressions if (known := answers.get(text)) is not None}
        rest = [text for text in dict.fromkeys(expressions) if text not in found and not _added(text)]
        if rest:
            states = "state." in " ".join(rest)
            results = self._source.results(None if states else [n for n in self.tables if not n.endswith("_state")])
            found |= {text: Measured(*own) for text, own in zip(rest, results.measure(rest), strict=True)}
        return [
            Measured(float(METRICS[text](self)), ()) if _added(text) and text not in found else found[text]
            for text in expressions
        ]

    @property
    def answers(self) -> _core.Answers:
        """The answers to the usual questions: as they were stored with the run, or computed now."""
        stored = self._source.answers
        return _core.answers_of(self._source.results()) if stored is None else stored

    def window(self, words: str = "") -> tuple[float, float] | None:
        """Return where metrics look: after the first of these times (s), up to the second; None if the run has no such.

        Args:
            words: as behind a metric, ``over last 20s`` or ``during NAME``; the default window if empty.

        Raises:
            UsageError: if that is no window, or one that the run does not have.
        """
        if not words and (answers := self._source.answers) is not None:
            return answers.window
        found = self._source.results().windows(words)
        return found[0] if found else None

    def harm(self, alone: "Run", metric: str, better: Better = "more") -> float:
        """Return the harm (Ware et al., HotNets 2019) that this run's rivals do to a metric, 0 to 1.

        If more is better, it is (alone - shared) / alone, otherwise (shared - alone) / shared; 0 if nothing got
        worse; NaN where a run has no value or there is nothing to measure by.

        Args:
            alone: the run without the rivals. Of two phases of one run: :func:`harm`.
            metric: as in :meth:`metric`; of something that both runs have.
            better: whether ``more`` or ``less`` of it is better.
        """
        return harm(alone.metric(metric), self.metric(metric), better)

    def checks(self) -> list[Check]:
        """Return what came of the experiment's checks in this run."""
        answers = self._source.answers
        return [Check(*found) for found in (self._source.results().checks() if answers is None else answers.checks)]

    @cached_property
    def flows(self) -> "pl.DataFrame":
        """Flows, one row per sample interval: rates (bit/s), RTT (s), cwnd (packets), counters since the start."""
        return self.table("flows")

    @cached_property
    def queues(self) -> "pl.DataFrame":
        """Queues, one row per sample interval: length, sojourn time (s), marks and drops since the start."""
        return self.table("queues")

    @cached_property
    def pings(self) -> "pl.DataFrame":
        """One row a probe packet: its RTT (s), NaN if it was lost."""
        return self.table("pings")

    @cached_property
    def events(self) -> "pl.DataFrame":
        """What happened and when: starts, ends, events."""
        return self.table("events")

    # Type checkers are not to believe that a run has attributes of any name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say what a table of earlier versions is called now."""
            raise AttributeError(_core.renamed_table(name) or f"a run has no {name!r}", name=name, obj=self)

    @cached_property
    def valid(self) -> bool:
        """Whether its numbers can carry a verdict: a run in real time may have lost its machine (docs/live.md)."""
        if "totals" not in self.tables:
            return True
        (values,) = self.rows("totals", "value", only={"subject": "live", "name": "valid"})
        return 0.0 not in values

    @cached_property
    def totals(self) -> "pl.DataFrame":
        """Counters at the end of the run."""
        return self.table("totals")

    def __repr__(self) -> str:
        """Return its label, its engine and its size."""
        flows = len(self.scenario.loads)
        size = f"{flows} flow{'s'[: flows != 1]}, {self.scenario.seconds:g} s"
        return f"<Run {self.label} on {self.engine}: {size}>"


class Column(NamedTuple):
    """A metric's values in several runs."""

    numbers: Sequence[float]
    """In base units, by run; NaN where a run has none."""
    sets: Sequence[Sequence[Span]]
    """Where they were measured: each different :attr:`Measured.windows` once. A single one is that of every run."""

    @property
    def windows(self) -> list[Span]:
        """Where they were measured: each place once."""
        return list(dict.fromkeys(span for own in self.sets for span in own))


def columns(runs: Sequence[Run], expressions: Sequence[str]) -> list[Column]:
    """Return the values of metrics in many runs; the stored answers of all are read at once.

    Args:
        runs: of any cells that have what the expressions name.
        expressions: as in :meth:`Run.metric`.
    """
    wanted = list(dict.fromkeys(expressions))
    found: dict[str, Column] = {}
    stored = _in_one_store(runs)
    if stored is not None and (read := stored[0].values(stored[1], wanted)) is not None:
        found = {text: Column(*own) for text, own in zip(wanted, read, strict=True) if own is not None}
    rest = [text for text in wanted if text not in found]
    by_run = [run.measured(rest) for run in runs] if rest else []
    for index, text in enumerate(rest):
        values = [own[index] for own in by_run]
        sets = dict.fromkeys(tuple(own.windows) for own in values)
        found[text] = Column([own.value for own in values], list(sets))
    return [found[text] for text in expressions]


QueueFacts = tuple[float, float, float, float, float]
"""Packets that came to a queue, were dropped or marked, left, waited, and the time that they spent there, s."""


def queue_facts(runs: Sequence[Run]) -> list[tuple[str, QueueFacts]]:
    """Return what became of packets in each queue, in these runs together."""
    stored = _in_one_store(runs)
    if stored is not None and (read := stored[0].queues(stored[1])) is not None:
        return read
    sums: dict[str, list[float]] = {}
    for run in runs:
        for path, facts in run.answers.queues:
            sums[path] = [a + b for a, b in zip(sums.get(path, (0.0,) * 5), facts, strict=True)]
    return [(path, (came, signalled, left, waited, s)) for path, (came, signalled, left, waited, s) in sums.items()]


def _in_one_store(runs: Sequence[Run]) -> tuple[_core.Store, list[str]] | None:
    """Return the store that has all of these runs, and their names; None if there is none."""
    records = [run.record for run in runs]
    first = records[0] if records else None
    if first is None:
        return None
    names = [own.name for own in records if own is not None and own.store is first.store]
    return (first.store, names) if len(names) == len(runs) else None


def _added(expression: str) -> bool:
    """Whether a metric is one that another distribution adds: a bare name, which the language has none of."""
    return expression.isidentifier() and expression in METRICS


class _Fresh:
    """Tables that the extension module holds; frames share their memory."""

    def __init__(self, results: _core.Run) -> None:
        self._results = results

    @cached_property
    def answers(self) -> _core.Answers:
        return _core.answers_of(self._results)

    @property
    def names(self) -> list[str]:
        return self._results.tables

    def frame(self, name: str) -> "pl.DataFrame":
        import polars as pl  # noqa: PLC0415 - reading answers needs no frames

        return pl.DataFrame(self._results.table(name))

    def results(self, names: Sequence[str] | None = None) -> _core.Run:
        del names
        return self._results


class _Stored:
    """Tables in a results folder."""

    __slots__ = ("_record",)

    def __init__(self, record: Record) -> None:
        self._record = record

    @property
    def answers(self) -> _core.Answers | None:
        return self._record.answers

    @property
    def names(self) -> list[str]:
        return self._record.tables

    def frame(self, name: str) -> "pl.DataFrame":
        return self._record.table(name)

    def results(self, names: Sequence[str] | None = None) -> _core.Run:
        return self._record.results(names)
