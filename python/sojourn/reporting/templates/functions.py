"""The functions that a template may call: one table, from which the documentation comes.

Other distributions add theirs as entry points of the group ``sojourn.report``
(:mod:`sojourn.core.extensions`): functions that take the page (:class:`Functions`; :meth:`Functions.runs` is for
them) and what the template gives, and return Markdown.
"""

# ruff: noqa: D102 - FUNCTIONS describes each function

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sojourn.core.cells import distinguished
from sojourn.core.extensions import REPORT
from sojourn.core.select import cells_of
from sojourn.core.spread import Spread
from sojourn.core.store.atomic import write_file
from sojourn.errors import UsageError
from sojourn.evidence.claims import ClaimVerdict
from sojourn.evidence.claims.page import not_elsewhere, ours, said
from sojourn.plotting.draw import topology as drawing
from sojourn.plotting.draw.svg import standalone
from sojourn.reporting.templates.results import PANEL, NotRun, Results
from sojourn.reporting.templates.sandbox import confined, read_text
from sojourn.views.results import Results as Runs
from sojourn.views.summary import COLUMNS, columns_of, number, values_of

_TABLE: Final = ("goodput_mbps", "jain", "utilisation_percent", "rtt_ms", "queue_delay_ms")
"""The columns of a scenario's table."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of templates."""

    call: str
    """Its parameters, as they are written."""
    meaning: str
    make: Callable[..., str]


