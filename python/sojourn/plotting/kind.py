"""A kind of figure: a name, a description, its options, and the function that draws it.

The table of options is the one source of help, docs and errors. A kind's function gets options that were checked
against that table, and runs that were grouped into cells; it returns a picture, its data and a caption.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sojourn.core.digits import rounded
from sojourn.core.extensions import FIGURES
from sojourn.core.run import Run
from sojourn.core.store.atomic import write_file
from sojourn.errors import UsageError
from sojourn.plotting.draw.sheet import FORMATS, Sheet, Size
from sojourn.plotting.draw.svg import bounded, standalone
from sojourn.views.html import legible

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a kind."""

    name: str
    meaning: str
    """With its unit."""
    default: str = ""
    choices: tuple[str, ...] = ()
    """All that it may be; anything that its reader understands if there are none."""


@dataclass(frozen=True, repr=False)
class Drawn:
    """A figure."""

    picture: Sheet | str
    """Charts below one another; or an SVG element, for who draws otherwise."""
    data: "pl.DataFrame"
    """Every number that is drawn."""
    caption: str
    """The figure in words: its content, the number of seeds, the window."""

    @cached_property
    def svg(self) -> str:
        """An SVG element for a page, in the page's colours."""
        return self._element(None)

    @cached_property
    def answering(self) -> tuple[str, str]:
        """:attr:`svg` and its numbers for the script of a page; these are empty for who draws SVG otherwise."""
        return (self.picture, "") if isinstance(self.picture, str) else self.picture.answering()

    def render(self, form: str = "svg", size: str = "") -> bytes:
        """Return it as a file's content.

        Args:
            form: ``svg``, which follows dark mode; ``pdf`` and ``png`` are on white paper, with their fonts embedded.
            size: ``160x90mm``, ``3.5in``, ``1200x800px``; as it is drawn best if empty. Letters keep their size.

        Raises:
            UsageError: if there is no such format or size, or if only an SVG was drawn and something else is wanted.
        """
        if form not in FORMATS:
            raise UsageError.unknown("format of figures", form, list(FORMATS))
        asked = Size.of(size)
        if form == "svg":
            return standalone(self._element(asked)).encode()
        return self._sheet().file(form, asked)

    def write(self, folder: str | os.PathLike[str], stem: str, form: str = "svg", size: str = "") -> tuple[Path, Path]:
        """Write the picture, ``stem.svg`` or of another format, and ``stem.csv``; return both paths.

        Args:
            folder: which is there.
            stem: the files' name.
            form: as in :meth:`render`.
            size: as in :meth:`render`.

        Raises:
            StoreError: if the folder cannot be written.
            UsageError: as :meth:`render`.
        """
        picture, csv = Path(folder) / f"{stem}.{form}", Path(folder) / f"{stem}.csv"
        write_file(picture, self.render(form, size))
        write_file(csv, rounded(self.data).write_csv().encode())
        return picture, csv

    def _element(self, size: Size | None) -> str:
        if isinstance(self.picture, str) and size is None:
            return self.picture
        return self._sheet().svg(size)

    def _sheet(self) -> Sheet:
        if isinstance(self.picture, str):
            raise UsageError("this kind of figure exists as SVG only, in one size")
        return self.picture

    def _repr_html_(self) -> str:
        """Return it as notebooks show it: the picture, and the caption below."""
        caption = f"<figcaption>{legible(escape(self.caption))}</figcaption>"
        return f'<figure style="--faint:#8886;margin:0;overflow-x:auto">{bounded(self.svg)}{caption}</figure>'

    def __repr__(self) -> str:
        """Return the caption; a picture is no text."""
        return f"<Drawn: {self.caption}>"


class Options(Mapping[str, str]):
    """The options of one figure: the given values, and the defaults of the rest."""

    def __init__(self, kind: str, known: Sequence[Option], given: Mapping[str, str]) -> None:
        """Check the given values against the known options.

        Raises:
            UsageError: naming an unknown option or value, with the nearest.
        """
        self._kind = kind
        self._values = {option.name: option.default for option in known}
        for name, value in given.items():
            if name not in self._values:
                raise _no_option(kind, name, list(self._values))
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


def _no_option(kind: str, name: str, known: list[str]) -> UsageError:
    """Return the error for an option that a kind does not have, with the kinds that have it."""
    error = UsageError.unknown(f"option of {kind}", name, known)
    others = [other for other in FIGURES.own if any(option.name == name for option in FIGURES[other].options)]
    if others and len(others) <= _FEW:
        return UsageError(error.message, help=f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it")
    return error


_FEW: Final = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of figure."""

    name: str
    what: str
    """Its description, in a sentence."""
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
