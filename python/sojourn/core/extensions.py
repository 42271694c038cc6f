"""What other distributions add: kinds of figures, metrics, functions of report templates.

A distribution names what it adds as entry points (PyPA's entry points specification) of one of three groups::

    [project.entry-points."sojourn.figures"]
    heat = "my_package.heat:KIND"

``sojourn.figures`` has :class:`sojourn.plotting.kind.Kind`, ``sojourn.metrics`` functions that take a run and return a
number, and ``sojourn.report`` functions of templates (:mod:`sojourn.reporting.templates.functions`).

Invariants: names are known before anything is imported; our own come first and keep their names; what cannot be
imported, or is something else, is named in one warning, and everything else goes on. The trick: our own are entries of
the same form. So a run can be drawn although nothing here, nor in a run, imports what draws.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from sojourn.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

Entry = TypeVar("Entry")


class ExtensionWarning(UserWarning):
    """Something that a distribution adds and that cannot be used, by name."""


class Registry(Mapping[str, Entry], Generic[Entry]):
    """The entries of one kind by name: our own, then those of other distributions."""

    def __init__(self, group: str, kind: str, *, own: str = "", check: Callable[[object], str | None]) -> None:
        """Say what belongs here; nothing is imported.

        Args:
            group: the group of entry points.
            kind: what an entry is, for errors: ``kind of figure``.
            own: the package of our own entries; its ``OWN`` maps their names to module and attribute,
                ``{"cdf": "cdf:KIND"}``; none if empty.
            check: says what is wrong with an entry; None if nothing is.
        """
        self.group = group
        self.kind = kind
        self._own = own
        self._check = check
        self._loaded: dict[str, Entry] = {}
        self._failed: set[str] = set()

    @cached_property
    def _ours(self) -> Mapping[str, EntryPoint]:
        if not self._own:
            return {}
        names: Mapping[str, str] = import_module(self._own).OWN
        return {name: EntryPoint(name, f"{self._own}.{place}", self.group) for name, place in names.items()}

    @cached_property
    def _theirs(self) -> Mapping[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: (entry.name, _origin(entry))):
            other = "Sojourn itself" if entry.name in self._ours else _origin(found.get(entry.name))
            if other:
                self._warn(entry, f"{other} has one of that name")
            else:
                found[entry.name] = entry
        return found

    @property
    def own(self) -> list[str]:
        """The names of our own."""
        return list(self._ours)

    @property
    def names(self) -> list[str]:
        """Every name; nothing is imported for it, so some may turn out not to be usable."""
        return [*self._ours, *self._theirs]

    def refresh(self) -> None:
        """Look again: something was installed since, from a notebook for example."""
        self._loaded.clear()
        self._failed.clear()
        for found in ("_ours", "_theirs"):
            self.__dict__.pop(found, None)

    def find(self, name: str) -> Entry:
        """Return the entry of this name.

        Raises:
            UsageError: if there is none that can be used, with the nearest.
        """
        try:
            return self[name]
        except KeyError:
            raise UsageError.unknown(self.kind, name, list(self)) from None

    def __getitem__(self, name: str) -> Entry:
        if name not in self._loaded:
            entry = self._ours.get(name) or self._theirs.get(name)
            if entry is None or name in self._failed:
                raise KeyError(name)
            if not self._load(entry, theirs=name in self._theirs):
                raise KeyError(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of what can be used: our own, then theirs in the order of their names."""
        yield from self._ours
        for name, entry in self._theirs.items():
            if name in self._loaded or (name not in self._failed and self._load(entry, theirs=True)):
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, entry: EntryPoint, *, theirs: bool) -> bool:
        try:
            made = entry.load()
        except Exception as error:
            if not theirs:
                raise
            # Whatever their module does, it must not take ours down.
            wrong: str | None = f"{type(error).__name__}: {error}"
        else:
            wrong = self._check(made) if theirs else None
        if wrong is None:
            self._loaded[entry.name] = made
            return True
        self._failed.add(entry.name)
        self._warn(entry, wrong)
        return False

    def _warn(self, entry: EntryPoint, why: str) -> None:
        text = f'the {self.kind} "{entry.name}" of {_origin(entry)} ({entry.value}) is left out: {why}'
        warnings.warn(text, ExtensionWarning, stacklevel=4)


def _origin(entry: EntryPoint | None) -> str:
    """Return which distribution an entry point is of; empty if there is no entry point."""
    if entry is None:
        return ""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown distribution"


def _function(made: object) -> str | None:
    return None if callable(made) else f"it is {type(made).__name__}, not a function"


class Drawing(Protocol):
    """A figure: what :class:`sojourn.plotting.kind.Drawn` is to those who do not draw."""

    @property
    def svg(self) -> str:
        """An SVG element."""
        ...

    @property
    def data(self) -> "pl.DataFrame":
        """Every number that is drawn."""
        ...

    @property
    def caption(self) -> str:
        """What is shown."""
        ...

    def render(self, form: str = "svg", size: str = "") -> bytes:
        """Return it as a file's content: ``svg``, ``pdf`` or ``png``, of a size such as ``160x90mm``."""
        ...

    def write(self, folder: str | os.PathLike[str], stem: str, form: str = "svg", size: str = "") -> tuple[Path, Path]:
        """Write the picture, ``stem.svg`` or of another format, and ``stem.csv``; return both paths."""
        ...

    def _repr_html_(self) -> str: ...


def _draws(made: object) -> str | None:
    module, _, name = _KIND.partition(":")
    wanted = getattr(import_module(module), name)
    return None if isinstance(made, wanted) else f"it is {type(made).__name__}, not a {module}.{name}"


_KIND: Final = "sojourn.plotting.kind:Kind"

FIGURES: Final[Registry[Any]] = Registry(
    "sojourn.figures", "kind of figure", own="sojourn.plotting.kinds", check=_draws
)
"""Every kind of figure (:class:`sojourn.plotting.kind.Kind`) by its name."""

METRICS: Final[Registry[Callable[[Any], float]]] = Registry("sojourn.metrics", "metric", check=_function)
"""Metrics that others add, by name: functions that take a :class:`sojourn.Run` and return a number in base units."""

REPORT: Final[Registry[Callable[..., str]]] = Registry("sojourn.report", "function of templates", check=_function)
"""Functions of report templates that others add, by name."""
