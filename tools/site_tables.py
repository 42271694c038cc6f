"""Tables that the site's build puts into pages, so that no page has to repeat the program or a data file.

A comment of its own line names one:

    <!-- run here: known fabric -->                a button that runs rows of that table in the page
    <!-- run here: suite links/cellular -->        the same of a suite's cells
    <!-- table: csv parity/video-cost.csv -->      a file, from docs/
    <!-- table: validations -->                    the published tables, each with its page of rows
    <!-- table: mutants -->                        the seeded mistakes and the cases that catch them
    <!-- table: claims -->                         the claims of the published reports with our verdicts
    <!-- table: reference keys -->                 a part of the reference, from the program
    <!-- table: figures -->                        the kinds of figures
    <!-- table: known fabric -->                   published values next to ours, by known_results.toml
    <!-- table: evaluation rfc-9743 -->            the verdicts of the reference results that this build ships
    <!-- table: crates -->                         the crates, by the descriptions in their Cargo.toml
"""

import csv
import itertools
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]

PLACE: Final = re.compile(r"^<!-- table: (\S+) ?(.*?) -->$", re.MULTILINE)

BUTTON: Final = re.compile(r"^<!-- run here: (known|suite) (\S+) -->$", re.MULTILINE)

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
    head, *rows = _rows(name)
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
    incumbents = [known[own] for own in document.incumbents]
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


def of_validations(_: str) -> str:
    """Return the published tables: what each compares, and how much of it agrees."""
    from validation import TABLES as PUBLISHED  # noqa: PLC0415 - slow, and one page needs it

    rows = []
    for entry in PUBLISHED:
        for quantity, group, count, coverage, bias, error, *_more in _rows(f"validation/{entry.page}-groups.csv"):
            if group == "all":
                name = f"[{entry.title}](validation/{entry.page}.md)"
                rows.append([name, quantity, count, coverage, bias, error])
    for earlier, later in reversed(list(itertools.pairwise(rows))):
        if earlier[0] == later[0]:
            later[0] = ""
    return markdown(["published table", "quantity", "rows", "coverage", "median bias", "median error"], rows)


def validation_pages() -> dict[str, str]:
    """Return a page for each published table, by its address."""
    from validation import TABLES as PUBLISHED  # noqa: PLC0415 - as above

    return {f"validation/{entry.page}.md": _validation_page(entry) for entry in PUBLISHED}


def _validation_page(entry: Any) -> str:  # noqa: ANN401 - an Entry of tools/validation.py, imported late
    head, *rows = _rows(f"validation/{entry.page}.csv")
    shown = []
    last = ""
    for name, *cells, verdict in rows:
        shown.append(["" if name == last else name, *cells, f"**{verdict}**" if verdict == "differs" else verdict])
        last = name
    suites = ", ".join(f"`{suite}`" for suite in entry.suites)
    return f"""# {entry.title}

{suites} against `{entry.table}`: {entry.about}. [Validation](../validation.md) explains the columns.
Download [all rows]({entry.page}.csv) or [the groups]({entry.page}-groups.csv).

## Errors by queue and sender

{of_file(f"validation/{entry.page}-groups.csv")}

## Every published row

{markdown(head, shown)}
"""


def of_mutants(_: str) -> str:
    """Return the seeded mistakes, a table for each list of cases."""
    parts = []
    for who, group in itertools.groupby(_rows("tables/mutants.csv")[1:], key=lambda row: row[:2]):
        control, document = who
        mistakes = [[what, f"**{cases}**" if cases.startswith("not caught") else cases] for *_, what, cases in group]
        caught = sum(not cases.startswith("**") for _, cases in mistakes)
        parts.append(f"## `{control}` by `{document}`: {caught} of {len(mistakes)}\n")
        parts.append(markdown(["mistake", "caught by"], mistakes) + "\n")
    return "\n".join(parts)


def of_claims(_: str) -> str:
    """Return every claim with our verdict, a table for each report."""
    from claims_pages import index  # noqa: PLC0415 - slow, and one page needs it

    return index()


def of_known(name: str) -> str:
    """Return published values next to ours."""
    from known_results_page import shown  # noqa: PLC0415 - as above

    return shown(name)


def of_reference(part: str) -> str:
    """Return a part of the reference from the program: keys, metrics, tables or controls."""
    from sojourn import _core  # noqa: PLC0415 - as above

    text = _core.reference(part)
    if text is None:
        raise ValueError(f"the program has no reference of {part}")
    return text.rstrip()


def of_figures(_: str) -> str:
    """Return the kinds of figures with their options."""
    from sojourn.plotting.reference import reference  # noqa: PLC0415 - as above

    return reference().rstrip()


def _rows(name: str) -> list[list[str]]:
    with (ROOT / "docs" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


TABLES: Final[dict[str, Callable[[str], str]]] = {
    "claims": of_claims,
    "crates": of_crates,
    "csv": of_file,
    "evaluation": of_evaluation,
    "figures": of_figures,
    "known": of_known,
    "mutants": of_mutants,
    "reference": of_reference,
    "validations": of_validations,
}


def on_config(config: Any) -> Any:  # noqa: ANN401 - MkDocs' own, unchanged
    """Let tables import the other tools: MkDocs takes the folder of its hooks off the path again."""
    sys.path.append(str(ROOT / "tools"))
    return config


def filled(text: str) -> str:
    """Return a page with tables instead of the comments."""
    return PLACE.sub(lambda found: TABLES[found[1]](found[2]), text)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Do so for each page of the site, and put a button that runs a table's rows where a page asks for one."""
    return BUTTON.sub(lambda found: _button(found[1], found[2]), filled(markdown))


def _button(kind: str, name: str) -> str:
    from run_here import block, of_suite  # noqa: PLC0415 - slow, and few pages need it

    if kind == "suite":
        return f"Run a cell of `{name}`, seed 1:\n\n{block(of_suite(name))}"
    from known_results_page import runs_of  # noqa: PLC0415 - as above

    runs = runs_of(name)
    return f"Run a row of this table, seed 1:\n\n{block(runs)}" if runs else ""
