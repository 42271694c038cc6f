"""What a kind of figure is: a name, what it shows, its options, and how it is drawn.

The table of options is the one source of help, docs and errors. A kind's function gets options that were checked
against that table, and runs that were grouped into cells; it returns a picture, its data and a caption.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

import polars as pl

from sojourn.core.run import Run
from sojourn.core.store.atomic import write_file
from sojourn.errors import UsageError
from sojourn.plotting.draw.svg import bounded, standalone


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a kind."""

    name: str
    meaning: str
    """With its unit."""
    default: str = ""
    choices: tuple[str, ...] = ()
    """All that it may be; anything that its reader understands if there are none."""


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """A figure."""

    svg: str
    """An SVG element to stand inside a page, whose colours it follows."""
    data: pl.DataFrame
    """Every number that is drawn."""
    caption: str
    """What is shown, of how many seeds, over which window."""

    def write(self, folder: Path, stem: str) -> tuple[Path, Path]:
        """Write ``stem.svg``, which stands alone, and ``stem.csv``; return both paths.

        Raises:
            StoreError: if the folder cannot be written.
        """
        svg, csv = folder / f"{stem}.svg", folder / f"{stem}.csv"
        write_file(svg, standalone(self.svg).encode())
        write_file(csv, self.data.write_csv().encode())
        return svg, csv

    def _repr_html_(self) -> str:
        """Return it as notebooks show it: the picture, and the caption below."""
        caption = f"<figcaption>{escape(self.caption)}</figcaption>"
        return f'<figure style="--faint:#8886;margin:0">{bounded(self.svg)}{caption}</figure>'

    def __repr__(self) -> str:
        """Return the caption; a picture is no text."""
        return f"<Drawn: {self.caption}>"


class Options(Mapping[str, str]):
    """The options of one figure: what was given, and the defaults of the rest."""

    def __init__(self, kind: str, known: Sequence[Option], given: Mapping[str, str]) -> None:
        """Check what was given against what there is.

        Raises:
            UsageError: naming an option or a value that there is not, with the nearest.
        """
        self._kind = kind
        self._values = {option.name: option.default for option in known}
        for name, value in given.items():
            if name not in self._values:
                raise UsageError.unknown(f"option of {kind}", name, list(self._values))
            choices = next(option.choices for option in known if option.name == name)
            if choices and value not in choices:
                raise UsageError.unknown(f"{name} of {kind}", value, list(choices))
            self._values[name] = value

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def number(self, name: str) -> float | None:
        """Return an option that is a number; None if it is empty.

        Raises:
            UsageError: if it is none.
        """
        text = self._values[name]
        if not text:
            return None
        try:
            return float(text)
        except ValueError as error:
            raise UsageError(f'{name} of {self._kind} is a number, not "{text}"') from error

    def names(self, name: str) -> list[str]:
        """Return an option that is a list with commas."""
        return [part.strip() for part in self._values[name].split(",") if part.strip()]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of figure."""

    name: str
    what: str
    """What it shows, in a sentence."""
    after: str
    """The published figure that it is after, and where it is drawn otherwise."""
    make: Callable[[Sequence[Run], Options], Drawn]
    options: Sequence[Option] = field(default=())

    def draw(self, runs: Sequence[Run], options: Mapping[str, str] | None = None) -> Drawn:
        """Draw a figure of these runs.

        Args:
            runs: any number, of any cells; what differs by seed only is one cell.
            options: as in :attr:`options`; the defaults stand for the rest.

        Raises:
            UsageError: if there is no run, an option is wrong, or the runs lack what is to be shown.
        """
        checked = Options(self.name, self.options, options or {})
        if not runs:
            raise UsageError(f"there is no run to draw {self.name} of")
        return self.make(runs, checked)


YES_NO: Final = ("no", "yes")
