"""A results folder as a report: one self-contained HTML page, and a Markdown page with pictures as files."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sojourn.core import cells as grouping
from sojourn.core.cells import Cell, natural
from sojourn.core.scenario import Scenario
from sojourn.core.store import Folder
from sojourn.core.store.atomic import write_file
from sojourn.errors import StoreError
from sojourn.evidence import claims
from sojourn.evidence.claims import ClaimVerdict
from sojourn.evidence.claims.page import ours, said
from sojourn.plotting.draw import panel, topology
from sojourn.plotting.draw.flows import looks
from sojourn.plotting.draw.series import panel_of, step_of
from sojourn.plotting.draw.sheet import Sheet
from sojourn.plotting.draw.svg import bounded, standalone
from sojourn.reporting import script
from sojourn.reporting.report.again import Experiments
from sojourn.views.checks import Tally, tally
from sojourn.views.html import legible
from sojourn.views.remarks import SharedRemark, shared_remarks
from sojourn.views.run import Run
from sojourn.views.summary import Headed, Value, columns_of, values_of, where_measured

if TYPE_CHECKING:
    import jinja2

PANELS: Final = 24
"""Cells that a page draws unless more are asked for: a second of computing, half a screen and 0.1 MB each."""

BAND_SEEDS: Final = 20
"""Seeds that a panel's band spans at most: the tables of each are read to draw it."""

