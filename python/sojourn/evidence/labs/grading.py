"""The mark of a student's experiment, out of :data:`FULL` points, with an explanation of each.

One point is for the setup: apart from the settings that the lab leaves free, the experiment is the lab's own. Without
it nothing else counts, because other results would answer another question. Six points are for the lab's goals: metrics
of cases, each judged on :data:`SEEDS` seeds. A goal counts in full if its bound holds with every seed, half if with
some. Three points are for the student's own checks. A check counts if it holds in its case with every seed, and fails
with every seed in another case: a check that cannot fail shows nothing.

The marks are deterministic: seeds are fixed, and the file's own are ignored. A student's file is data. The module
refuses plugins, classes and programs, which would run the student's code, before it reads the file as an experiment.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn import _core
from sojourn.errors import UsageError
from sojourn.evidence.labs.registry import AXIS, Goal, Lab, lab, labs
from sojourn.experiments.experiment import parse

SEEDS: Final = 6
"""Seeds of each case: the smallest number for a range that contains the median with 95 % confidence."""
FULL: Final = 10
SETUP: Final = 1
CHECKS: Final = 3
"""Checks that count, a point each."""
_MOST_DIFFERENCES: Final = 3
"""Differences from the lab's setup that the explanation lists."""


@dataclass(frozen=True, slots=True)
class Item:
    """A part of the mark."""

    what: str
    points: float
    of: int
    why: str
    """What was found, and what to do about it if points are missing."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one file."""

    lab: str
    items: Sequence[Item]

    @property
    def points(self) -> float:
        """Points that the file gets."""
        return sum(item.points for item in self.items)

    @property
    def of(self) -> int:
        """Points that a perfect file would get."""
        return sum(item.of for item in self.items)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The runs of a case."""

    values: Mapping[str, Sequence[float]]
    """Of each metric, seed by seed."""
    checks: Mapping[str, Sequence[bool | None]]
    """Of each of the student's checks, seed by seed: whether it holds; None if a run has no value."""


def mark(file: Path, name: str | None = None, *, threads: int = 1) -> Mark:
    """Mark a student's file.

    Args:
        file: the experiment.
        name: the lab; by default, the one with the name of the experiment.
        threads: runs at a time; the mark does not depend on it.

    Raises:
        ExperimentError: if the file is no experiment, with the place and the remedy.
        UsageError: if it cannot be read, belongs to no lab, or would run code.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}", help="name an experiment file") from None
    _refuse_code(file, text)
    experiment = parse(text, str(file), folder=file.resolve().parent)
    own = _which(file, experiment.name, name)
    scenarios = {dict(key.scenario.labels).get(AXIS, ""): json.loads(key.resolved.json) for key in experiment.run_keys}
    setup = _setup(own, scenarios, [len(key.scenario.labels) for key in experiment.run_keys])
    if not setup.points:
        rest = FULL - SETUP
        skipped = "not judged: the results would answer another question. Repair the setup first."
        return Mark(own.name, [setup, Item("goals and checks", 0, rest, skipped)])
    wrong = dict(_wrong_kinds(own, scenarios))
    seen = _run(own, scenarios, threads)
    goals = [_goal(goal, seen[goal.case], wrong.get(goal.case)) for goal in own.goals]
    return Mark(own.name, [setup, *goals, *_checks(scenarios, seen)])


def _which(file: Path, experiment: str, name: str | None) -> Lab:
    if name is not None:
        return lab(name)
    if experiment not in labs():
        raise UsageError(
            f'{file}: the experiment "{experiment}" belongs to no lab',
            help=f"keep the name of the starting file, or choose a lab by --lab: {', '.join(labs())}",
        )
    return lab(experiment)


def _refuse_code(file: Path, text: str) -> None:
    """Refuse a file that would run code of its author's when it is read or run."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # The language reports it, with its place.
    for path, value in _leaves(tree):
        last = re.split(r"[.\[]", path)[-1]
        computed = "${" in value and last in {"cc", "qdisc", "netem", "plugins", "middlebox"}
        if "plugins" in path or re.search(r"\bprogram\b", path) or "python:" in value or computed:
            raise UsageError(
                f"{file}: {path} is not allowed in a lab: it could run code of the file's author",
                help="use the queues and congestion controls that Sojourn has, by their names",
            )


