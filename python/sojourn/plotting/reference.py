"""The kinds as a page of the documentation, from their own tables."""

from sojourn.core.extensions import FIGURES
from sojourn.plotting.figures import KINDS, PATTERN

_HEAD = """# Figures

`sojourn plot DIR KIND [--cell PATTERN] [-o FILE] [OPTION=VALUE ...]` draws one figure of a results folder, and writes
its numbers to a CSV file with the same name, with at most 15 significant digits. In Python,
`sojourn.open(DIR).plot("fairness", rate="goodput")` shows it in a notebook, and its method `write(folder, "s1")`
writes both files. Imported results (`sojourn import`) work like your own.

Runs that differ only by their seed are one cell. Bars are means over the seeds; thin lines or bands show the range.
Readers with any kind of colour vision can distinguish the colours.

**Any metric against any axis**: [`lines`](#lines), [`bars`](#bars), [`heatmap`](#heatmap), [`scatter`](#scatter) and
[`box`](#box) take [metrics](metrics.md). **Any recorded quantity**: [`cdf`](#cdf) and [`box`](#box).
[`timeseries`](#timeseries) draws columns over time. The other kinds follow published figures.

```text
sojourn plot DIR lines   y='share(goodput, bbr)' x=buffer colour=queue
sojourn plot DIR heatmap value='utilisation({queue})' x=rtt y=buffer -o heat.pdf
sojourn plot DIR scatter x='p99(sojourn, {queue})' y='goodput({flow})'
sojourn plot DIR cdf     quantity=completion_time of=web log=yes --size 88mm --format pdf
```

In metrics, `{flow}` stands for each flow that carries data and `{queue}` for the bottleneck. Axis labels show the
metric's usual name and unit.

**The measuring window** is shaded in figures over time and stated in the caption. A logarithmic axis covers at most
three decades; smaller values appear at its foot.

**Formats and sizes.** `-o FILE` ends with `.svg`, `.pdf` or `.png`, or `--format` selects one. SVG adopts the colours
of its page and dark mode, and keeps text as text. PDF and PNG have a white background, and a PDF embeds its fonts as
TrueType. `--size 160x90mm` (or `cm`, `in`, `px`; a width alone selects a suitable height) sets the size. Letters have
8 to 9 points at any size, so use the size that the figure has in the paper. Matplotlib writes all three formats from
the same layout.

A pattern is PATTERN. `scenario`, `engine` and `seed` are axes, too.

"""

_TAIL = """## Adding one

In this repository, add one file with a `KIND` to `python/sojourn/plotting/kinds` and one line to its `__init__.py`;
then `UPDATE_DOCS=1 pytest tests/python/test_figures.py` updates this page.

In your own package, add a `sojourn.plotting.kind.Kind` and an entry point for it. Once the package is
installed, `sojourn plot` lists and draws it:

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
