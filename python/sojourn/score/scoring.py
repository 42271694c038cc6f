"""A set run with a control, and the one number.

The number is 100 times three quarters of the mean score of the cells and a quarter of *robustness*, the mean of the
worst quarter. Every cell has every part that it can have, so a control cannot trade one against the other by going to
an extreme: one that sends nothing, and one that leaves nothing to others, has nothing.

Invariant: the number depends on the control, the set and the build alone: no time limit decides, unless a hook never
returns.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from sojourn import _core, runner
from sojourn.custom import watchdog
from sojourn.errors import Interrupted, SojournError, UsageError
from sojourn.evidence.evaluation.subject import Subject
from sojourn.score import judging, sets
from sojourn.score.judging import PARTS, Verdict

LOOKS: Final = 3
"""Seconds that a hook in Python may take. Hooks take microseconds; one that takes longer is taken for endless."""

PATIENCE_S: Final = 120.0
"""How long the whole set may take in a process of its own: nothing else interrupts a plugin that never returns."""

_WORST: Final = 4
"""Robustness is of the worst quarter."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a control on a set."""

    control: str
    on: str
    version: str
    """The build: scores of different builds do not compare."""
    verdicts: Sequence[Verdict]

    @property
    def parts(self) -> dict[str, float]:
        """The mean of each part over the cells that have it, and robustness; 0 to 1."""
        means = {
            part: fmean(own)
            for part in PARTS
            if (own := [verdict.parts[part] for verdict in self.verdicts if part in verdict.parts])
        }
        ranked = sorted(verdict.score for verdict in self.verdicts)
        return {**means, "robustness": fmean(ranked[: max(1, len(ranked) // _WORST)])}

    @property
    def number(self) -> float:
        """The score, 0 to 100."""
        mean = fmean(verdict.score for verdict in self.verdicts)
        return 100 * (0.75 * mean + 0.25 * self.parts["robustness"])

    @property
    def failures(self) -> Sequence[Verdict]:
        """The cells with a run that did not end."""
        return [verdict for verdict in self.verdicts if verdict.failed]

    def json(self) -> dict[str, Any]:
        """Return it for pipelines."""
        return {
            "control": self.control,
            "set": self.on,
            "score": self.number,
            "parts": self.parts,
            "cells": [
                {"case": own.case, "seed": own.seed, "score": own.score, "parts": dict(own.parts), "failed": own.failed}
                for own in self.verdicts
            ],
            "version": self.version,
        }


def score(
    control: str,
    *,
    on: str = "train",
    plugins: Sequence[str] = (),
    settings: Sequence[str] = (),
    threads: int = 1,
) -> Score:
    """Return the score of a control, as `cc` of the experiment language names it.

    A control in Python that raises, answers nonsense or does not return has no parts in that cell; after one that did
    not return the other cells are not tried. A plugin is native code: it runs in a process of its own, and a crash of
    it costs the cells.

    Args:
        control: ``cubic``, ``bbr3 drain_gain 0.35``, ``python:FILE:CLASS``, or a plugin's name.
        on: a set: one of :data:`sojourn.score.SETS`, or an experiment file with a flow ``tested``.
        plugins: shared libraries with controls.
        settings: changes of the set, as ``--set`` takes them.
        threads: runs at a time; the score does not depend on it.

    Raises:
        UsageError: if there is no such control or set.
    """
    if plugins and not _is_child():
        return _elsewhere(control, on=on, plugins=plugins, settings=settings)
    word = _absolute(control)
    if not word.startswith("python:"):
        # The set has the control in several places; here a wrong name has one.
        Subject(word, "cc").check(engine="sim", plugins=plugins)
    with watchdog.patience(LOOKS):
        try:
            own = sets.read(on, word, settings, plugins)
        except SojournError as error:
            # A file that is there and does not load is a control that crashes.
            if not (word.startswith("python:") and Path(_file_of(word)).is_file()):
                raise
            broken = [judging.failed(key.scenario, error.message) for key in sets.read(on, None, settings).run_keys]
            return Score(control, on, _core.version("sim"), broken)
        keys = own.run_keys
        runner.refuse(keys, engine="sim")
        verdicts: list[Verdict | None] = [None] * len(keys)
        if word.startswith("python:"):
            _one_by_one([key.resolved for key in keys], verdicts, [key.scenario for key in keys])
        else:
            _together([key.resolved for key in keys], verdicts, [key.scenario for key in keys], threads)
    done = [verdict or judging.failed(key.scenario, "not tried") for verdict, key in zip(verdicts, keys, strict=True)]
    return Score(control, on, _core.version("sim"), done)


def _collect(
    verdicts: list[Verdict | None], scenarios: Sequence[Any], offset: int = 0
) -> Callable[[int, "_core.Run | SojournError | None"], object]:
    def done(index: int, run: "_core.Run | SojournError | None") -> None:
        scenario = scenarios[offset + index]
        if isinstance(run, SojournError):
            if isinstance(run, Interrupted):
                return
            verdicts[offset + index] = judging.failed(scenario, run.message.splitlines()[0])
        elif run is not None:
            verdicts[offset + index] = judging.judge(scenario, run)

    return done


def _together(
    runs: Sequence[_core.Scenario], verdicts: list[Verdict | None], scenarios: Sequence[Any], threads: int
) -> None:
    _core.run_many(runs, engine="sim", threads=threads, on_done=_collect(verdicts, scenarios))


def _one_by_one(runs: Sequence[_core.Scenario], verdicts: list[Verdict | None], scenarios: Sequence[Any]) -> None:
    for index, run in enumerate(runs):
        _core.run_many([run], engine="sim", threads=1, on_done=_collect(verdicts, scenarios, index))
        verdict = verdicts[index]
        if verdict is not None and watchdog.MESSAGE in verdict.failed:
            return


def _absolute(control: str) -> str:
    """Return a control with the place of its Python file written out, which a set's folder does not change."""
    if not control.startswith("python:"):
        return control
    file = _file_of(control)
    return f"python:{Path(file).absolute()}{control.removeprefix(f'python:{file}')}"


def _file_of(control: str) -> str:
    """Return the file of a control in Python.

    >>> _file_of("python:mine.py:Mine"), _file_of("python:mine.py")
    ('mine.py', 'mine.py')
    """
    rest = control.removeprefix("python:")
    return rest.rpartition(":")[0] or rest


_CHILD: Final = "SOJOURN_SCORE_HERE"


def _is_child() -> bool:
    return _CHILD in os.environ


def _elsewhere(control: str, *, on: str, plugins: Sequence[str], settings: Sequence[str]) -> Score:
    """Score a plugin in a process of its own."""
    command = [sys.executable, "-m", "sojourn", "score", control, "--on", on, "--json"]
    command += [word for plugin in plugins for word in ("--plugin", plugin)]
    command += [word for setting in settings for word in ("--set", setting)]
    why = ""
    try:
        done = subprocess.run(  # noqa: S603 - this program itself
            command,
            env={**os.environ, _CHILD: "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        why = f"the plugin did not return within {PATIENCE_S:g} s"
    else:
        if done.returncode == 0:
            return _of_json(json.loads(done.stdout))
        if done.returncode > 0:
            message, _, help_ = done.stderr.strip().removeprefix("error: ").partition("\n")
            raise UsageError(message, help=help_.strip().removeprefix("help: ") or None)
        why = f"the plugin ended the process with signal {-done.returncode}"
    own = sets.read(on, None, settings)
    verdicts = [judging.failed(key.scenario, why) for key in own.run_keys]
    return Score(control, on, _core.version("sim"), verdicts)


def _of_json(said: Mapping[str, Any]) -> Score:
    verdicts = [Verdict(own["case"], own["seed"], own["parts"], own["failed"]) for own in said["cells"]]
    return Score(said["control"], said["set"], said["version"], verdicts)
