"""Tables that the site's build puts into pages, so that no page has to repeat the program or a data file.

A comment of its own line names one:

    <!-- table: csv parity/video-cost.csv -->      a file, from docs/
    <!-- table: evaluation rfc-9743 -->            the verdicts of the reference results that this build ships
    <!-- table: crates -->                         the crates, by the descriptions in their Cargo.toml
"""

import csv
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

PLACE: Final = re.compile(r"^<!-- table: (\S+) ?(.*?) -->$", re.MULTILINE)

_NUMBER: Final = re.compile(r"[-+±]? ?[\d.]+( %)?|–|")


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table; columns of numbers are set to the right.

    >>> print(markdown(["cell", "share"], [["a|b", "+0.5"]]))
    | cell | share |
    | --- | ---: |
    | a\|b | +0.5 |
    """
    body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    columns = zip(*body, strict=True) if body else [()] * len(head)
    rules = ["---:" if own and all(_NUMBER.fullmatch(cell) for cell in own) else "---" for own in columns]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rules, *body])


def of_file(name: str) -> str:
    """Return the table of a CSV file below `docs/`."""
    with (ROOT / "docs" / name).open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return markdown(head, rows)


def of_evaluation(name: str) -> str:
    """Return the verdicts of a document's reference results, one row per criterion.

    If a suite has changed since they were measured, they hold for it no longer: a sentence says so, and no table.
    """
    from sojourn.evidence.evaluation import judge, page, read, reference  # noqa: PLC0415 - slow, and one page needs it

    document = read(name)
    stored = {own: reference.values(document, own, any_sources=True) for own in document.references}
    known = {own: values for own, values in stored.items() if values is not None}
    if len(known) < len(stored):
        command = f"python tools/evaluation_reference.py {name}"
        return f"*This build has no valid reference results for `{name}`: a suite changed. `{command}` measures them.*"
    incumbents = [known[own] for own in document.beside]
    judged = {own: judge(document, values, incumbents, {}) for own, values in known.items()}
    rows = [[row.id, *(page.MARKS[own[at].verdict] for own in judged.values())] for at, row in enumerate(document.rows)]
    return markdown(["row", *(f"`{own}`" for own in judged)], rows)


def of_crates(_: str) -> str:
    """Return the crates with their descriptions and their dependencies among ours."""
    rows = []
    for file in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
        uses = [name.removeprefix("sojourn-") for name in tree.get("dependencies", {}) if name.startswith("sojourn-")]
        rows.append([f"`crates/{file.parent.name}`", tree["package"]["description"], ", ".join(uses)])
    return markdown(["crate", "contents", "uses"], rows)


TABLES: Final[dict[str, Callable[[str], str]]] = {"csv": of_file, "evaluation": of_evaluation, "crates": of_crates}


def filled(text: str) -> str:
    """Return a page with tables instead of the comments."""
    return PLACE.sub(lambda found: TABLES[found[1]](found[2]), text)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Do so for each page of the site."""
    return filled(markdown)
