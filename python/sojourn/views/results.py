"""Runs together: one frame over all of them, metrics by cell and seed, figures."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

from sojourn import _core
from sojourn.core import run as data
from sojourn.core.cells import Cell, distinguished
from sojourn.core.extensions import Drawing
from sojourn.core.select import cells_of, labelled, select
from sojourn.core.store import Folder
from sojourn.errors import UsageError
from sojourn.views import html
from sojourn.views.drawing import Figures, draw, figures
from sojourn.views.run import Run
from sojourn.views.summary import columns_of, values_of
from sojourn.views.summary_table import USUAL, Asked, SummaryTable
from sojourn.views.window import spans_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

_CELLS_SHOWN: Final = 8


class Results(Sequence[Run]):
    """Runs of any number of cells, in order.

    A sequence of runs: ``results[0]``, ``len(results)``, ``for run in results``. Methods on all runs return a frame
    the axes, ``cell``, ``seed`` and ``engine`` as its first columns. An axis with the name of one of these columns
    becomes ``axis.NAME``.

    >>> import sojourn
    >>> results = sojourn.Experiment.dumbbell(qdisc=["pfifo", "fq_codel"], flows=["cubic", "reno"], duration="2s").run()
    >>> results
    <Results: 2 runs in 2 cells on sim>
    >>> results.frame("flows").columns[:6]
    ['qdisc', 'cell', 'seed', 'engine', 't_s', 'flow']
    >>> results.metric("utilisation({queue})").select("qdisc", "seed").rows()
    [('fq_codel', 1), ('pfifo', 1)]
    >>> results.select(qdisc="pfifo")[0]
    <Run dumbbell[pfifo]#1 on sim: 2 flows, 2 s>
    >>> results.plot("fairness", rate="goodput").data.columns
    ['scenario', 'engine', 'qdisc', 'flow', 'sender', 'base_rtt_ms', 'goodput_mbps', 'low', 'high', 'seeds']
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = list(runs)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> "Results":
        """Return every finished run of a results folder; tables are read when they are asked for.

        Raises:
            StoreError: if it is no results folder, or one of another format, or a file in it is damaged.
        """
        return cls(Run.stored(record) for record in Folder.open(folder).records())

    def scan(self, table: str) -> "pl.LazyFrame":
        """Return :meth:`frame` for a query of Polars.

        Args:
            table: ``flows``, ``queues``, …

        Raises:
            UsageError: if a run has no such table.
        """
        return self.frame(table).lazy()

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> "Results": ...
    def __getitem__(self, index: int | slice) -> "Run | Results":
        return Results(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __add__(self, other: Iterable[Run]) -> "Results":
        """Return both together: those of two engines, for example."""
        return Results([*self._runs, *other])

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells in the natural order of their labels; the runs of one differ by their seeds."""
        return cells_of(self._runs)

    @cached_property
    def _labels_by_run(self) -> dict[int, dict[str, str]]:
        """The labels of each run's axes, and every difference other than the seed from the other runs of its cell."""
        return {
            id(run): {**dict(run.scenario.labels), **dict(apart)} for apart, own in distinguished(self) for run in own
        }

    @property
    def axes(self) -> dict[str, list[str]]:
        """The labels of each axis of the experiments, in order."""
        found: dict[str, dict[str, None]] = {}
        for run in self._runs:
            for axis, label in self._labels_by_run[id(run)].items():
                found.setdefault(axis, {})[label] = None
        return {axis: list(labels) for axis, labels in found.items()}

    def select(self, pattern: str = "", **labels: str) -> "Results":
        """Return some of the runs.

        Args:
            pattern: as for ``--cell``: ``queue=dualpi2,rtt=20*``, or a part of a run's name.
            labels: labels by axis, the same another way: ``queue="dualpi2", rtt="20*"``; also ``scenario``, ``engine``
                and ``seed``.

        Raises:
            UsageError: if there are none, with the nearest name.
        """
        chosen: Sequence[Run] = self._runs
        for part in (pattern, *(f"{axis}={label}" for axis, label in labels.items())):
            chosen = select(chosen, part)
        return Results(chosen)

    def frame(self, table: str) -> "pl.DataFrame":
        """Return one table of all runs; the table of flows includes their limits (``limits``, docs/results.md).

        Args:
            table: its name; see :attr:`sojourn.Run.tables`.

        Raises:
            UsageError: if no run has a table of this name, with the nearest.
        """
        import polars as pl  # noqa: PLC0415 - reading answers needs no frames

        frames = []
        for run in self._runs:
            if table in run.tables:
                own = _with_limits(run) if table == "flows" else run.table(table)
                labels = _labels(run, self._labels_by_run[id(run)], own.columns)
                frames.append(own.select(*(_column(name, value) for name, value in labels.items()), pl.all()))
        if not frames:
            known = list(dict.fromkeys(name for run in self._runs for name in run.tables))
            raise UsageError.unknown("table", table, known, _core.renamed_table(table))
        return pl.concat(frames, how="diagonal")

    def metric(self, expression: str) -> "pl.DataFrame":
        """Return a metric of every run, in base units.

        Its columns are the axes, ``cell``, ``seed``, ``engine``, ``value`` and ``window_s``, where it was measured:
        ``39 to 59``.

        Args:
            expression: as for :meth:`sojourn.Run.metric`; ``{flow}`` stands for each flow that carries data and
                ``{queue}`` for the bottleneck, and then the column ``of`` says which flow it is, and which queue where
                data passes several.

        Raises:
            UsageError: if the expression is wrong, or what it needs was recorded in no run.
        """
        import polars as pl  # noqa: PLC0415 - reading answers needs no frames

        asked = Asked(expression, expression)
        rows: list[dict[str, object]] = []
        missing: UsageError | None = None
        by_cell = [(cell, asked.of(cell)) for cell in self.cells]
        by_flow = "{flow}" in expression or any(of for _, wanted in by_cell for of, _ in wanted)
        for cell, wanted in by_cell:
            texts = [own for _, own in wanted]
            found = data.columns(cell.runs, texts)
            alike = all(len(own.sets) == 1 for own in found)
            for index, run in enumerate(cell.runs):
                values = [(c.numbers[index], c.sets[0]) for c in found] if alike else run.measured(texts)
                for (of, own), (value, windows) in zip(wanted, values, strict=True):
                    if math.isnan(value) and missing is None:
                        missing = run.not_recorded(own)
                    named = {"of": of} if by_flow else {}
                    labels = _labels(run, self._labels_by_run[id(run)], ["value", "window_s", *named])
                    rows.append({**labels, **named, "value": value, "window_s": spans_text(windows)})
        if missing is not None and all(math.isnan(float(str(row["value"]))) for row in rows):
            raise missing
        # Of the types that the columns of frame() have, so that the two can be joined.
        return pl.DataFrame(rows, infer_schema_length=None).with_columns(
            pl.col(pl.String).cast(pl.Categorical), pl.col(pl.Int64).cast(pl.UInt64)
        )

    def summary(self) -> "pl.DataFrame":
        """Return the usual metrics of every cell: mean, least and greatest over the seeds."""
        return SummaryTable.of(self._runs, USUAL).frame()

    def to_pandas(self, table: str) -> "pd.DataFrame":
        """Return :meth:`frame` as a frame of pandas; pyarrow is not needed.

        Raises:
            UsageError: if pandas is not installed, or no run has such a table.
        """
        return _to_pandas(self.frame(table))

    def plot(self, kind: str = "delivery", **options: object) -> Drawing:
        """Draw a figure of all runs; a notebook shows it, ``.write(folder, name)`` keeps it with its numbers.

        Args:
            kind: one of :data:`sojourn.figures.KINDS` (default: each cell over time).
            options: those of the kind, as ``sojourn plot KIND`` lists them; numbers, booleans and lists are understood.

        Raises:
            UsageError: if there is no such kind or option, or the runs lack what is to be shown.
        """
        return draw(self._runs, kind, options)

    def figures(self) -> Figures:
        """Draw every kind of figure that can be drawn of these runs, with the kinds' defaults; takes some seconds."""
        return figures(self._runs)

    def __repr__(self) -> str:
        """Return how much there is."""
        return f"<Results: {_count(self)}>"

    def _repr_html_(self) -> str:
        shown = self.cells[:_CELLS_SHOWN]
        columns = columns_of(shown)
        rows = [
            [f"{cell.experiment} {cell.title}" if cell.labels else cell.experiment]
            + [value.text for value in values_of(cell, columns)]
            + [str(len(cell.runs))]
            for cell in shown
        ]
        rest = len(self.cells) - len(shown)
        more = f"<div>… and {rest} more cells; <code>.summary()</code> has all of them</div>" if rest > 0 else ""
        return (
            html.head("Results", _count(self))
            + html.axes(self.axes)
            + html.table(["cell", *(column.heading for column in columns), "seeds"], rows)
            + more
        )


def results(folder: str | os.PathLike[str]) -> "Results":
    """Return every finished run of a results folder, as :meth:`Results.open`."""
    return Results.open(folder)


def _with_limits(run: Run) -> "pl.DataFrame":
    """Return a run's flows with what limited those that are one connection."""
    import polars as pl  # noqa: PLC0415 - reading answers needs no frames

    flows = run.table("flows")
    if "limits" not in run.tables:
        return flows
    keys = ["t_s", "flow"]
    limits = run.table("limits").with_columns(pl.col("flow").cast(pl.String))
    joined = flows.with_columns(pl.col("flow").cast(pl.String)).join(limits, on=keys, how="left", maintain_order="left")
    return joined.with_columns(flows["flow"])


def _count(of: Results) -> str:
    cells, engines = len(of.cells), sorted({run.engine for run in of})
    by = f" on {' and '.join(engines)}" if engines else ""
    return f"{len(of)} run{'s'[: len(of) != 1]} in {cells} cell{'s'[: cells != 1]}{by}"


def _labels(run: data.Run, axes: Mapping[str, str], columns: Sequence[str]) -> dict[str, object]:
    """Return the columns that identify a run, in addition to those of a table."""
    own: dict[str, object] = {"cell": run.label.rpartition("#")[0], "seed": run.seed, "engine": run.engine}
    rows = labelled(axes, {**own, **dict.fromkeys(columns)})
    return {name: value for name, value in rows.items() if name not in columns}


def _column(name: str, value: object) -> "pl.Expr":
    import polars as pl  # noqa: PLC0415 - reading answers needs no frames

    dtype = pl.Categorical() if isinstance(value, str) else pl.UInt64()
    return pl.lit(value, dtype=dtype).alias(name)


def _to_pandas(frame: "pl.DataFrame") -> "pd.DataFrame":
    import polars as pl  # noqa: PLC0415 - reading answers needs no frames

    try:
        import pandas as pd  # noqa: PLC0415 - only those who want it have it
    except ImportError as error:
        raise UsageError("pandas is not installed", help="pip install pandas; pyarrow is not needed") from error
    columns: dict[str, Any] = {}
    for series in frame:
        if series.dtype == pl.Categorical:
            labels = series.cast(pl.String).unique(maintain_order=True).drop_nulls()
            codes = series.cast(pl.String).cast(pl.Enum(labels)).to_physical().cast(pl.Int32).fill_null(-1)
            columns[series.name] = pd.Categorical.from_codes(codes.to_list(), categories=labels.to_list())
        elif series.dtype == pl.String:
            columns[series.name] = series.to_list()
        else:
            columns[series.name] = series.to_numpy()
    return pd.DataFrame(columns)