class Functions:
    """The functions, bound to one page."""

    def __init__(self, results: Results, places: Sequence[Path]) -> None:
        self._results = results
        self.places = places
        """Where files may be included from: the template's folder, and that of the published ones."""
        self.shown: dict[str, str] = {}
        """The page's pictures, by path, with their text."""
        self.ready: dict[str, str] = {}
        """Those of them that are drawn already, as SVG elements."""

    def table(self) -> Mapping[str, Callable[..., str]]:
        """Return the functions by name."""
        added = {name: self._bound(Function(name, "", made)) for name, made in REPORT.items() if name not in FUNCTIONS}
        return {**added, **{name: self._bound(function) for name, function in FUNCTIONS.items()}}

    def runs(self, experiment: str, cells: str = "") -> Runs:
        """Return the runs of an experiment, or of some of its cells, for functions that others add.

        Args:
            experiment: its name, or several with ``+`` between them.
            cells: which: ``queue=pie,rtt=20ms``.

        Raises:
            NotRun: if the folder has none of them; the page then says what makes them.
            UsageError: if no cell of it fits, run or not.
        """
        return Runs(run for _, run in self._results.chosen(experiment, cells))

    def _bound(self, function: Function) -> Callable[..., str]:
        def call(*args: object, **kwargs: object) -> str:
            try:
                return function.make(self, *args, **kwargs)
            except NotRun as missing:
                return f"*not run: `sojourn run {missing} -o {shlex.quote(str(self._results.folder.path))}`*"

        return call

    def plot_inline(self, text: str, experiment: str, cell: str = "") -> str:
        path = self._results.picture(PANEL, experiment, cell, {})
        self.shown[path] = text
        return f"![{text}]({path})"

    def plot_link(self, text: str, experiment: str, cell: str = "") -> str:
        return f"[{text}]({self._results.picture(PANEL, experiment, cell, {})})"

    def chart_inline(self, text: str, kind: str, experiment: str, cells: str = "", **options: object) -> str:
        path = self._results.picture(kind, experiment, cells, {k: str(v) for k, v in options.items()})
        self.shown[path] = text
        return f"![{text}]({path})"

    def chart_link(self, text: str, kind: str, experiment: str, cells: str = "", **options: object) -> str:
        path = self._results.picture(kind, experiment, cells, {k: str(v) for k, v in options.items()})
        return f"[{text}]({path})"

    def batch_link(self, text: str, experiment: str, cell: str = "", file: str = "data") -> str:
        record, _ = self._results.chosen(experiment, cell)[0]
        found = self._results.files(record)
        if file not in found:
            raise UsageError.unknown(f"file of {record.name}", file, list(found))
        return f"[{text}]({found[file]})"

    def gen_table(self, experiment: str, cells: str = "", *, plots: bool = True, columns: str = "") -> str:
        own = self._results.chosen(experiment, cells)
        records = {id(run): record for record, run in own}
        names = columns.split() or list(_TABLE)
        known = {column.key: column for column in COLUMNS}
        for name in names:
            if name not in known:
                raise UsageError.unknown("column", name, list(known))
        grouped = cells_of(run for _, run in own)
        axes = list(dict.fromkeys(axis for cell in grouped for axis, _ in cell.labels)) or ["cell"]
        headed = columns_of(grouped, [known[name] for name in names])
        heads = [own.heading for own in headed]
        lines = [
            _row([*axes, *heads, "links"]),
            _row([*("---" for _ in axes), *("--:" for _ in heads), "---"]),
        ]
        for cell in grouped:
            labels = dict(cell.labels)
            shown = values_of(cell, headed)
            record = records[id(cell.runs[0])]
            links = [f"[{what}]({path})" for what, path in self._results.captures(record).items()]
            if plots:
                pattern = ",".join(f"{axis}={label}" for axis, label in cell.labels)
                links.insert(0, self.plot_link("plot", cell.experiment, pattern))
            lines.append(
                _row(
                    [
                        *(labels.get(axis, cell.title) for axis in axes),
                        *(f"{value.text} ({value.range})" if value.range else value.text for value in shown),
                        " ".join(links),
                    ]
                )
            )
        return "\n".join(lines)

    def metrics_table(self, experiment: str, cells: str = "", **metrics: object) -> str:
        own = self._results.chosen(experiment, cells)
        grouped = cells_of(run for _, run in own)
        axes = list(dict.fromkeys(axis for cell in grouped for axis, _ in cell.labels)) or ["cell"]
        lines = [
            _row([*axes, *(name.replace("_", " ") for name in metrics)]),
            _row([*("---" for _ in axes), *("--:" for _ in metrics)]),
        ]
        for cell in grouped:
            labels = dict(cell.labels)
            found = [run.measure([_metric(m)[0] for m in metrics.values()]) for run in cell.runs]
            shown = [_spread([values[i] for values in found], _metric(m)[1]) for i, m in enumerate(metrics.values())]
            lines.append(_row([*(labels.get(axis, cell.title) for axis in axes), *shown]))
        return "\n".join(lines)

    def value(self, metric: str, experiment: str, cell: str = "", scale: float = 1.0, digits: int = 1) -> str:
        own = self._results.chosen(experiment, cell)
        different = [
            ", ".join(f"{a}={label}" for a, label in apart) for apart, _ in distinguished(r for _, r in own) if apart
        ]
        if different:
            raise UsageError(
                f"these are several experiments of the name {experiment}: {'; '.join(different)}",
                help=f'name one of them: value(..., cell="{different[0].partition(", ")[0]}")',
            )
        values = [run.metric(metric) * scale for _, run in own]
        return _spread(values, (1.0, digits))

    def topology(self, experiment: str, cell: str = "") -> str:
        _, run = self._results.chosen(experiment, cell)[0]
        stem = experiment.replace("/", "-") + "-topology"
        path = f"{self._results.picture_folder}/{stem}.svg"
        svg = drawing.draw(run.scenario)
        self.shown[path] = f"The rig of {experiment}"
        self.ready[path] = svg
        write_file(self._results.folder.path / path, standalone(svg).encode())
        return f"![{self.shown[path]}]({path})"

    def verdict(self, claim: str) -> str:
        own = self._one(claim)
        return f"**{own.verdict}**{f' ({own.cause})' if own.cause else ''}"

    def finding(self, claim: str) -> str:
        own = self._one(claim)
        return f"{self.verdict(claim)}: published {own.claim.published}; ours {ours(own)} [{claim}]"

    def claims_table(self, which: str) -> str:
        found = {name: own for name, own in self._results.verdicts.items() if _listed(name, which)}
        if not found:
            raise UsageError.unknown("claim", which, list(self._results.verdicts))
        # A page on some of a source's scenarios has the claims on those.
        own_claims = {
            name: own for name, own in found.items() if set(own.claim.experiments) & self._results.runs.keys()
        }
        others = [f"- {line}" for line in not_elsewhere(list(own_claims.values()))]
        if len(own_claims) < len(found):
            others.append(f"- not run: {', '.join(name for name in found if name not in own_claims)}")
        if not own_claims:
            return "\n".join(others)
        lines = [_row(["claim", "finding", "published", "ours (bound)", "verdict"]), _row(["---"] * 5)]
        for name, own in own_claims.items():
            verdict = said(own.verdict, own.cause)
            lines.append(_row([name, own.claim.finding, own.claim.published, ours(own), verdict]))
        return "\n".join([*lines, "", *others] if others else lines)

    def risk_matrix(self, *risks: object) -> str:
        lines = [_row(["risk", "severity, measured", "likelihood, as the source states it"]), _row(["---"] * 3)]
        for risk in risks:
            if not isinstance(risk, (list, tuple)) or len(risk) != len(("risk", "claims", "likelihood")):
                raise UsageError("a risk is (name, claims, likelihood)")
            name, ids, likelihood = (str(part) for part in risk)
            severity = "; ".join(f"{i}: {ours(self._one(i))} - {self.verdict(i)}" for i in ids.split())
            lines.append(_row([name, severity, likelihood]))
        return "\n".join(lines)

    def _one(self, claim: str) -> ClaimVerdict:
        if claim not in self._results.verdicts:
            raise UsageError.unknown("claim", claim, list(self._results.verdicts))
        return self._results.verdicts[claim]

    def include(self, file: str) -> str:
        return read_text(confined(str(file), self.places)).rstrip()

    def commands(self) -> str:
        found = dict.fromkeys(record.head["command"] for own in self._results.own.values() for record, _ in own)
        return "\n".join(f"    {command}" for command in found)

    def runs_made(self) -> str:
        runs = [run for own in self._results.own.values() for _, run in own]
        seconds = math.fsum(run.scenario.length for run in runs)
        experiments = len(self._results.own)
        return f"{len(runs)} runs of {experiments} experiments, {seconds / 3600:.1f} simulated hours"


