"""What the command line says of plugins."""

from collections.abc import Iterable

from sojourn.cli.screen import say
from sojourn.core.store import RunKey


def note_plugins(keys: Iterable[RunKey]) -> None:
    """Say once of each plugin of these runs that it is native code."""
    note_files(plugin["path"] for key in keys for plugin in key.scenario.get("plugins", []))


def note_files(files: Iterable[str]) -> None:
    """Say once of each of these plugins that it is native code."""
    for file in dict.fromkeys(files):
        say(f"plugin {file}: native code, which runs with your rights")
