"""The engines of a comparison, two by two."""

from dataclasses import dataclass
from typing import Final

from sojourn import _core
from sojourn.errors import UsageError


@dataclass(frozen=True, slots=True)
class Engines:
    """Two engines; the differences are the first's less the second's, and relative ones are shares of the second's."""

    first: str
    second: str

    @property
    def paired(self) -> bool:
        """Whether one seed means the same start times and jitter on both, so that runs are compared seed by seed."""
        return all(_deterministic(name) for name in self.names)

    @property
    def names(self) -> tuple[str, str]:
        """Both names."""
        return self.first, self.second

    @property
    def titles(self) -> tuple[str, str]:
        """What they are called in a sentence: ``the simulator``."""
        return title_of(self.first), title_of(self.second)

    @property
    def heads(self) -> tuple[str, str]:
        """What they are called above a column: ``simulator``."""
        first, second = (title.removeprefix("the ") for title in self.titles)
        return first, second


def engine_names(words: str) -> list[str]:
    """Return the engines of ``A,B`` or ``A,B,C``. Linux may be on a kernel of its own: ``linux:NAME``.

    >>> engine_names("linux,linux:mine")
    ['linux', 'linux:mine']

    Raises:
        UsageError: if these are not two or more different engines.
    """
    names = [word.strip() for word in words.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):  # noqa: PLR2004 - a pair
        raise UsageError(f'"{words}" does not name two or more engines', help="write --engines sim,linux")
    known = _core.engines()
    for name in names:
        if name.partition(":")[0] not in known:
            raise UsageError.unknown("engine", name, known)
    return names


def title_of(name: str) -> str:
    """Return what an engine is called in a sentence: ``the simulator``."""
    engine, _, kernel = name.partition(":")
    facts = _facts(engine)
    title = engine if facts is None else facts.title
    return f"{title} ({kernel})" if kernel else title


def _deterministic(name: str) -> bool:
    facts = _facts(name.partition(":")[0])
    return facts is None or facts.deterministic


def _facts(engine: str) -> _core.Facts | None:
    return _core.facts(engine) if engine in _core.engines() else None


USUAL: Final = Engines("sim", "linux")
"""The pair that is compared unless another is asked for."""