def _row(parts: "list[str]") -> str:
    return "| " + " | ".join(part.replace("|", "\\|").replace("\n", " ") for part in parts) + " |"


def _metric(given: object) -> tuple[str, tuple[float, int]]:
    """A metric of ``metrics_table``: an expression, or (expression, scale, digits)."""
    if isinstance(given, (list, tuple)):
        expression, scale, digits = given
        return str(expression), (float(scale), int(digits))
    return str(given), (1.0, 3)


def _spread(values: "list[float]", form: tuple[float, int]) -> str:
    scale, digits = form
    own = Spread.of(values).scaled(scale)
    if not own.seeds:
        return "–"
    low, mean, high = (number(v, digits) for v in (own.low, own.mean, own.high))
    return mean if low == high else f"{mean} ({low}–{high})"


def _listed(name: str, which: str) -> bool:
    return name in which.split() or any(name.startswith(word) for word in which.split() if word.endswith("-"))


FUNCTIONS: Final[Mapping[str, Function]] = {
    "plot_inline": Function(
        'plot_inline(text, experiment, cell="")',
        "Shows a run over time: delivery rate and RTT of each flow, queue delay below. `cell` chooses it by the labels "
        'of its axes: `"queue=pie,rival=reno-ecn"`.',
        Functions.plot_inline,
    ),
    "plot_link": Function('plot_link(text, experiment, cell="")', "Links to that picture.", Functions.plot_link),
    "chart_inline": Function(
        'chart_inline(text, kind, experiment, cells="", option=value, ...)',
        "Shows a figure of any kind (docs/figures.md) of the cells chosen; several experiments are joined with `+`.",
        Functions.chart_inline,
    ),
    "chart_link": Function(
        'chart_link(text, kind, experiment, cells="", option=value, ...)', "Links to that figure.", Functions.chart_link
    ),
    "batch_link": Function(
        'batch_link(text, experiment, cell="", file="data")',
        "Links to a file of a run: `data` is its folder; `setup`, `teardown` and `server pcap` where they are kept.",
        Functions.batch_link,
    ),
    "gen_table": Function(
        'gen_table(experiment, cells="", plots=True, columns="")',
        "The table of a scenario: its parameters, steady-state rates, fairness, delays, and links to plot and data. "
        f"`columns` are names of the summary's columns (default: `{' '.join(_TABLE)}`).",
        Functions.gen_table,
    ),
    "metrics_table": Function(
        'metrics_table(experiment, cells="", name=metric, ...)',
        "A table of any metrics (docs/metrics.md): an expression, or `(expression, scale, digits)`. Each value is the "
        "mean over the seeds with the least and the greatest.",
        Functions.metrics_table,
    ),
    "value": Function(
        'value(metric, experiment, cell="", scale=1, digits=1)',
        "One number in the text: the mean over the seeds with the least and the greatest.",
        Functions.value,
    ),
    "topology": Function('topology(experiment, cell="")', "Draws the testbed.", Functions.topology),
    "verdict": Function("verdict(claim)", "The verdict on a claim (docs/claims.md).", Functions.verdict),
    "finding": Function(
        "finding(claim)", "The result of a claim in a sentence: verdict, published figure, ours.", Functions.finding
    ),
    "claims_table": Function(
        "claims_table(which)",
        'Claims on experiments in the folder, with their verdicts: ids, or prefixes such as `"OVER-"`; '
        "below, the witnesses of those not reproduced, and those not run.",
        Functions.claims_table,
    ),
    "risk_matrix": Function(
        'risk_matrix((name, "CLAIM ...", likelihood), ...)',
        "Risks: the severity that the claims measure, and the source's likelihood.",
        Functions.risk_matrix,
    ),
    "include": Function("include(file)", "The text of another file in the template's folder.", Functions.include),
    "commands": Function(
        "commands()",
        "The commands that made the runs (of the suite with the template's name, if it exists).",
        Functions.commands,
    ),
    "runs_made": Function(
        "runs_made()", "The number of runs (of that suite), and their total duration.", Functions.runs_made
    ),
}
"""Every function by its name."""


def reference() -> str:
    """Return the functions as a Markdown table."""
    lines = [_row(["function", "output"]), _row(["---", "---"])]
    lines += [_row([f"`{function.call}`", function.meaning]) for function in FUNCTIONS.values()]
    return "\n".join(lines)
