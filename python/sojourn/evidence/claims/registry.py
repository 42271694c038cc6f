"""The claims as they are written down.

A file is a source: its ``title`` and its claims. A claim has an ``id``, its ``finding`` in a sentence, the
``published`` figure and ``where`` the source has it, and one or more parts, which must all hold. A part says ``what``
it tests, on which ``experiment`` and ``cells`` (labels by axis; axes that are not named are free, and the part must
hold in each of their cells), the ``value`` and its ``bound``. The value is a metric; where several runs are compared,
``measure`` names the metrics and the cells they are taken ``at``, and the value is a formula over the names, seed by
seed. ``if_none`` is the value of a metric that has none. ``where`` is a condition over the same names: runs that do not
meet it do not count. Where ours does not reproduce a finding, ``witness`` names who else was measured to do as ours
does, and ``witness_data`` the command or the published table by which anyone can look again. Where there is no witness,
``missing`` says which mechanism we think is missing (``mechanism``), which measurement shows it (``seen``) and what
would ``settle`` it.
"""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from sojourn.errors import StoreError, UsageError
from sojourn.evidence.claims.formula import Formula
from sojourn.evidence.interval import SEEDS
from sojourn.evidence.judging import Bound

_SOURCES: Final = ("overload", "l4s-tests", "sce-l4s-ect1", "fast-lane")
"""The files, in the order in which people see them."""

VALUE: Final = "value"
"""The name of the one measure of a part that compares no runs."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of runs of some cells."""

    metric: str
    """An expression of the metrics language."""
    experiment: str
    """``SUITE/SCENARIO``."""
    at: Mapping[str, tuple[str, ...]]
    """The labels that are meant, by axis."""
    fixed: frozenset[str]
    """Axes that this measure fixes for itself: they tell the measures of a part apart, not its cells."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that must hold, in every cell."""

    what: str
    measures: Mapping[str, Measure]
    formula: Formula
    bound: Bound
    if_none: float
    """What counts where a run gives no value; NaN unless the claim says."""
    where: Formula | None = None
    """A condition: runs that do not meet it do not count. None if all do."""

    @property
    def experiments(self) -> list[str]:
        """The experiments it needs."""
        return list(dict.fromkeys(measure.experiment for measure in self.measures.values()))


@dataclass(frozen=True, slots=True)
class Missing:
    """Why ours does not reproduce a finding that nobody else was measured not to reproduce."""

    mechanism: str
    """The mechanism that ours or the description lacks."""
    seen: str
    """The measurement that shows it."""
    settle: str
    """What would decide whether it is so."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding of a published report."""

    id: str
    finding: str
    published: str
    """The published figure, or what the report says where it gives none."""
    where: str
    """Where in the source."""
    source: str
    """The source's title."""
    parts: Sequence[Part] = field(repr=False)
    remark: str
    """A remark on the verdict; where ours does not reproduce, the reason that we suspect."""
    witness: str
    """Who else was measured not to reproduce it: real Linux, or data that the publishers give; empty if nobody."""
    witness_data: str
    """The command that measures it again, or the published table that shows it; empty if there is no witness."""
    missing: Missing | None
    """Which mechanism is missing; None where nothing is, or a witness stands."""

    @property
    def experiments(self) -> list[str]:
        """The experiments it needs."""
        return list(dict.fromkeys(name for part in self.parts for name in part.experiments))


@functools.cache
def registry() -> Sequence[Claim]:
    """Return every claim, source by source."""
    folder = files("sojourn.evidence.claims")
    claims = [claim for name in _SOURCES for claim in read(Path(str(folder / f"{name}.toml")))]
    _unique(claims)
    return claims


def baseline() -> Mapping[str, int]:
    """Return the claims that this version of the project reproduces, each with the seeds that it takes."""
    return read_baseline(Path(str(files("sojourn.evidence.claims") / "baseline.toml")))


