"""Messages about plugins and a user's Python files."""

from collections.abc import Iterable

from sojourn.cli.screen import say
from sojourn.core.store import RunKey
from sojourn.custom.loading import doubts


def note_plugins(keys: Iterable[RunKey]) -> None:
    """Say once of each plugin and each Python file of these runs that it is a program."""
    named = [plugin for key in keys for plugin in key.scenario.plugins]
    note_files(plugin["path"] for plugin in named if "name" not in plugin)
    for file in dict.fromkeys(plugin["path"] for plugin in named if "name" in plugin):
        note_python(file)


def note_python(file: str) -> None:
    """Say of a Python file that it is a program, and what in it may make results differ from run to run."""
    say(f"{file}: Python code, which runs with your rights")
    for doubt in doubts(file):
        say(f"{file}: {doubt}: results that depend on it are not reproducible; use view.random() for random numbers")


def note_files(files: Iterable[str]) -> None:
    """Say once of each of these plugins that it is native code."""
    for file in dict.fromkeys(files):
        say(f"plugin {file}: native code, which runs with your rights")
