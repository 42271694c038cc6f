"""The pages keep their word: their examples run.

In README.md and `docs/`, blocks of `sh`, `python` and `toml` are run, a page at a time, in order, in a folder of its
own:

- `sh` by a shell that stops at the first command that fails;
- `python` as a program;
- `toml` with an `[experiment]` is read and every cell of it planned; other TOML is read, as is a case of a
  specification.

A comment directly above a block says what else is to be known of it: `<!-- file: NAME -->` writes the block there for
those that follow, `<!-- uses: PAGE NAME -->` takes such a file from another page, and `<!-- not run: WHY -->` leaves
the block out.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from markdown_it import MarkdownIt

import sojourn
from sojourn.errors import SojournError

ROOT: Final = Path(__file__).parent.parent.parent

BUILT: Final = (
    "docs/reference/",
    "docs/gallery/",
    "docs/claims/",
    "docs/labs/",
    "docs/validation/",
    "docs/conformance-results.md",
    "docs/published.md",
)
"""What the site's build writes, by the tools that tools/mkdocs_footer.py names."""

PAGES: Final = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    # Those are written by the site's build and may be missing.
    if not any(page.is_relative_to(ROOT / built) for built in BUILT)
)

RUN: Final = {"sh", "python", "toml"}

SECONDS: Final = 120


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with what the comment above it says."""

    line: int
    language: str
    text: str
    notes: tuple[tuple[str, str], ...]

    def note(self, name: str) -> str | None:
        """Return what the comment says behind this word."""
        return dict(self.notes).get(name)


def blocks(page: str) -> Iterator[Block]:
    """Yield the page's fenced blocks."""
    comment = ""
    for token in MarkdownIt("commonmark").parse((ROOT / page).read_text()):
        if token.type == "html_block":
            comment = token.content
            continue
        if token.type == "fence":
            assert token.map is not None
            notes = re.findall(r"<!-- (not run|file|uses): (.*?) -->", comment, re.DOTALL)
            yield Block(token.map[0] + 1, token.info.split(" ")[0], token.content, tuple(notes))
        if not token.type.endswith("_open"):
            comment = ""


def is_run(block: Block) -> bool:
    return block.language in RUN and block.note("not run") is None


def named(page: str, file: str) -> str:
    """Return the text of a page's block that has this file name."""
    for block in blocks(page):
        if block.note("file") == file:
            return block.text
    raise AssertionError(f"{page} has no block with <!-- file: {file} -->")


def command(words: list[str | Path], folder: Path, place: str) -> None:
    """Run a program in a folder; a failure shows what it wrote."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "COLUMNS": "110",
        "MPLCONFIGDIR": str(folder / ".matplotlib"),
        "SOJOURN": str(ROOT),
    }
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, f"{place} exited with status {done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", [page for page in PAGES if any(is_run(b) or b.note("uses") for b in blocks(page))])
def test_what_a_page_shows_runs(page: str, tmp_path: Path) -> None:
    for block in blocks(page):
        place = f"{page}:{block.line}"
        if (used := block.note("uses")) is not None:
            other, file = used.split()
            at = os.path.normpath(Path(page).parent / other)
            (tmp_path / file).write_text(named(at, file))
        if (own := block.note("file")) is not None:
            (tmp_path / own).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / own).write_text(block.text)
        if not is_run(block):
            continue
        if block.language == "sh":
            command(["sh", "-eu", "-c", block.text], tmp_path, place)
        elif block.language == "python":
            program = tmp_path / f"line-{block.line}.py"
            program.write_text(block.text)
            command([sys.executable, "-W", "error", program], tmp_path, place)
        # A case of a specification is an experiment with tables more, which its page's own commands read.
        elif "experiment" in (tree := tomllib.loads(block.text)) and "case" not in tree:
            try:
                sojourn.parse(block.text, place, folder=tmp_path)
            except SojournError as error:
                raise AssertionError(f"{place}: {error}") from error


@pytest.mark.parametrize("page", PAGES)
def test_a_block_that_is_not_run_says_why(page: str) -> None:
    for block in blocks(page):
        reason = block.note("not run")
        assert reason is None or len(reason.split()) > 2, f"{page}:{block.line}"
        assert block.language, f"{page}:{block.line}: a block says what it is: sh, python, toml, rust, text"


@pytest.mark.parametrize("page", [page for page in PAGES if page != "README.md"])
def test_commands_stand_in_blocks_that_are_run(page: str) -> None:
    """Indented blocks are not looked at, so no command may hide in one."""
    for token in MarkdownIt("commonmark").parse((ROOT / page).read_text()):
        if token.type == "code_block":
            assert token.map is not None
            assert not re.search(r"^\s*(sojourn|make|cargo|flent|tshark) ", token.content, re.MULTILINE), (
                f"{page}:{token.map[0] + 1}: a command in an indented block; put it between ```sh and ```"
            )


CITED: Final = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")
"""A page as code and pages name it: by its path from the repository's root."""

CITING: Final = {".rs", ".py", ".pyi", ".toml", ".c", ".cpp", ".zig", ".h", ".md", ".sh", ".yml"}


def test_every_page_that_a_line_cites_is_there() -> None:
    folders = [ROOT / name for name in ("crates", "docs", "examples", "python", "tests", "tools")]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in CITING]
    found = 0
    for file in [*files, *ROOT.glob("*.md"), *ROOT.glob("*.toml"), ROOT / "Makefile"]:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for page in CITED.findall(line):
                found += 1
                if not page.startswith(BUILT):
                    assert (ROOT / page).exists(), f"{file.relative_to(ROOT)}:{number} cites {page}, which is not there"
    assert found > 50