def read_baseline(file: Path) -> Mapping[str, int]:
    """Return the ids of the claims that a file says are reproduced, each with the seeds a cell that it takes.

    Raises:
        UsageError: if it cannot be read, or names a claim that there is not.
    """
    help_text = 'it is a TOML file with reproduced = ["OVER-1", ...], and perhaps a table: seeds = { OVER-1 = 40 }'
    known = [claim.id for claim in registry()]
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
        ids, more = tree["reproduced"], tree.get("seeds", {})
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is not a baseline: {error}", help=help_text) from error
    if not isinstance(ids, list) or not isinstance(more, dict) or not all(isinstance(n, int) for n in more.values()):
        raise UsageError(f"{file} is not a baseline", help=help_text)
    for name in (*ids, *more):
        if name not in known:
            raise UsageError.unknown("claim", str(name), known)
    for name in more:
        if name not in ids:
            raise UsageError(f'{file}: seeds has "{name}", which reproduced does not have', help=help_text)
    return {str(name): more.get(name, SEEDS) for name in ids}


def read(file: Path) -> list[Claim]:
    """Return the claims of a file.

    Raises:
        StoreError: naming the claim and what is wrong with it.
    """
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
        title = _text(tree, "title")
        return [_claim(title, one) for one in tree["claim"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file}: {_message(error)}") from error


def _claim(title: str, tree: Mapping[str, Any]) -> Claim:
    name = _text(tree, "id")
    try:
        _known(tree, {"id", "finding", "published", "where", "remark", "witness", "witness_data", "missing", "part"})
        return Claim(
            id=name,
            finding=_text(tree, "finding"),
            published=_text(tree, "published"),
            where=_text(tree, "where"),
            source=title,
            parts=[_part(one) for one in tree["part"]],
            remark=str(tree.get("remark", "")).strip(),
            witness=_text(tree, "witness") if "witness" in tree else "",
            witness_data=_text(tree, "witness_data") if "witness" in tree else "",
            missing=_missing(tree["missing"]) if "missing" in tree else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"claim {name}: {_message(error)}") from error


def _missing(tree: Mapping[str, Any]) -> Missing:
    _known(tree, {"mechanism", "seen", "settle"})
    return Missing(*(_text(tree, key) for key in ("mechanism", "seen", "settle")))


def _part(tree: Mapping[str, Any]) -> Part:
    _known(tree, {"what", "experiment", "cells", "value", "measure", "bound", "if_none", "where"})
    cells = _labels(tree.get("cells", {}))
    value = _text(tree, "value")
    where = Formula(_text(tree, "where")) if "where" in tree else None
    if "measure" in tree:
        measures = {name: _measure(name, one, tree, cells) for name, one in tree["measure"].items()}
        formula = Formula(value)
        unused = measures.keys() - formula.names - (where.names if where else set())
        if unused:
            raise ValueError(f'the value "{value}" does not use {", ".join(sorted(unused))}')
    else:
        measures = {VALUE: Measure(value, _text(tree, "experiment"), cells, frozenset())}
        formula = Formula(VALUE)
    return Part(
        what=_text(tree, "what"),
        measures=measures,
        formula=formula,
        bound=Bound.parse(_text(tree, "bound")),
        if_none=float(tree.get("if_none", "nan")),
        where=where,
    )


def _measure(
    name: str, tree: Mapping[str, Any], part: Mapping[str, Any], cells: Mapping[str, tuple[str, ...]]
) -> Measure:
    _known(tree, {"of", "at", "experiment"})
    own = _labels(tree.get("at", {}))
    for axis, labels in own.items():
        if len(labels) > 1:
            raise ValueError(f'measure {name}: "at" fixes one label of {axis}, not {len(labels)}')
    return Measure(
        _text(tree, "of"), str(tree.get("experiment") or _text(part, "experiment")), {**cells, **own}, frozenset(own)
    )


def _labels(tree: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {axis: tuple(own) if isinstance(own, list) else (str(own),) for axis, own in tree.items()}


def _text(tree: Mapping[str, Any], key: str) -> str:
    if key not in tree:
        raise ValueError(f'"{key}" is missing')
    if not isinstance(tree[key], str) or not tree[key]:
        raise ValueError(f'"{key}" is a text')
    return str(tree[key])


def _known(tree: Mapping[str, Any], keys: set[str]) -> None:
    for key in tree:
        if key not in keys:
            raise ValueError(f'there is no key "{key}"; there is {", ".join(sorted(keys))}')


def _message(error: Exception) -> str:
    return f'"{error.args[0]}" is missing' if isinstance(error, KeyError) else str(error)


def _unique(claims: Sequence[Claim]) -> None:
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise StoreError(f"there are two claims {claim.id}")
        seen.add(claim.id)
