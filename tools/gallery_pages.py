"""Writes the gallery: `python tools/gallery_pages.py docs/gallery target/gallery`.

A page for each figure of gallery.toml with its picture, its command and its experiment, and one with all of them.
Runs are made as the figures need them, two seeds each, and kept in the second folder, under a name that has the version
of what decides a run and the experiment's text: a build that changes neither draws without running.
"""

import hashlib
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import run_here

import sojourn
from sojourn import _core
from sojourn.core.extensions import Drawing
from sojourn.views.results import Results

ROOT: Final = Path(__file__).parents[1]
SEEDS: Final = 2

ARGUMENTS: Final = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the gallery."""

    name: str
    """Of its page and its picture."""
    title: str
    text: str
    experiment: str
    """Its file, from the repository's root."""
    plot: Sequence[str]
    """The kind, and its options as `sojourn plot` takes them."""
    cell: str = ""

    @property
    def commands(self) -> list[str]:
        """What makes it, on a command line."""
        folder = f"results/{Path(self.experiment).stem}"
        of = ["--cell", self.cell] if self.cell else []
        return [
            shlex.join(["sojourn", "run", self.experiment, "--seeds", str(SEEDS), "-o", folder]),
            shlex.join(["sojourn", "plot", folder, *self.plot, *of, "-o", f"{self.name}.svg"]),
        ]


def figures() -> list[Figure]:
    """Return what gallery.toml has."""
    return [Figure(**own) for own in tomllib.loads((ROOT / "tools" / "gallery.toml").read_text())["figure"]]


def results(experiment: str, cache: Path) -> Results:
    """Return the runs of an experiment; those that are kept are not run again."""
    file = ROOT / experiment
    digest = hashlib.sha256(f"{_core.version()}\n{SEEDS}\n{file.read_text()}".encode()).hexdigest()[:12]
    folder = cache / f"{file.stem}-{digest}"
    for old in cache.glob(f"{file.stem}-*"):
        if old != folder:
            shutil.rmtree(old)
    return sojourn.load(file, seeds=SEEDS).run(folder)


def drawn(figure: Figure, found: Results) -> Drawing:
    """Draw a figure."""
    kind, *options = figure.plot
    given = dict(option.split("=", 1) for option in options)
    return found.select(figure.cell).plot(kind, **given)


def page(figure: Figure, caption: str, button: str = "") -> str:
    """Return the page of a figure, with the button that runs one of its cells in the page."""
    commands = "\n".join(figure.commands)
    experiment = (ROOT / figure.experiment).read_text().rstrip()
    return f"""# {figure.title}

{figure.text}

![{figure.title}]({figure.name}.svg)

{caption}

[The numbers]({figure.name}.csv)

{button}
## Make it yourself

<!-- not run: the build of this page ran it -->
```sh
{commands}
```

`{figure.experiment}`:

```toml
{experiment}
```
"""


def button(figure: Figure) -> str:
    """Return the block that runs a cell of a figure's experiment in the page: any of them, seed 1."""
    file = ROOT / figure.experiment
    return run_here.block(run_here.of_suite(file), file.read_text())


def index(every: Sequence[Figure]) -> str:
    """Return the page with all figures."""
    cards = "\n".join(
        f"-   [![{figure.title}]({figure.name}.svg)]({figure.name}.md)\n\n"
        f"    **[{figure.title}]({figure.name}.md)**\n\n    {figure.text}\n"
        for figure in every
    )
    return f"""# Gallery

The build of this site ran and drew each figure, with {SEEDS} seeds per cell. Its page has the command and the
experiment. [Figures](../figures.md) lists every kind that `sojourn plot` draws.

<div class="gallery" markdown>

{cards}
</div>
"""


def write(folder: Path, cache: Path) -> Mapping[str, str]:
    """Write the gallery; return its pages by name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    every = figures()
    found: dict[str, Results] = {}
    pages = {"index.md": index(every)}
    for figure in every:
        if figure.experiment not in found:
            found[figure.experiment] = results(figure.experiment, cache)
        picture = drawn(figure, found[figure.experiment])
        picture.write(folder, figure.name)
        pages[f"{figure.name}.md"] = page(figure, picture.caption, button(figure))
    for name, text in pages.items():
        (folder / name).write_text(text)
    return pages


if __name__ == "__main__":
    if len(sys.argv) != ARGUMENTS:
        sys.exit(f"usage: {sys.argv[0]} FOLDER CACHE")
    write(Path(sys.argv[1]), Path(sys.argv[2]))
