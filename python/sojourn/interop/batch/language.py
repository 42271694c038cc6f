"""The grammar of a batch file: sections, keys and values, each with its place; and inheritance.

Flent reads batch files with Python's ``RawConfigParser``: ``[Type::name]``, ``key = value``, values that go on over
indented lines, comments that begin a line with ``#`` or ``;``. That parser forgets lines, which is why this one exists.
Names and keys are lower-cased. A section takes what its ``inherits`` name: the child wins over all, a later parent over
an earlier one; everything is inherited but ``abstract``.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sojourn.errors import ExperimentError
from sojourn.interop.batch.placed import File, Placed

Values = dict[str, Placed]
"""Keys with their values, in the order that ``for_`` keys are multiplied in."""

_KINDS: Final = ("batch", "arg", "command")
_HEADER: Final = re.compile(r"\[(?P<name>[^]]*)\]\s*$")
_KEY: Final = re.compile(r"(?P<key>[^=:\s][^=:]*?)\s*[=:]\s*(?P<value>.*)$")
_TRUE: Final = frozenset({"yes", "true", "on"})
_FALSE: Final = frozenset({"no", "false", "off"})


@dataclass(slots=True)
class Section:
    """A section as it is written, and after inheritance."""

    name: str
    line: int
    values: Values

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a yes or no; anything else counts as yes where it is not empty, as in Flent."""
        value = self.values.get(key)
        if value is None:
            return default
        word = value.text.strip().lower()
        return word not in _FALSE and bool(word)

    @property
    def runs(self) -> bool:
        """Whether a batch is neither abstract nor disabled."""
        return (
            not self.flag("abstract", default=False)
            and not self.flag("disabled", default=False)
            and self.flag("enabled", default=True)
        )


@dataclass(frozen=True, slots=True)
class Batches:
    """A batch file, its inheritance resolved."""

    file: File
    batches: Mapping[str, Section]
    args: Mapping[str, Section]
    commands: Mapping[str, Section]


def read(text: str, name: str) -> Batches:
    """Read a batch file.

    Args:
        text: its text.
        name: its name in errors.

    Raises:
        ExperimentError: at the first line that is not right.
    """
    file = File(name, tuple(text.splitlines()))
    found: dict[str, dict[str, Section]] = {kind: {} for kind in _KINDS}
    for kind, section in _sections(file):
        if section.name in found[kind]:
            first = found[kind][section.name].line
            raise file.error(
                f"there are two sections [{kind}::{section.name}]; the first is in line {first}", section.line
            )
        found[kind][section.name] = section
    for kind in _KINDS:
        for section in found[kind].values():
            _inherit(section, found[kind], kind, file)
    return Batches(file, found["batch"], found["arg"], found["command"])


def _sections(file: File) -> list[tuple[str, Section]]:
    sections: list[tuple[str, Section]] = []
    key: str | None = None
    for number, line in enumerate(file.source, 1):
        body = line.strip()
        if body.startswith(("#", ";")) or not body:
            continue
        if line[0].isspace() and key is not None:
            values = sections[-1][1].values
            before = values[key]
            values[key] = Placed(f"{before.text}\n{body}", (*before.lines, number, *(number,) * len(body)), before.line)
            continue
        key = None
        header = _HEADER.match(body)
        if header:
            sections.append(_open(header["name"], number, file))
            continue
        pair = _KEY.match(body)
        if pair is None:
            raise file.error(
                "this is neither a section nor a key",
                number,
                help="a section is [Batch::name], a key is `name = value`; a value goes on over indented lines",
            )
        if not sections:
            raise file.error("there is no section yet", number, help="sections begin with [Batch::name]")
        key = pair["key"].strip().lower()
        values = sections[-1][1].values
        if key in values:
            raise file.error(f"{key} is given twice; first in line {values[key].line}", number)
        values[key] = Placed.of(pair["value"], number)
    return sections


def _open(header: str, number: int, file: File) -> tuple[str, Section]:
    kind, separator, name = header.partition("::")
    kind, name = kind.strip().lower(), name.strip().lower()
    if not separator or not name:
        raise file.error(
            f"[{header}] has no name", number, help="sections are called [Batch::name], [Arg::name] or [Command::name]"
        )
    if kind not in _KINDS:
        raise file.error(
            f'there is no kind of section "{header.partition("::")[0]}"', number, help="available: Batch, Arg, Command"
        )
    return kind, Section(name, number, {})


def _inherit(section: Section, known: Mapping[str, Section], kind: str, file: File) -> None:
    said = section.values.get("inherits")
    if said is None:
        return
    merged: Values = {}
    for parent in said.split(","):
        name = parent.text.lower()
        if name not in known:
            raise unknown(f"{kind} to inherit from", parent, list(known), file)
        if known[name] is section:
            raise file.error(f"{name} inherits from itself", parent)
        merged.update({k: v for k, v in known[name].values.items() if k != "abstract"})
    merged.update(section.values)
    section.values = merged


def unknown(what: str, name: Placed, known: list[str], file: File) -> ExperimentError:
    """Return the error that something is not there, with the nearest name that is."""
    near = difflib.get_close_matches(name.text.lower(), known, n=1, cutoff=0.5)
    help_ = f'did you mean "{near[0]}"?' if near else (f"available: {', '.join(known)}" if known else None)
    return file.error(f'there is no {what} "{name.text}"', name, help=help_)
