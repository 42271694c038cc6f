"""Seeds mistakes in a copy of our implementations, and asks which of them `sojourn conformance` catches.

    tools/mutants.py check                      # whether every mistake still finds its place; builds nothing
    tools/mutants.py build                      # the copy with all of them: some minutes, once
    tools/mutants.py run [NAME...]              # every mistake of tools/mutations/NAME.toml, all unless named
    tools/mutants.py run --number 4             # this one alone
    tools/mutants.py run --csv docs/tables/mutants.csv    # and write the table of the site's page

`run` exits with status 1 if fewer are caught than a list says (`least`); of those named by their number, if one is not.

A mistake is data: a place in a source file (`file`, the text `at`, and `old` within it), and the text to replace `old`
with (`new`). Compiling each by itself would take hours, so all are compiled at once (mutant schemata): where `old`
stood, the copy has `if mutant(N) { new } else { old }`, and the environment says which N a process has. The copy is
built in `target`, and the product does not know it.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
LISTS: Final = ROOT / "tools" / "mutations"
PLACE: Final = ROOT / "target" / "mutants"
TREE: Final = PLACE / "tree"
SITE: Final = PLACE / "site"
VARIABLE: Final = "SOJOURN_MUTANT"
NOT_CAUGHT: Final = "not caught"

_SWITCH: Final = f"""
extern crate std;

