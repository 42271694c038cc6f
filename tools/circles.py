"""Looks for circles among the files of each Rust crate: files that use one another cannot be understood one at a time.

    python tools/circles.py           # exits with status 1 and names a circle of each crate that has one

A file uses another where it names an item of it, by a ``use`` or in its code. What a file only hands on (``pub use``)
is no use of it: an item is looked up where it is defined. Tests do not count.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CRATES: Final = Path(__file__).parent.parent / "crates"
# Crates that still have circles. To be emptied, never to be added to.
EXEMPT: Final = frozenset({"qdisc", "transport"})

Module = tuple[str, ...]

# Names are handed on no more often than this.
_DEPTH: Final = 8
_NOISE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
_USE: Final = re.compile(r"(?P<pub>\bpub(?:\([a-z :]+\))?\s+)?\buse\s+(?P<tree>[^;]+);")
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
    """Return a file's text without comments, strings, and the module of its tests."""
    text = _NOISE.sub(" ", text)
    start = re.search(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{", text)
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
        for module, file in self.files.items():
            text = without_tests(file.read_text(encoding="utf-8"))
            self.names[module], self.globs[module], used[module] = {}, [], []
            for use in _USE.finditer(text):
                for path, name in leaves(use["tree"]):
                    if name == "*":
                        self.globs[module].append(path[:-1])
                    else:
                        self.names[module][name] = path
                    if not use["pub"]:
                        used[module].append(path)
            used[module] += [m[0].split("::") for m in _PATH.finditer(_USE.sub(" ", text))]
        self.graph = {
            module: {t for path in paths if (t := self.target(module, path)) not in {None, module}}
            for module, paths in used.items()
        }

    def target(self, module: Module, path: list[str], depth: int = 0) -> Module | None:
        """Return the module that defines what a path in a module names; ``None`` outside of the crate."""
        if path[0] not in {"crate", "self", "super"} and (*module, path[0]) not in self.files:
            return None
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
                if inside is not None and self.defines(inside, rest[0]):
                    return inside
        return at if at in self.files else None

    def defines(self, module: Module, name: str) -> bool:
        """Return whether a module's file has an item of this name."""
        text = without_tests(self.files[module].read_text(encoding="utf-8"))
        return bool(re.search(rf"\b(?:fn|struct|enum|trait|type|const|static|mod)\s+{name}\b", text))

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
    """Print a circle of every crate that has one and should not, and every exemption that is no longer needed."""
    status = 0
    for source in sorted(CRATES.glob("*/src")):
        name = source.parent.name
        circle = Crate(source).circle()
        if circle and name not in EXEMPT:
            status = 1
            names = " uses ".join("::".join(m) or "lib" for m in circle)
            sys.stderr.write(f"{name}: {names}\n")
        if not circle and name in EXEMPT:
            status = 1
            sys.stderr.write(f"{name}: no circle any more; take it off EXEMPT\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
