"""Which files of the package import which: arrows go one way, between files and between packages."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

import sojourn

ROOT = Path(sojourn.__file__).parent

Graph = Mapping[str, set[str]]


def imports(root: Path, package: str) -> dict[str, set[str]]:
    """Return what each module of a package imports of it: also in functions, and for types only.

    That a module's packages are imported before it is not counted: then whatever a package gives out of its modules
    would be a circle. What is named as a text and imported when it is asked for is an extension and no import.
    """
    files = {
        ".".join((package, *path.relative_to(root).with_suffix("").parts)): path
        for path in root.rglob("*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    modules = {name.removesuffix(".__init__"): path for name, path in files.items()}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        own: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                own |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} imports by a relative name"
                base = node.module or ""
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    own.add(full if full in modules else base)
        found[name] = {other for other in own if other in modules and other != name}
    return found


def circle(graph: Graph) -> list[str]:
    """Return a circle of the graph, first and last the same; empty if there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in sorted(graph):
        if found := walk(name, []):
            return found
    return []


def by_package(graph: Graph) -> dict[str, set[str]]:
    """Return which packages, and modules beside them, import which."""

    def home(name: str) -> str:
        return ".".join(name.split(".")[:2])

    found: dict[str, set[str]] = {}
    for name, others in graph.items():
        found.setdefault(home(name), set()).update(home(other) for other in others if home(other) != home(name))
    return found


def test_no_file_imports_another_in_a_circle() -> None:
    assert circle(imports(ROOT, "sojourn")) == []


def test_no_package_imports_another_in_a_circle() -> None:
    # The front door gives out what is behind it, lazily; nothing behind it comes back through it.
    graph = by_package(imports(ROOT, "sojourn"))
    del graph["sojourn"]
    assert circle(graph) == []


def test_what_is_below_knows_nothing_of_what_is_above() -> None:
    graph = by_package(imports(ROOT, "sojourn"))
    assert graph["sojourn.errors"] == set()
    assert graph["sojourn.core"] <= {"sojourn.errors", "sojourn._core"}
    assert graph["sojourn.runner"] <= {"sojourn.core", "sojourn.errors", "sojourn._core"}
    everything = set(graph) - {"sojourn", "sojourn.__main__", "sojourn.cli"}
    assert all("sojourn.cli" not in graph[name] for name in everything)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ({"a": "from p import b", "b": "from p.c import x", "c": ""}, []),
        ({"a": "from p import b", "b": "def f():\n    from p.a import x"}, ["p.a", "p.b", "p.a"]),
        ({"a": "if TYPE_CHECKING:\n    import p.b", "b": "from p.a import x"}, ["p.a", "p.b", "p.a"]),
    ],
)
def test_a_circle_is_found(tmp_path: Path, texts: Mapping[str, str], found: Iterable[str]) -> None:
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert circle(imports(tmp_path, "p")) == found
