"""The result of a search, for people and for pipelines: a page, and a file that is a regression test."""

import copy
import math
import shlex
from collections.abc import Sequence
from typing import Any, Final

from sojourn import _core
from sojourn.search.campaign import Found
from sojourn.search.confirming import Confirmation
from sojourn.search.shrinking import SEEDS as SHRINKING_SEEDS
from sojourn.search.shrinking import Shrunk
from sojourn.search.written import text_of

SEEDS: Final = 5
"""Seeds of the regression test: the first of those that confirmed it."""

_SHOWN: Final = 20
_DIGITS: Final = 3


def quantity(metric: str, value: float) -> str:
    """Return a value as a check has it: with the unit that the metric's values have.

    >>> quantity("share(goodput, a)", 0.0214), quantity("goodput(a)", 1.5e6), quantity("p99(srtt, a)", 0.02)
    ('0.0214', '1500000bit', '20ms')
    """
    unit = _core.about(metric)[0]
    if unit == "s":
        return f"{round(value * 1e9)}ns" if abs(value) < 1e-6 else f"{value * 1e3:.12g}ms"  # noqa: PLR2004 - a us
    if unit == "bit/s":
        return f"{round(value)}bit"
    return f"{value:.12g}"


def outward(value: float, *, upward: bool) -> float:
    """Return a value of three digits that is no nearer to zero find.

    >>> outward(0.02143, upward=True), outward(0.02143, upward=False), outward(0.0, upward=True)
    (0.0215, 0.0214, 0.0)
    """
    if value == 0 or not math.isfinite(value):
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - _DIGITS + 1)
    rounded = (math.ceil if upward else math.floor)(value / step) * step
    return float(f"{rounded:.{_DIGITS}g}")


def regression_test(found: Found, shrunk: Shrunk, confirmed: Confirmation) -> str:
    """Return the scenario as an experiment file with a check that holds for as long as the find does.

    The bound is the find's, rounded outward, and the seeds are those of the fresh ones that reach it. Where none does,
    the file has the find and no check.
    """
    objective = found.objective
    tree: dict[str, Any] = copy.deepcopy(shrunk.tree)
    bound = outward(confirmed.bound, upward=objective.minimise)
    own = tree["experiment"]
    own["name"] = f"{own['name']}-found"
    own["about"] = f"Found by a search to {objective}"
    own["seeds"] = (confirmed.showing or list(confirmed.seeds))[:SEEDS]
    head = f"# Found by `sojourn search` ({objective}), seed {found.best.seed}, and made as simple as it still shows.\n"
    if not confirmed.is_confirmed:
        head += (
            f"# Not confirmed: of {len(confirmed.values)} fresh seeds {confirmed.stands} show it"
            f"{', those below' if confirmed.showing else ', and no check is here'}.\n"
        )
    if not confirmed.showing:
        return f"{head}\n{text_of(tree)}"
    tree["check"] = [
        {"name": "found", "that": f"{objective.metric} {objective.relation} {quantity(objective.metric, bound)}"}
    ]
    head += (
        "# The check holds for as long as the find shows. Once that is repaired, turn the relation round:\n"
        "# then the check fails if it comes back.\n\n"
    )
    return head + text_of(tree)


def as_json(found: Found, shrunk: Shrunk | None, confirmed: Sequence[Confirmation]) -> dict[str, Any]:
    """Return everything as JSON has it."""
    return {
        "objective": {"metric": found.objective.metric, "minimise": found.objective.minimise},
        "runs": found.trials.runs,
        "generations": found.generations,
        "start": found.start.json(),
        "best": found.best.json(),
        "archive": [{"kind": list(kind), **trial.json()} for kind, trial in found.archive.ranked],
        "shrunk": None
        if shrunk is None
        else {"value": shrunk.value, "bound": shrunk.bound, "steps": shrunk.steps, "file": shrunk.text},
        "confirmed": [
            {
                "engine": own.engine,
                "seeds": list(own.seeds),
                "values": list(own.values),
                "interval": own.interval if own.values else None,
                "stands": own.stands,
                "confirmed": own.is_confirmed,
                "refused": own.refused,
            }
            for own in confirmed
        ],
    }


def account(found: Found, shrunk: Shrunk | None, confirmed: Sequence[Confirmation]) -> str:
    """Return a page in Markdown."""
    objective, trials = found.objective, found.trials
    metric = objective.metric
    lines = [
        f"# {found.subject.file}: {objective}",
        "",
        (
            f"{trials.runs} runs in {found.generations} generations, seed {found.best.seed}. As the file is: "
            f"{found.start.value:.4g}. Most extreme: {found.best.value:.4g} (trial {found.best.number})."
        ),
        "",
        (
            "A search takes the most extreme of many values, so its value is more extreme than the scenario's median. "
            "The fresh seeds below give the median."
        ),
        "",
        "## The find",
        "",
        "| setting | value |",
        "|---|---|",
        *(f"| `{path}` | `{value}` |" for path, _, value in (own.partition("=") for own in found.best.settings)),
        "",
        f"    {command(found, found.best.settings)}",
        "",
    ]
    if shrunk is not None:
        lines += [
            "## The simplest that still shows it",
            "",
            (
                f"It shows it if the median of {SHRINKING_SEEDS} seeds is {objective.relation} {shrunk.bound:.4g}; "
                f"{shrunk.tried} scenarios were tried. Median: {shrunk.value:.4g}."
            ),
            "",
            *(f"- {step}" for step in shrunk.steps),
            "",
            "```toml",
            shrunk.text.rstrip(),
            "```",
            "",
        ]
    if confirmed:
        lines += ["## Fresh seeds", "", *(f"- {own}" for own in confirmed), ""]
    kinds = found.archive.ranked
    if kinds:
        names = [path for path, _, choice in found.searched.dimensions if choice]
        behaviour = found.searched.behaviour
        head = [metric, *(name for name, _ in behaviour), *names]
        lines += [
            "## The best of each kind",
            "",
            f"{len(kinds)} kind{'s'[: len(kinds) != 1]}" + (f", the first {_SHOWN}:" if len(kinds) > _SHOWN else ":"),
            "",
            f"| {' | '.join(head)} | trial |",
            "|" + "---|" * (len(head) + 1),
        ]
        for kind, trial in kinds[:_SHOWN]:
            values = [f"{value:.4g}" for value in (trial.value, *trial.behaviour)]
            choices = [str(own).partition("=")[2] for own in kind[: len(names)]]
            lines.append(f"| {' | '.join([*values, *choices])} | {trial.number} |")
        lines.append("")
    return "\n".join(lines)


def command(found: Found, settings: Sequence[str]) -> str:
    """Return the command that makes a run of the search again."""
    every = [*found.subject.settings, *settings, f"experiment.seeds=[{found.best.seed}]"]
    return shlex.join(
        ["sojourn", "run", found.subject.file, *(word for own in every for word in ("--set", own)), "-o", "DIR"]
    )