/// Whether this process has this mistake; written by tools/mutants.py.
#[allow(clippy::all, clippy::pedantic, missing_docs)]
pub fn mutant(number: u32) -> bool {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| {{
        std::env::var("{VARIABLE}").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    }}) == number
}}
"""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mistake."""

    number: int
    what: str
    file: str
    at: str
    """A text that the file has once."""
    old: str
    """What in it is replaced: an expression, or a statement with its semicolon."""
    new: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of mistakes."""

    name: str
    document: str
    """The document of the cases that are to catch them."""
    subject: str
    least: int
    """The number that must be caught."""
    prepare: Sequence[tuple[str, str, str]]
    """File, old text and new one: changes for all of them that keep the behaviour."""
    mutations: Sequence[Mutation]


@dataclass(frozen=True, slots=True)
class Caught:
    """What came of a mistake."""

    mutation: Mutation
    cases: Sequence[str]
    """The cases that fail with it, and pass without."""
    stopped: bool = False
    """Whether an assertion or an overflow check of the implementation ended it before a case was judged. No case has
    caught it then: a release has no such checks."""


def lists(names: Iterable[str] = ()) -> list[Listed]:
    """Return the files of mistakes of these names, all unless named."""
    wanted = list(names) or sorted(path.stem for path in LISTS.glob("*.toml"))
    found = []
    for name in wanted:
        tree = tomllib.loads((LISTS / f"{name}.toml").read_text(encoding="utf-8"))
        prepare = [(one["file"], one["old"], one["new"]) for one in tree.get("prepare", [])]
        mutations = [Mutation(**one) for one in tree["mutation"]]
        found.append(Listed(name, tree["document"], tree["subject"], tree["least"], prepare, mutations))
    numbers = [mutation.number for own in found for mutation in own.mutations]
    if len(numbers) != len(set(numbers)):
        raise ValueError("two mistakes have the same number")
    return found


def patched(text: str, mutations: Sequence[Mutation]) -> str:
    """Return a file's text with these mistakes in it, each behind its switch.

    >>> one, two = (Mutation(n, "", "f", "let x = a + b;", "a", new) for n, new in ((1, "0"), (2, "1")))
    >>> patched("let x = a + b;", [one, two])
    'let x = (if sojourn_units::mutant(2) { 1 } else { (if sojourn_units::mutant(1) { 0 } else { a }) }) + b;'

    Raises:
        ValueError: if a mistake does not find its place, or finds two.
    """
    for place in dict.fromkeys((one.at, one.old) for one in mutations):
        at, old = place
        count = text.count(at)
        if count != 1 or at.count(old) != 1:
            raise ValueError(f'"{at}" is {count} times in the file, and "{old}" {at.count(old)} times in it')
        made = old
        for one in mutations:
            if (one.at, one.old) == place:
                switch = f"if sojourn_units::mutant({one.number}) {{ {one.new} }} else {{ {made} }}"
                made = switch if old.endswith(";") else f"({switch})"
        text = text.replace(at, at.replace(old, made))
    return text


def patched_files(own: Sequence[Listed]) -> dict[str, str]:
    """Return the texts of the files that have mistakes."""
    prepared: dict[str, str] = {}
    by_file: dict[str, list[Mutation]] = {}
    for one in own:
        for file, old, new in one.prepare:
            text = prepared.get(file) or (ROOT / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise ValueError(f'{file}: "{old}" is {text.count(old)} times in it')
            prepared[file] = text.replace(old, new)
        for mutation in one.mutations:
            by_file.setdefault(mutation.file, []).append(mutation)
    texts = {}
    for file, mutations in by_file.items():
        text = prepared.get(file) or (ROOT / file).read_text(encoding="utf-8")
        # Places that overlap are patched from the one that holds more: its text is found as it was written.
        for at in dict.fromkeys(one.at for one in mutations):
            try:
                text = _at(text, at, [one for one in mutations if one.at == at])
            except ValueError as error:
                raise ValueError(f"{file}: {error}") from None
        texts[file] = text
    return {**prepared, **texts}


def _at(text: str, at: str, mutations: Sequence[Mutation]) -> str:
    """Patch one place, which may have several mistakes in different parts of it."""
    if text.count(at) != 1:
        raise ValueError(f'"{at}" is {text.count(at)} times in it')
    place = at
    for old in dict.fromkeys(one.old for one in mutations):
        same = [replace(one, at=place) for one in mutations if one.old == old]
        place = patched(place, same)
    return text.replace(at, place)


def build() -> None:
    """Build the copy with every mistake in it."""
    texts = patched_files(lists())
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - git as it is found
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in names:
        if not (ROOT / name).is_file() or name.startswith(("docs/", "tests/")) or "/fuzz/" in name:
            continue
        text = texts.get(name, "").encode() or (ROOT / name).read_bytes()
        if name == "crates/units/src/lib.rs":
            text += _SWITCH.encode()
        if name == "Cargo.toml":
            text = _named_apart(text)
        copy = TREE / name
        # What is as it was keeps its time, so that it is not compiled again.
        if not copy.exists() or copy.read_bytes() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(text)
    shutil.rmtree(PLACE / "wheel", ignore_errors=True)
    maturin = Path(sys.executable).parent / "maturin"
    _forget_the_extension()
    done = subprocess.run(  # noqa: S603 - the project's own
        [maturin, "build", "--quiet", "--profile", "checked", "--out", PLACE / "wheel"],
        cwd=TREE,
        check=False,
        capture_output=True,
        text=True,
        # The dependencies are compiled already; the project's own crates have another version and are others.
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")},
    )
    _forget_the_extension()
    if done.returncode:
        raise SystemExit(done.stderr)
    _site()


def _forget_the_extension() -> None:
    """Remove the extension that was linked last, so that the next build links its own.

    A library for others to load has no hash in its name: the copy's and the project's are one file, and cargo takes
    either for fresh if what it was made of has not changed.
    """
    for name in ("lib_core.so", "lib_core.dylib", "_core.dll"):
        (ROOT / "target" / "checked" / "deps" / name).unlink(missing_ok=True)


def _named_apart(manifest: bytes) -> bytes:
    """Give the copy's crates a version of their own.

    Cargo tells a workspace's crates by name, version and place in the workspace. Without this it would take the copy's
    for the project's, and the project's next build would have the mistakes in it and not see its own changes.
    """
    named, count = re.subn(rb'(?m)^(version = "[0-9.]+)"', rb'\1+mutants"', manifest, count=1)
    if count != 1:
        raise ValueError("Cargo.toml states no version of the workspace")
    return named


def _site() -> None:
    """Make a package of the project's own Python with the copy's extension."""
    shutil.rmtree(SITE, ignore_errors=True)
    (SITE / "sojourn").mkdir(parents=True)
    for path in (ROOT / "python" / "sojourn").iterdir():
        if path.suffix == ".pyi" or not (path.name == "__pycache__" or path.name.startswith("_core.")):
            (SITE / "sojourn" / path.name).symlink_to(path)
    wheel = next((PLACE / "wheel").glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"sojourn/_core\.[^/]*(so|pyd)", name):
                archive.extract(name, SITE)


def _verdicts(own: Listed, number: int) -> dict[str, str]:
    """Return the verdict of each case with this mistake; 0 for none. Nothing if the run itself came to an end."""
    asked = [own.document, _option(own), own.subject, "--format", "json", "-q"]
    done = subprocess.run(  # noqa: S603 - the project's own
        [sys.executable, "-m", "sojourn", "conformance", *asked],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SITE), VARIABLE: str(number)},
    )
    if done.returncode not in {0, 1}:
        return {} if number else _complain(done.stderr)
    return {one["case"]: one["verdict"] for one in json.loads(done.stdout)["cases"]}


def _complain(text: str) -> dict[str, str]:
    raise SystemExit(f"without any mistake the cases do not run:\n{text}")


def _option(own: Listed) -> str:
    return "--qdisc" if own.document in {"dualq", "marking"} else "--cc"


def judge(own: Listed, numbers: Sequence[int] = ()) -> list[Caught]:
    """Return which cases catch each mistake of a list: those that fail with it and do not without."""
    sound = _verdicts(own, 0)
    wanted = [one for one in own.mutations if not numbers or one.number in numbers]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        verdicts = list(pool.map(lambda one: _verdicts(own, one.number), wanted))
    return [
        Caught(
            one,
            [case for case, verdict in found.items() if verdict == "failed" and sound.get(case) != "failed"],
            stopped=not found,
        )
        for one, found in zip(wanted, verdicts, strict=True)
    ]


def rows(found: Sequence[tuple[Listed, Sequence[Caught]]]) -> Iterator[Sequence[str]]:
    """Yield the rows of docs/tables/mutants.csv: a mistake each, with the cases that catch it."""
    yield "control", "document", "mistake", "caught by"
    for own, caught in found:
        for one in caught:
            yield own.subject, own.document, one.mutation.what, _cases(one)


def _cases(one: Caught) -> str:
    cases = ", ".join(case.partition("/")[2] for case in one.cases) or NOT_CAUGHT
    return f"{cases}: an assertion of the implementation ended the run" if one.stopped else cases


def markdown(found: Sequence[tuple[Listed, Sequence[Caught]]]) -> str:
    """Return the tables of what was caught, by which cases."""
    lines = []
    for own, caught in found:
        hits = sum(bool(one.cases) for one in caught)
        lines += [f"## `{own.subject}` by `{own.document}`: {hits} of {len(caught)}", ""]
        lines += ["| mistake | caught by |", "|---|---|"]
        for one in caught:
            lines.append(f"| {one.mutation.what} | {_cases(one).replace(NOT_CAUGHT, f'**{NOT_CAUGHT}**')} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "build", "run"])
    parser.add_argument("names", nargs="*", metavar="NAME", help="lists of mistakes; all unless named")
    parser.add_argument("--number", type=int, action="append", default=[], help="only this mistake; may be repeated")
    parser.add_argument("--csv", type=Path, metavar="FILE.csv", help="write the table to this file")
    asked = parser.parse_args()
    if asked.what == "check":
        patched_files(lists())
        return
    if asked.what == "build":
        build()
        return
    found = [(own, judge(own, asked.number)) for own in lists(asked.names)]
    text = markdown(found)
    print(text)  # noqa: T201 - a tool's output
    short = [
        own.name
        for own, caught in found
        if sum(bool(one.cases) for one in caught) < (len(caught) if asked.number else own.least)
    ]
    if asked.csv is not None:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows(found))
    if short:
        raise SystemExit(f"too few are caught: {', '.join(short)}")


if __name__ == "__main__":
    main()
