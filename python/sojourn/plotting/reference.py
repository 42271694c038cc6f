"""The kinds as a page of the documentation, from their own tables."""

from sojourn.core.extensions import FIGURES
from sojourn.plotting.figures import KINDS, PATTERN

_HEAD = """# Figures

`sojourn plot DIR KIND [--cell PATTERN] [-o FILE] [OPTION=VALUE ...]` draws one figure of a results folder; its
numbers go beside it as CSV, with at most 15 significant digits. In Python:
`sojourn.open(DIR).plot("fairness", rate="goodput")`, which a notebook shows and whose `.write(folder, "s1")` writes
both files. Results that were imported (`sojourn import`) are drawn like one's own.

Runs that differ by their seed only are one cell; bars are means over the seeds, and thin lines or bands span them.
Colours can be told apart with any kind of colour vision.

**Any metric against any axis**: [`lines`](#lines), [`bars`](#bars), [`heatmap`](#heatmap), [`scatter`](#scatter) and
[`box`](#box) take [metrics](metrics.md). **Any recorded quantity**: [`cdf`](#cdf) and [`box`](#box).
[`timeseries`](#timeseries) draws columns over time. The other kinds are after published figures.

```text
sojourn plot DIR lines   y='share(goodput, bbr)' x=buffer colour=queue
sojourn plot DIR heatmap value='utilisation({queue})' x=rtt y=buffer -o heat.pdf
sojourn plot DIR scatter x='p99(sojourn, {queue})' y='goodput({flow})'
sojourn plot DIR cdf     quantity=completion_time of=web log=yes --size 88mm --format pdf
```

In metrics, `{flow}` stands for each flow that carries data and `{queue}` for the bottleneck. What an axis says comes
from one table: the metric's name in the field's words, and the unit.

**The measuring window** is shaded where a figure shows time, and said in the caption. A logarithmic axis begins at most
three decades below its end; what is less is drawn at its foot.

**Formats and sizes.** `-o FILE` ends with `.svg`, `.pdf` or `.png`, or `--format` says which. SVG follows the page that
it stands in, and dark mode; its letters stay text, in the reader's fonts. PDF and PNG are on white paper, and a PDF has
its fonts embedded as TrueType. `--size 160x90mm` (or `cm`, `in`, `px`; a width alone keeps the height that fits) sets
the size; letters are 8 to 9 points at any size, so ask for the size that the figure has in the paper. All three come
from the same layout by matplotlib, which is what the field uses and writes each format itself: nothing is converted.

A pattern is PATTERN. `scenario`, `engine` and `seed` are axes, too.

"""

_TAIL = """## Adding one

Here: one file in `python/sojourn/plotting/kinds` with a `KIND`, and one line in its `__init__.py`; then
`UPDATE_DOCS=1 pytest tests/python/test_figures.py` writes this page.

In a package of your own: a `sojourn.plotting.kind.Kind`, and an entry point that names it. Once the package is
installed, `sojourn plot` lists it and draws it as one of these:

```toml
[project.entry-points."sojourn.figures"]
heat = "my_package.heat:KIND"
```
"""


def reference() -> str:
    """Return the page."""
    parts = [_HEAD.replace("A pattern is PATTERN", f"A pattern is {PATTERN}")]
    for kind in (KINDS[name] for name in FIGURES.own):
        parts.append(f"## `{kind.name}`\n\n{kind.what}\n\nAfter: {kind.after}\n\n")
        if kind.options:
            parts.append("| option | default | meaning |\n|---|---|---|\n")
            for option in kind.options:
                choices = f": {', '.join(f'`{choice}`' for choice in option.choices)}" if option.choices else ""
                default = f"`{option.default}`" if option.default else ""
                parts.append(
                    f"| `{option.name}` | {default} | {option.meaning.replace('|', chr(92) + '|')}{choices} |\n"
                )
            parts.append("\n")
    return "".join(parts) + _TAIL
