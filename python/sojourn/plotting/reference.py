"""The kinds of figures as a part of the documentation, from their own tables."""

from sojourn.core.extensions import FIGURES
from sojourn.plotting.figures import KINDS


def reference() -> str:
    """Return a section for each kind, with its options."""
    parts = []
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
    return "".join(parts)
