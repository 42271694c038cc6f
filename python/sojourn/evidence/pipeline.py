"""Reports of experiments' checks for pipelines: notes with their places, in the forms that pipelines read.

GitHub takes workflow commands on standard output (``::error file=…,line=…::message``), GitLab and most others the XML
of JUnit.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree as ET

from sojourn.errors import ExperimentError
from sojourn.evidence.comparison import Comparison, Line
from sojourn.views.checks import Tally


class Level(StrEnum):
    """How much a note weighs."""

    ERROR = "error"
    """It fails the pipeline."""
    WARNING = "warning"
    NOTICE = "notice"
    """It is well."""


@dataclass(frozen=True, slots=True)
class Note:
    """A message about a file."""

    level: Level
    file: str
    line: int
    """From 1."""
    title: str
    """What it is about: a check, a metric."""
    message: str
    experiment: str = ""


_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*check[ \t]*\]\]", re.MULTILINE)
_NEXT = re.compile(r"^[ \t]*\[", re.MULTILINE)
_THAT = re.compile(r"^[ \t]*that[ \t]*=", re.MULTILINE)


def places(text: str) -> dict[str, int]:
    r"""Return the line of each check of an experiment file, by its name, or its expression where it has none.

    Checks that are not written as ``[[check]]`` get the first line.

    >>> places('[experiment]\nname = "e"\n\n[[check]]\nname = "fair"\nthat = "jain(goodput) > 0.9"\n')
    {'fair': 6}
    """
    checks = tomllib.loads(text).get("check", [])
    headers = list(_HEADER.finditer(text))
    found: dict[str, int] = {}
    for index, check in enumerate(checks):
        line = 1
        if len(headers) == len(checks):
            start = headers[index].end()
            following = _NEXT.search(text, start)
            that = _THAT.search(text, start, following.start() if following else len(text))
            line = text.count("\n", 0, that.start() if that else headers[index].start()) + 1
        found[str(check.get("name") or check.get("that"))] = line
    return found


def of_check(tally: Tally, file: str, lines: Mapping[str, int]) -> Note:
    """Return the note on a check."""
    level = Level.ERROR if tally.failed else Level.NOTICE
    return Note(level, file, lines.get(tally.name, 1), f"check {tally.name}", str(tally), tally.experiment)


def of_mistake(error: ExperimentError, file: str) -> Note:
    """Return the note on a file that is no experiment."""
    message = error.message if error.help is None else f"{error.message} (help: {error.help})"
    return Note(Level.ERROR, error.file or file, error.line or 1, "mistake", message)


def of_baseline(found: Comparison, files: Mapping[str, str]) -> list[Note]:
    """Return notes on differences from the baseline beyond the ranges of the seeds, and on cells that it lacks.

    Args:
        found: the baseline first.
        files: by the names of their experiments.
    """
    notes = [_differing(line, files) for line in found.differing]
    for cell in found.only_second:
        experiment = cell.partition("[")[0]
        said = f"{cell} is not in the baseline"
        notes.append(Note(Level.WARNING, files.get(experiment, ""), 1, "baseline", said, experiment))
    return notes


def _differing(line: Line, files: Mapping[str, str]) -> Note:
    experiment = line.cell.partition("[")[0]
    what = f"{line.metric} of {line.of}" if line.of else line.metric
    digits = next((n for n in range(4, 17) if f"{line.first.mean:.{n}g}" != f"{line.second.mean:.{n}g}"), 4)
    was, is_ = (
        f"{own.mean:.{digits}g} ({own.low:.{digits}g} to {own.high:.{digits}g})" for own in (line.first, line.second)
    )
    message = f"{line.cell}: {what} was {was}, is {is_}"
    return Note(Level.ERROR, files.get(experiment, ""), 1, f"baseline: {what}", message, experiment)


def plain(note: Note) -> str:
    """Return a note as compilers write them.

    >>> plain(Note(Level.ERROR, "a.toml", 3, "check fair", "it does not hold"))
    'a.toml:3: error: it does not hold'
    """
    return f"{note.file}:{note.line}: {note.level}: {note.message}"


def github(note: Note) -> str:
    r"""Return a note as a workflow command.

    >>> github(Note(Level.ERROR, "a,b.toml", 3, "check: fair", "50 %\nof it"))
    '::error file=a%2Cb.toml,line=3,title=check%3A fair::50 %25%0Aof it'
    """
    escaped = note.message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def setting(text: str) -> str:
        return (
            text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")
        )

    return f"::{note.level} file={setting(note.file)},line={note.line},title={setting(note.title)}::{escaped}"


def junit(notes: Sequence[Note]) -> str:
    """Return notes as JUnit's XML: a test suite a file, a test case a note."""
    root = ET.Element("testsuites", name="sojourn check")
    for file in dict.fromkeys(note.file for note in notes):
        own = [note for note in notes if note.file == file]
        failures = sum(note.level is Level.ERROR for note in own)
        suite = ET.SubElement(root, "testsuite", name=file, tests=str(len(own)), failures=str(failures))
        for note in own:
            case = ET.SubElement(
                suite, "testcase", name=note.title, classname=note.experiment or file, file=file, line=str(note.line)
            )
            if note.level is Level.ERROR:
                ET.SubElement(case, "failure", message=_printable(note.message)).text = _printable(plain(note))
            else:
                ET.SubElement(case, "system-out").text = _printable(note.message)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """Return a text without what XML cannot say."""
    return "".join(c for c in text if c in "\t\n\r" or c >= " ")
