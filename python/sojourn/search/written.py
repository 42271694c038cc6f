"""An experiment file as a tree, with settings written into it where they belong.

The language merges settings over a file when it is resolved. People read, keep and simplify a file that has them
itself: so they are put into the tree here, by the same paths. A test compares with the language: the file resolves to
the very scenario of the settings.
"""

import copy
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from sojourn.errors import UsageError
from sojourn.experiments import document

Tree: TypeAlias = dict[str, Any]


def split(setting: str) -> tuple[list[str], Any]:
    """Return the path and the value of ``PATH=VALUE``.

    >>> split('hop.bottleneck.rate="20mbit"'), split("flow.a.count=3")
    ((['hop', 'bottleneck', 'rate'], '20mbit'), (['flow', 'a', 'count'], 3))
    """
    path, _, value = setting.partition("=")
    try:
        said = tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        said = value.strip()
    # A path is a key of TOML's: nested tables of one entry each.
    keys: list[str] = []
    inner: Any = tomllib.loads(f"{path.strip()} = 0")
    while isinstance(inner, dict):
        ((key, inner),) = inner.items()
        keys.append(key)
    return keys, said


def put(tree: Tree, setting: str) -> None:
    """Write a setting into the tree.

    Raises:
        UsageError: if the path leads nowhere.
    """
    keys, value = split(setting)
    place: Any = tree
    for key in keys[:-1]:
        if isinstance(place, list):
            found = [item for item in place if isinstance(item, dict) and item.get("name") == key]
            if not found:
                raise UsageError(f"there is nothing called {key} to set {setting}")
            place = found[0]
        else:
            place = place.setdefault(key, {})
    if not isinstance(place, dict):
        raise UsageError(f"{setting} does not name a setting")
    place[keys[-1]] = value


def get(tree: Tree, keys: Sequence[str]) -> Any:  # noqa: ANN401 - what TOML can say
    """Return the value at a path; None if there is none."""
    place: Any = tree
    for key in keys:
        if isinstance(place, list):
            place = next((item for item in place if isinstance(item, dict) and item.get("name") == key), None)
        elif isinstance(place, dict):
            place = place.get(key)
        else:
            return None
    return place


def written(text: str, settings: Sequence[str]) -> Tree:
    """Return a file's tree with these settings, without its ``[search]`` and its own checks."""
    tree = tomllib.loads(text)
    for key in ("search", "check"):
        tree.pop(key, None)
    for setting in settings:
        put(tree, setting)
    return tree


def text_of(tree: Tree) -> str:
    """Return the tree as a file."""
    return document.toml(**tree)


def leaves(tree: Tree) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield every key of every table below, with its way and its value; tables before their keys."""

    def walk(way: tuple[str | int, ...], value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:  # noqa: ANN401
        if isinstance(value, dict):
            for key, own in value.items():
                yield (*way, key), own
                yield from walk((*way, key), own)
        elif isinstance(value, list):
            for index, own in enumerate(value):
                if isinstance(own, dict):
                    yield (*way, index), own
                    yield from walk((*way, index), own)

    yield from walk((), tree)


def without(tree: Tree, way: Sequence[str | int]) -> Tree:
    """Return the tree without the value at the end of this way; a list that is empty then is gone, too."""
    own = copy.deepcopy(tree)
    place: Any = own
    for key in way[:-1]:
        place = place[key]
    del place[way[-1]]
    if isinstance(place, list) and not place:
        return without(own, way[:-1])
    return own


def with_value(tree: Tree, way: Sequence[str | int], value: Any) -> Tree:  # noqa: ANN401 - what TOML can say
    """Return the tree with another value there."""
    own = copy.deepcopy(tree)
    place: Any = own
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = value
    return own