_FEW: Final = 8
"""Below this many panels a pool of processes costs more than it gains."""


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell as the templates see it."""

    title: str
    anchor: str
    values: Sequence[Value]
    flows: Sequence[str]
    panel: str
    """SVG; empty if the cell is not drawn."""
    numbers: str
    """The picture's numbers, for the page's script."""
    file: str
    """Of the picture, in the Markdown page's folder."""
    again: str
    """The command that makes these runs again."""
    experiment: int | None
    """Which of the page's experiments opens it in the playground; None if none does."""


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim on a scenario."""

    name: str
    finding: str
    published: str
    ours: str
    verdict: str


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """A scenario as the templates see it."""

    name: str
    title: str
    anchor: str
    source: str
    what: str
    topology: str
    """SVG."""
    topology_file: str
    topology_of: str
    """The cell that it is drawn of; empty where there is only one."""
    axes: str
    drawn: str
    """The caption of the panels, or why there are none."""
    hidden: str
    """Why some cells have no panel, and the option that draws them; empty if each has one."""
    checks: Sequence[Tally]
    claims: Sequence[ClaimView]
    """Those on it; none where no report says anything of it."""
    cells: Sequence[CellView]

    @property
    def pictured(self) -> list[CellView]:
        """The cells that are drawn."""
        return [cell for cell in self.cells if cell.panel]

    @property
    def folded(self) -> list[CellView]:
        """The others."""
        return [cell for cell in self.cells if not cell.panel]


@dataclass(frozen=True, slots=True)
class Report:
    """All that the templates see."""

    title: str
    what: str
    reading: str
    columns: Sequence[Headed]
    scenarios: Sequence[ScenarioView]
    commands: Sequence[str]
    warnings: Sequence[str]
    """Legal settings of the experiments that may be unintended."""
    remarks: Sequence[SharedRemark]
    """Facts that the numbers of the results hide."""
    made_by: str
    several: bool
    """Whether a cell has several seeds."""
    experiments: str
    """What opens runs in the playground, as the page carries it; empty if no run can be opened there."""


def build(
    folder: Folder,
    *,
    experiments: Collection[str] | None = None,
    processes: int = 1,
    drawn: Callable[[int, int], None] | None = None,
    panels: int = PANELS,
) -> Report:
    """Read the runs of a folder and draw them.

    Args:
        folder: the results.
        experiments: their names (default: all).
        processes: how many draw at a time.
        drawn: called with the number of panels drawn and the number of all.
        panels: how many cells are drawn. Of more, each scenario has its part: cells that together have every label. The
            page folds the others.

    Raises:
        StoreError: if the folder has no runs, or a file in it is damaged.
    """
    records = [r for r in folder.records() if experiments is None or r.brief.experiment in experiments]
    if not records:
        raise StoreError(f"{folder.path} has no finished run", help="repeat the command that made it")
    found = grouping.group(Run.stored(record) for record in records)
    found.sort(key=lambda cell: (natural(cell.experiment), [natural(label) for _, label in cell.labels]))
    scenarios = []
    warnings = [text for record in records for text in record.key.warnings]
    try:
        verdicts = _verdicts(found)
    except StoreError as error:
        # Changed by --set, a scenario may lack what a claim asks for.
        verdicts = []
        warnings.append(f"The claims on these scenarios cannot be looked at: {error}")
    columns = columns_of(found)
    count = 0
    again = Experiments(folder)
    chosen = _chosen(found, panels)
    for experiment, members in groupby(found, key=lambda cell: cell.experiment):
        own = list(members)
        watch = partial(_watch, drawn, count, len(chosen))
        views = _draw(own, chosen, folder, columns, processes, watch, again)
        count += sum(cell.key in chosen for cell in own)
        scenarios.append(_scenario(experiment, own, views, verdicts))
    commands = list(dict.fromkeys(record.head["command"] for record in records))
    seeds = {len(cell.runs) for cell in found}
    return Report(
        title=_title(folder, scenarios),
        what=f"{_count(len(records), 'run')}, {_count(len(found), 'cell')} of {_count(len(scenarios), 'scenario')}, "
        f"{_several(seeds)} each, run by {', '.join(sorted({c.engine for c in found}))}.",
        reading=" ".join(part for part in (_READING, where_measured(found, columns)) if part),
        columns=columns,
        scenarios=scenarios,
        commands=commands,
        warnings=list(dict.fromkeys(warnings)),
        remarks=shared_remarks(run for cell in found for run in cell.runs),
        made_by=f"Made by Sojourn {folder.version}.",
        several=max(seeds) > 1,
        experiments=script.packed(again.carried()) if again.texts else "",
    )


def write(folder: Folder, report: Report) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.md`` into the folder; pictures go to ``report/``.

    Returns:
        The paths of the two pages.
    """
    pages = environment()
    page, markdown = folder.path / "report.html", folder.path / "report.md"
    pictures = folder.path / "report"
    try:
        pictures.mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot create {pictures}: {error.strerror}") from error
    for scenario in report.scenarios:
        write_file(folder.path / scenario.topology_file, standalone(scenario.topology).encode())
        for cell in scenario.pictured:
            write_file(folder.path / cell.file, standalone(cell.panel).encode())
    for path, template in ((page, "report.html.j2"), (markdown, "report.md.j2")):
        text = pages.get_template(template).render(report=report)
        write_file(path, legible(text).encode())
    return page, markdown


def environment() -> "jinja2.Environment":
    """Return what renders the templates."""
    import jinja2  # noqa: PLC0415 - only reports need it

    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn.reporting.report"),
        autoescape=jinja2.select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    pages.filters["inert"] = inert
    pages.filters["bounded"] = bounded
    pages.filters["data_block"] = script.data_block
    pages.globals |= {"script": script.script(), "answers": script.style(), "policy": script.policy()}
    return pages


def inert(text: object) -> str:
    r"""Return a text of a run as Markdown that is no HTML and stays in its line and its table's cell.

    >>> inert("a|b"), inert("<img src=x>"), inert("one\ntwo")
    ('a\\|b', '&lt;img src=x>', 'one two')
    """
    one_line = " ".join("".join(c for c in str(text) if c.isprintable() or c.isspace()).split())
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _watch(drawn: Callable[[int, int], None] | None, before: int, total: int, done: int) -> None:
    if drawn is not None:
        drawn(before + done, total)


