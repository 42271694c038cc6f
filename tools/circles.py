"""Looks for circles among the files of each Rust crate: files that use one another cannot be understood one at a time.

    python tools/circles.py           # exits with status 1 and names a circle of each crate that has one

A file uses another where it names an item of it, by a ``use`` or in its code. What a file only hands on (``pub use``,
and nothing of it in its own code) is no use of it: an item is looked up where it is defined. Tests do not count.
What a method of another file does is not seen.

A macro that takes names alone is expanded where it is used, and so is one that it hands them to (``rust_macros.py``): a
file that makes something of a list of modules uses each of them.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rust_macros import Macros, without_definitions

CRATES: Final = Path(__file__).parent.parent / "crates"
Module = tuple[str, ...]

# Names are handed on no more often than this.
_DEPTH: Final = 8
_NOISE: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|\bin (?:crate|super)(?:::\w+)*(?=\))|\bmod \w+;""",
    re.DOTALL,
)
_USE: Final = re.compile(r"(?P<pub>\bpub(?:\([a-z :]+\))?\s+)?\buse\s+(?P<tree>[^;]+);")
_BARE: Final = re.compile(r"(?<![\w:.$])[a-z]\w*(?:::\w+)+")
_EXPORTED: Final = re.compile(r"#\[macro_export\]\s*macro_rules!\s*(\w+)")
_PATH: Final = re.compile(r"(?<![\w:])(?:crate|super|self)(?:::\w+)+")


def modules(source: Path) -> dict[Module, Path]:
    """Return the files of a crate by the modules that they are; files of tests are left out."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        if "bin" in parts or file.stem.endswith("tests") or file.stem in {"main", "testing"}:
            continue
        found[parts[:-1] if parts[-1] in {"lib", "mod"} else parts] = file
    return found


def without_tests(text: str) -> str:
    """Return a file's text without comments, strings, what only declares modules, and the module of its tests."""
    text = _NOISE.sub(" ", text)
    start = re.search(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z :]+\))?\s+)?mod\s+\w+\s*\{", text)
    return text[: start.start()] if start else text


def leaves(tree: str) -> Iterator[tuple[list[str], str]]:
    """Yield each path of a ``use``, and the name that it has from then on."""
    tree = tree.strip()
    if "{" in tree:
        prefix, rest = tree.split("{", 1)
        depth, part = 0, ""
        for char in rest[: rest.rindex("}")] + ",":
            depth += {"{": 1, "}": -1}.get(char, 0)
            if char == "," and depth == 0:
                if part.strip():
                    yield from leaves(prefix + part.strip())
                part = ""
            else:
                part += char
        return
    path, _, alias = tree.partition(" as ")
    parts = [p.strip() for p in path.split("::") if p.strip()]
    if len(parts) > 1 and parts[-1] == "self":
        parts.pop()
    if parts:
        yield parts, alias.strip() or parts[-1]


class Crate:
    """The files of a crate, and which uses which."""

    def __init__(self, source: Path) -> None:
        """Read it."""
        self.files = modules(source)
        self.names: dict[Module, dict[str, list[str]]] = {}
        self.globs: dict[Module, list[list[str]]] = {}
        used: dict[Module, list[list[str]]] = {}
        self.texts = {module: without_tests(file.read_text(encoding="utf-8")) for module, file in self.files.items()}
        self.exported = {macro: module for module, text in self.texts.items() for macro in _EXPORTED.findall(text)}
        macros = Macros()
        for text in self.texts.values():
            macros.read(text)
        for module, own in self.texts.items():
            macros.read(own)
            text = own + " " + macros.expanded(own)
            code = _USE.sub(" ", text)
            words = set(re.findall(r"(?<![\w:.])\w+\b(?!\s*!)", _USE.sub(" ", without_definitions(own))))
            self.names[module], self.globs[module], used[module] = {}, [], []
            for use in _USE.finditer(text):
                for path, name in leaves(use["tree"]):
                    if name == "*":
                        self.globs[module].append(path[:-1])
                        items = words & self.items(self.target(module, path[:-1]))
                    else:
                        self.names[module][name] = path
                        items = words & {name}
                    if not use["pub"] or items:
                        used[module].append(path)
            used[module] += [m[0].split("::") for m in _PATH.finditer(code)]
            bare = [m[0].split("::") for m in _BARE.finditer(code)]
            used[module] += [path for path in bare if (*module, path[0]) in self.files]
        self.graph = {
            module: {t for path in paths if (t := self.target(module, path)) not in {None, module}}
            for module, paths in used.items()
        }

    def target(self, module: Module, path: list[str], depth: int = 0) -> Module | None:
        """Return the module that defines what a path in a module names; ``None`` outside of the crate."""
        if path[0] not in {"crate", "self", "super"} and (*module, path[0]) not in self.files:
            return None
        if path[0] == "crate" and path[-1] in self.exported and path[1:] == path[-1:]:
            return self.exported[path[-1]]
        at, rest = (() if path[0] == "crate" else module), list(path)
        while rest and rest[0] in {"crate", "self", "super"}:
            if rest.pop(0) == "super":
                at = at[:-1]
        while rest and (*at, rest[0]) in self.files:
            at = (*at, rest.pop(0))
        if rest and depth < _DEPTH:
            onward = self.names.get(at, {}).get(rest[0])
            if onward is not None and (found := self.target(at, [*onward, *rest[1:]], depth + 1)):
                return found
            for glob in self.globs.get(at, []):
                inside = self.target(at, glob, depth + 1)
                if rest[0] in self.items(inside):
                    return inside
        return at if at in self.files else None

    def items(self, module: Module | None) -> set[str]:
        """Return the names of what a module's file defines."""
        text = "" if module is None else self.texts[module]
        return set(re.findall(r"(?<!\*)\b(?:fn|struct|enum|trait|type|const|static|mod)\s+(\w+)", text))

    def circle(self) -> list[Module]:
        """Return a circle, first and last the same; empty if there is none."""
        done: set[Module] = set()

        def search(module: Module, trail: list[Module]) -> list[Module]:
            if module in trail:
                return [*trail[trail.index(module) :], module]
            if module not in done:
                for target in sorted(self.graph[module]):
                    if found := search(target, [*trail, module]):
                        return found
                done.add(module)
            return []

        for module in sorted(self.graph):
            if found := search(module, []):
                return found
        return []


def main() -> int:
    """Print a circle of every crate that has one."""
    status = 0
    for source in sorted(CRATES.glob("*/src")):
        name = source.parent.name
        circle = Crate(source).circle()
        if circle:
            status = 1
            names = " uses ".join("::".join(m) or "lib" for m in circle)
            sys.stderr.write(f"{name}: {names}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