def _leaves(tree: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value of a tree as text, with its path."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, list):
        for value in tree:
            yield from _leaves(value, path)
        if not tree:
            yield path, ""
    else:
        yield path, str(tree)


def _setup(own: Lab, scenarios: Mapping[str, Any], axes: Sequence[int]) -> Item:
    """Compare all that the lab does not leave free with its starting file."""
    what = "setup: the line, the flows and the measuring window of the lab"
    if any(count != 1 for count in axes) or list(scenarios) != own.cases:
        labels = ", ".join(own.cases)
        why = f"the experiment must have one axis, `{AXIS}`, with the labels {labels}, in this order, and nothing else"
        return Item(what, 0, SETUP, why)
    start = parse(own.start, f"{own.name}.start.toml")
    given = {dict(key.scenario.labels)[AXIS]: json.loads(key.resolved.json) for key in start.run_keys}
    differing: list[str] = []
    for case in own.cases:
        wanted, found = (_flat(_kept(own.free, own_of[case])) for own_of in (given, scenarios))
        differing += (
            f"{path} is {found.get(path, 'missing')}, in the lab {wanted.get(path, 'not set')}"
            for path in dict.fromkeys([*wanted, *found])
            if wanted.get(path) != found.get(path)
        )
    if not differing:
        return Item(what, SETUP, SETUP, "unchanged")
    listed = list(dict.fromkeys(differing))
    more = f"; and {len(listed) - _MOST_DIFFERENCES} more" if len(listed) > _MOST_DIFFERENCES else ""
    free = " and ".join(f"`{path}`" for path in own.free)
    return Item(what, 0, SETUP, f"{'; '.join(listed[:_MOST_DIFFERENCES])}{more}. Change {free} only")


def _kept(free: Sequence[str], scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario without the settings that are free, and without what names and judges it."""
    kept: dict[str, Any] = json.loads(json.dumps(scenario))
    for key in ("experiment", "source", "seed", "checks", "cell"):
        kept.pop(key, None)
    for path in free:
        table, name, *side, setting = path.split(".")
        for hop in kept["hops"] if table == "hop" else ():
            if hop["name"] == name:
                for direction in side or ("down", "up"):
                    for element in hop[direction]:
                        element.pop(setting, None)
        for flow in kept["flows"] if table == "flow" else ():
            if flow["name"] == name:
                flow["traffic"].pop(setting, None)
    return kept


def _flat(tree: object, path: str = "") -> dict[str, str]:
    """Return every value by its path; parts of lists by their names."""
    if isinstance(tree, Mapping):
        parts = {f"{path}.{key}" if path else str(key): value for key, value in tree.items()}
    elif isinstance(tree, list) and all(isinstance(own, Mapping) and "name" in own for own in tree):
        parts = {f"{path}.{own['name']}": {k: v for k, v in own.items() if k != "name"} for own in tree}
    else:
        return {path: str(tree)}
    return {inner: value for key, own in parts.items() for inner, value in _flat(own, key).items()}


def _wrong_kinds(own: Lab, scenarios: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the cases that use another queue, control or host than they must, with the reason."""
    for kind in own.kinds:
        for setting, wanted in kind.settings.items():
            found = _used(scenarios[kind.case], setting)
            if found != wanted:
                yield kind.case, f"this case must have {_said(setting, wanted)}; the file has {found}"


def _said(setting: str, wanted: str) -> str:
    names = {"qdisc": "the queue", "cc": "the congestion control", "host_qdisc": "the host's queue"}
    return f"{names[setting]} `{wanted}`"


def _used(scenario: Mapping[str, Any], setting: str) -> str:
    """Return the name of the bottleneck's queue, or a setting of the first flow."""
    if setting == "qdisc":
        queues = [element for hop in scenario["hops"] for element in hop["down"] if element["kind"] == "queue"]
        return str(queues[0]["qdisc"]).split()[0]
    return str(scenario["flows"][0]["traffic"].get(setting, "none")).split()[0]


def _run(own: Lab, scenarios: Mapping[str, Any], threads: int) -> dict[str, _Seen]:
    """Run every case with every seed, and every case with the checks of all."""
    checks = list({check["that"]: check for scenario in scenarios.values() for check in scenario["checks"]}.values())
    keys = [(case, seed) for case in own.cases for seed in range(1, SEEDS + 1)]
    built = []
    for case, seed in keys:
        tree = {**scenarios[case], "checks": [{"that": own["that"]} for own in checks]}
        built.append(_core.Scenario(json.dumps(tree)).with_seed(seed))
    found: dict[int, _core.Run] = {}
    failed: list[str] = []

    def keep(at: int, run: Any) -> None:  # noqa: ANN401 - a run, or the reason why there is none
        if isinstance(run, _core.Run):
            found[at] = run
        else:
            failed.append(str(run))

    _core.run_many(built, threads=threads, on_done=keep)
    if failed:
        raise UsageError(f"a run failed: {failed[0]}", help="run the file by `sojourn run` for the whole message")
    seen = {}
    for case in own.cases:
        runs = [found[at] for at, (which, _) in enumerate(keys) if which == case]
        metrics = list(dict.fromkeys(goal.value for goal in own.goals if goal.case == case))
        measured = [[value for value, _ in run.measure(metrics)] for run in runs]
        values = {metric: [row[at] for row in measured] for at, metric in enumerate(metrics)}
        verdicts = [[passed for _, _, passed, _ in run.checks()] for run in runs]
        seen[case] = _Seen(values, {own["that"]: [row[at] for row in verdicts] for at, own in enumerate(checks)})
    return seen


def _goal(goal: Goal, seen: _Seen, wrong: str | None) -> Item:
    what = f"{goal.case}: {goal.what} {goal.bound.text}"
    if wrong:
        return Item(what, 0, goal.points, wrong)
    values = seen.values[goal.value]
    bound = goal.bound
    held = sum(bound.holds(value) for value in values)
    unit = f" {bound.unit}" if bound.unit else ""
    low, high = bound.show(min(values)), bound.show(max(values))
    measured = f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
    if held == len(values):
        return Item(what, goal.points, goal.points, f"{measured} over {len(values)} seeds")
    if held:
        why = f"{measured}: holds with {held} of {len(values)} seeds, so chance decides. {goal.hint}"
        return Item(what, goal.points / 2, goal.points, why)
    return Item(what, 0, goal.points, f"{measured} over {len(values)} seeds. {goal.hint}")


def _checks(scenarios: Mapping[str, Any], seen: Mapping[str, _Seen]) -> list[Item]:
    """Return an item for each check that can count."""
    where: dict[str, list[str]] = {}
    for case, scenario in scenarios.items():
        for check in scenario["checks"]:
            where.setdefault(check["that"], []).append(case)
    judged = [_check(that, cases, seen) for that, cases in where.items()]
    # The best count: a student who writes more checks loses nothing by one that fails.
    items = sorted(judged, key=lambda item: -item.points)[:CHECKS]
    missing = CHECKS - len(items)
    if missing:
        why = (
            "write a [[check]] that predicts a result of one case: "
            f'that = "METRIC < VALUE", only = {{ {AXIS} = "{next(iter(scenarios))}" }}'
        )
        items.append(Item(f"{missing} more check{'s' if missing > 1 else ''} of your own", 0, missing, why))
    return items


def _check(that: str, cases: Sequence[str], seen: Mapping[str, _Seen]) -> Item:
    what = f"your check {that} ({', '.join(cases)})"
    for case in cases:
        own = seen[case].checks[that]
        if None in own:
            return Item(what, 0, 1, f"it has no value in {case}: look up the metric's name")
        if not all(own):
            return Item(what, 0, 1, f"it fails in {case} with {own.count(False)} of {len(own)} seeds")
    others = [case for case in seen if case not in cases]
    telling = [case for case in others if seen[case].checks[that] and not any(seen[case].checks[that])]
    if telling:
        return Item(what, 1, 1, f"it holds with every seed, and fails in {telling[0]}: it tells the cases apart")
    if not others:
        return Item(
            what, 0, 1, f"it is for every case: restrict it by only = {{ {AXIS} = ... }} to the one it predicts"
        )
    return Item(what, 0, 1, f"it holds in {others[0]}, too: a check that cannot fail shows nothing. Tighten its bound")