_READING: Final = (
    "Each value is the mean over the measuring window of each run, and over the seeds; the line below it has the least "
    "and the greatest seed. Goodput is the payload that arrived; delays, marks and drops are "
    "those of each queue that matters: in which at least one packet in a thousand waited longer than 1 ms, was dropped "
    "or was marked. The queue with the longest waits comes first."
)


def _has_series(cell: Cell) -> bool:
    """Return whether its runs were stored with tables over time."""
    return all("flows" in run.tables for run in cell.runs[:BAND_SEEDS])


def _chosen(cells: Sequence[Cell], panels: int) -> set[str]:
    """Return the keys of the cells to draw: all with tables over time, or of each scenario its part of these panels."""
    found = [cell for cell in cells if _has_series(cell)]
    if len(found) <= panels:
        return {cell.key for cell in found}
    chosen: set[str] = set()
    for _, members in groupby(found, key=lambda cell: cell.experiment):
        own = list(members)
        part = max(1, panels * len(own) // len(found))
        seen: set[tuple[str, str]] = set()
        picked = []
        for cell in own:
            if not seen.issuperset(cell.labels):
                picked.append(cell.key)
                seen.update(cell.labels)
        # Those that bring no new label, from all over the scenario.
        others = [cell.key for cell in own if cell.key not in picked]
        more = max(part - len(picked), 0)
        picked += [others[number * len(others) // more] for number in range(min(more, len(others)))]
        chosen.update(picked[:part])
    return chosen


def _draw(
    own: Sequence[Cell],
    chosen: Collection[str],
    folder: Folder,
    columns: Sequence[Headed],
    processes: int,
    drawn: Callable[[int], None],
    again: Experiments,
) -> list[CellView]:
    """Draw those cells of one scenario that are chosen, on the same scales."""
    panels = [panel_of(replace(cell, runs=cell.runs[:BAND_SEEDS])) for cell in own if cell.key in chosen]
    if not panels:
        return [_cell(cell, ("", ""), folder, columns, again) for cell in own]
    scales = panel.Scales.over(panels)
    if processes > 1 and len(panels) >= _FEW:
        with ProcessPoolExecutor(processes) as pool:
            pictures = _counted(pool.map(_picture, panels, [scales] * len(panels)), drawn)
    else:
        pictures = _counted((_picture(p, scales) for p in panels), drawn)
    made = iter(pictures)
    return [_cell(cell, next(made) if cell.key in chosen else ("", ""), folder, columns, again) for cell in own]


def _picture(shown: panel.Panel, scales: panel.Scales) -> tuple[str, str]:
    return Sheet([panel.part(shown, scales)]).answering()


def _counted(pictures: Iterable[tuple[str, str]], drawn: Callable[[int], None]) -> list[tuple[str, str]]:
    done = []
    for number, picture in enumerate(pictures, 1):
        drawn(number)
        done.append(picture)
    return done


def _cell(
    cell: Cell, picture: tuple[str, str], folder: Folder, columns: Sequence[Headed], experiments: Experiments
) -> CellView:
    anchor = _anchor(f"{cell.experiment} {cell.title} {cell.engine}")
    flows = list(dict.fromkeys(look.key for look in looks(cell.scenario).values()))
    again = experiments.again(cell, folder.record(cell.runs[0].key))
    return CellView(
        title=cell.title,
        anchor=anchor,
        values=values_of(cell, columns),
        flows=flows,
        panel=picture[0],
        numbers=picture[1],
        file=f"report/{anchor}.svg",
        again=again.command,
        experiment=again.playground,
    )


def _verdicts(found: Sequence[Cell]) -> list[ClaimVerdict]:
    """Return the verdicts on the claims about the scenarios of these cells."""
    here = {cell.experiment for cell in found}
    asked = [claim for claim in claims.registry() if not here.isdisjoint(claim.experiments)]
    runs = [run for cell in found for run in cell.runs if run.scenario.experiment in _experiments(asked)]
    return claims.evaluate(asked, runs, seeds=claims.seeds_there(runs)) if asked else []


def _experiments(asked: Sequence[claims.Claim]) -> set[str]:
    return {experiment for claim in asked for experiment in claim.experiments}


def _scenario(
    experiment: str, own: Sequence[Cell], views: Sequence[CellView], verdicts: Sequence[ClaimVerdict]
) -> ScenarioView:
    first = own[0].scenario
    axes: dict[str, list[str]] = {axis: [] for axis, _ in own[0].labels}
    for cell in own:
        for axis, label in cell.labels:
            if label not in axes.setdefault(axis, []):
                axes[axis].append(label)
    anchor = _anchor(experiment)
    return ScenarioView(
        name=experiment,
        title=experiment,
        anchor=anchor,
        source=first["source"],
        what=_what(first, axes),
        topology=topology.draw(first),
        topology_file=f"report/{anchor}-topology.svg",
        topology_of=own[0].title if len(own) > 1 else "",
        axes=", ".join(axis for axis, labels in axes.items() if len(labels) > 1),
        drawn=_drawn(own),
        hidden=_hidden(own, sum(not view.panel for view in views)),
        checks=tally(run for cell in own for run in cell.runs),
        claims=[
            ClaimView(v.claim.id, v.claim.finding, v.claim.published, ours(v), said(v.verdict, v.cause))
            for v in verdicts
            if experiment in v.claim.experiments
        ],
        cells=views,
    )


def _what(scenario: Scenario, axes: dict[str, list[str]]) -> str:
    text = f"{scenario.seconds:g} s, stack {scenario['stack']}."
    varied = [f"{axis} ({', '.join(labels)})" for axis, labels in axes.items() if len(labels) > 1]
    return f"{text} One cell for each combination of {' and '.join(varied)}." if varied else text


def _hidden(own: Sequence[Cell], hidden: int) -> str:
    if not hidden:
        return ""
    cells = f"{hidden} of {_count(len(own), 'cell')} {'is' if hidden == 1 else 'are'} not drawn"
    if any(not _has_series(cell) for cell in own):
        return f"{cells}: the folder has no tables over time of them (--keep series stores them)"
    return f"{cells}: --panels {len(own)} draws all"


def _drawn(own: Sequence[Cell]) -> str:
    if not any(map(_has_series, own)):
        return (
            "The folder keeps summaries of these runs, without tables over time, so nothing is drawn. "
            "Run them into another folder with --keep series to see them over time."
        )
    step = step_of(own[0].scenario.seconds)
    seeds = {len(cell.runs) for cell in own}
    text = (
        f"Each point is the mean over {step:g} s. From above: throughput (TCP's delivery rate; other flows' "
        "goodput), smoothed RTT (its samples for a stack without one), and the mean delay of each queue that matters "
        "with the least and the greatest in each step. The scales are the same in all panels of the scenario, and "
        "logarithmic where the panels lie far apart. The measuring window is shaded."
    )
    if max(seeds) > 1:
        spanned = (
            f"the first {BAND_SEEDS} of {_several(seeds)}" if max(seeds) > BAND_SEEDS else f"all {_several(seeds)}"
        )
        text += f" The lines are those of the first seed; the bands span {spanned}."
    return text


def _title(folder: Folder, scenarios: Sequence[ScenarioView]) -> str:
    names = [s.name for s in scenarios]
    suites = list(dict.fromkeys(name.split("/")[0] for name in names))
    return f"{', '.join(suites) if len(names) > 1 else names[0]} — results in {folder.path.name}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _several(seeds: set[int]) -> str:
    low, high = min(seeds), max(seeds)
    return _count(high, "seed") if low == high else f"{low} to {high} seeds"


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9.=+]+", "-", text.lower()).strip("-.")
