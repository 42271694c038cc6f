"""docs/known-results.md: its tables are those of its tool, and this build measures the same in some rows."""

import re
from pathlib import Path

import known_results_page as tool
import pytest

PAGE = Path(tool.PAGE).read_text(encoding="utf-8")
TABLES = {table.name: table for table in tool.tables()}
AGAIN = [(table, row) for table in TABLES.values() for row in table.row if row.again]


@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_every_row_with_the_published_figures(name: str) -> None:
    table = TABLES[name]
    lines = tool.shown(name).splitlines()
    found = [line for line in lines if line.startswith("|")]
    assert found[:2] == tool.heading(table)
    assert len(found) == 2 + len(table.row)
    for line, row in zip(found[2:], table.row, strict=True):
        cells = [cell.strip() for cell in line[1:-1].split("|")]
        wide = len(row.setting)
        assert cells[:wide] == list(row.setting)
        assert cells[wide::3] == list(map(tool.published, table.figure, row.theirs))
    assert re.search(r"commit \w{7,}.* of 20\d\d-.*version \S+: `sojourn run ", lines[-1])


def test_every_table_of_the_page_is_the_tools() -> None:
    assert re.findall(r"<!-- table: known (\S+) -->", PAGE) == list(TABLES) == list(tool.stored())


@pytest.mark.parametrize(("table", "row"), AGAIN, ids=[f"{table.name}-{row.setting[-1]}" for table, row in AGAIN])
def test_a_row_run_again_is_what_the_page_prints(table: tool.Table, row: tool.Row) -> None:
    [values] = tool.measure(table, [row])
    stored = tool.stored()[table.name]["ours"][table.row.index(row)]
    assert tool.rounded(table, values) == stored, (
        f"the results of this row changed: run tools/known_results_page.py {table.name}, then read the prose around it"
    )
