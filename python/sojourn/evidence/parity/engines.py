"""The two engines of a comparison."""

from dataclasses import dataclass
from typing import Final

from sojourn import _core
from sojourn.errors import UsageError


@dataclass(frozen=True, slots=True)
class Engines:
    """Two engines; the differences are the first's less the second's, and relative ones are shares of the second's."""

    first: str
    second: str

    @classmethod
    def parse(cls, words: str) -> "Engines":
        """Return the engines of ``A,B``. Linux may be on a kernel of its own: ``linux:NAME``.

        >>> Engines.parse("sim,linux")
        Engines(first='sim', second='linux')
        >>> Engines.parse("linux,linux:mine").titles
        ('Linux', 'Linux (mine)')

        Raises:
            UsageError: if these are not two engines.
        """
        names = [word.strip() for word in words.split(",")]
        if len(names) != 2 or not all(names) or names[0] == names[1]:  # noqa: PLR2004 - a pair
            raise UsageError(f'"{words}" is not two engines', help="write --engines sim,linux")
        known = _core.engines()
        for name in names:
            if name.partition(":")[0] not in known:
                raise UsageError.unknown("engine", name, known)
        return cls(*names)

    @property
    def names(self) -> tuple[str, str]:
        """Both names."""
        return self.first, self.second

    @property
    def titles(self) -> tuple[str, str]:
        """What they are called in a sentence: ``the simulator``."""
        return _title(self.first), _title(self.second)

    @property
    def heads(self) -> tuple[str, str]:
        """What they are called above a column: ``simulator``."""
        first, second = (title.removeprefix("the ") for title in self.titles)
        return first, second


def _title(name: str) -> str:
    engine, _, kernel = name.partition(":")
    title = engine
    if engine in _core.engines():
        facts: _core.Facts = _core.facts(engine)
        title = facts.title
    return f"{title} ({kernel})" if kernel else title


USUAL: Final = Engines("sim", "linux")
"""The pair that is compared unless another is asked for."""
