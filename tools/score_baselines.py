"""Writes the table of baselines into docs/score.md; a test compares it with this build's scores.

tools/score_baselines.py
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sojourn.score import PARTS, SETS, score

PAGE: Final = Path(__file__).parents[1] / "docs" / "score.md"
CONTROLS: Final = ("cubic", "reno", "bbr", "bbr3", "prague", "ledbat++")
BEGIN: Final = "<!-- baselines -->"
END: Final = "<!-- end of baselines -->"


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    names = [*PARTS, "robustness"]
    yield f"| control | set | score | {' | '.join(names)} |"
    yield "|---|---|---:|" + "---:|" * len(names)
    for control in CONTROLS:
        for on in SETS:
            own = score(control, on=on)
            yield (
                f"| `{control}` | {on} | {own.number:.1f} | "
                + " | ".join(f"{own.parts[name]:.3f}" for name in names)
                + " |"
            )


def written(page: str) -> str:
    """Return the page with this build's table."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"{PAGE} has no {BEGIN} with {END} after it")
    return "\n".join([f"{before}{BEGIN}", "", *table(), "", f"{END}{after}"])


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
