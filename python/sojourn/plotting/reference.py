"""The kinds as a page of the documentation, from their own tables."""

from sojourn.core.extensions import FIGURES
from sojourn.plotting.figures import KINDS, PATTERN

_HEAD = """# Figures

`sojourn plot DIR KIND [--cell PATTERN] [-o FILE.svg] [OPTION=VALUE ...]` draws one figure of a results folder; its
numbers go beside it as CSV. In Python: `sojourn.open(DIR).plot("fairness", rate="goodput")`, which a notebook shows and
whose `.write(folder, "s1")` writes both files. Results that were imported (`sojourn import`) are drawn like one's own.

Runs that differ by their seed only are one cell; bars are means over the seeds, and thin lines or bands span them.
Colours can be told apart with any kind of colour vision. A picture follows the page that it stands in, and dark mode.

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
