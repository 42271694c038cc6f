"""Writes the tutorials as notebooks: `python tools/notebooks.py examples/notebooks`.

A tutorial is the source, its notebook is made of it and kept, and tests/python/test_notebooks.py compares the two. A
block of `python` becomes a cell, one of `sh` a cell that a shell runs, and a block with a file's name a cell that
writes the file. Blocks that the page itself does not run stay text. Links are those of the page, as seen from the
notebook.
"""

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbformat
from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parent.parent

TUTORIALS: Final = ("first-experiment", "bbr-and-cubic", "check-a-claim")
"""Those that need nothing but Sojourn and Python; the fourth builds programs in C and in Rust."""

FOLDER: Final = "examples/notebooks"
"""Where the notebooks are, as seen from the repository: links are written from there."""


def links_from(text: str, page: str) -> str:
    """Return Markdown with relative links rewritten from `page`'s folder to that of the notebooks."""

    def moved(match: re.Match[str]) -> str:
        target = posixpath.join(posixpath.dirname(page), match[2])
        return f"{match[1]}{posixpath.relpath(target, FOLDER)}{match[3]}"

    return re.sub(r"(\]\()(?!https?:|#)([^)#]+)((?:#[^)]*)?\))", moved, text)


def cells(page: str) -> Iterator[Any]:
    """Yield a tutorial's cells."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    text_from, comment = 0, ""
    notes: tuple[int, int] = (0, 0)

    def text(until: int) -> Iterator[Any]:
        prose = "\n".join(lines[text_from:until]).strip()
        if prose:
            yield nbformat.v4.new_markdown_cell(links_from(prose, page))

    for token in MarkdownIt("commonmark").parse("\n".join(lines)):
        if token.map is None:
            continue
        if token.type == "html_block":
            comment, notes = token.content, (token.map[0], token.map[1])
            continue
        if token.type == "fence":
            file = re.search(r"<!-- file: (.*?) -->", comment)
            cell = code(token.info, token.content.rstrip("\n"), file[1] if file else None)
            if cell is not None and "<!-- not run:" not in comment:
                yield from text(notes[0] if comment else token.map[0])
                yield nbformat.v4.new_code_cell(cell)
                text_from = token.map[1]
        comment = ""
    yield from text(len(lines))


def code(language: str, text: str, file: str | None) -> str | None:
    """Return a notebook's cell for a block; None if the block is for reading."""
    if file is not None:
        return f"%%writefile {file}\n{text}"
    match language:
        case "python":
            return text
        case "sh":
            return f"%%sh\nset -eu\n{text}"
    return None


def notebook(tutorial: str) -> str:
    """Return a tutorial as a notebook's text."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made.metadata["language_info"] = {"name": "python"}
    made.cells = list(cells(f"docs/tutorials/{tutorial}.md"))
    for number, cell in enumerate(made.cells):
        # The same page gives the same file.
        cell["id"] = f"cell-{number}"
    nbformat.validate(made)
    written: str = nbformat.writes(made)
    return f"{written}\n"


def main(folder: Path) -> None:
    """Write every notebook."""
    folder.mkdir(parents=True, exist_ok=True)
    for tutorial in TUTORIALS:
        (folder / f"{tutorial}.ipynb").write_text(notebook(tutorial), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
