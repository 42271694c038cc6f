"""Modules that a user's file imports from its own folder: they are part of a run's identity.

They are found by reading the imports, also those of imported modules, and are read again whenever the file is: a module
of the same name that somebody else has imported is neither used nor replaced. Relative imports are not understood,
since a file is no package. They can be imported while the file is read, and not later from within a function.
"""

import ast
import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def siblings(path: str, content: bytes) -> dict[str, Path]:
    """Return the files in its folder that a file imports, directly or indirectly, by module name.

    What is no Python is passed over: whoever runs it says so.
    """
    folder = Path(path).parent
    found: dict[str, Path] = {}
    todo = [content]
    while todo:
        for name in _imported(todo.pop()):
            file = _file(folder, name)
            if file is None or name in found or file == Path(path):
                continue
            found[name] = file
            todo.append(file.read_bytes())
    return dict(sorted(found.items()))


def _imported(content: bytes) -> Iterator[str]:
    """Yield every module that a text imports, and the packages that it is in."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # What is imported from a package may be a module of it.
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def _file(folder: Path, name: str) -> Path | None:
    place = folder.joinpath(*name.split("."))
    candidates = (place / "__init__.py", place.with_name(f"{place.name}.py"))
    return next((file for file in candidates if file.is_file()), None)


@contextmanager
def importable(folder: Path, modules: Mapping[str, Path]) -> Iterator[None]:
    """Let these modules be imported from a folder, and nobody else see them."""
    if not modules:
        yield
        return
    others = {name: sys.modules.pop(name) for name in modules if name in sys.modules}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(others)
