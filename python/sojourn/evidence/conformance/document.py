"""Documents and their cases, as they are written down.

``document.toml`` of a folder::

    title    = "BBR Congestion Control"
    source   = "draft-ietf-ccwg-bbr, text of 3 August 2026"
    about    = "the 22 test cases of its appendix"
    tests    = "sender"                  # or "queue"
    subjects = ["bbr3"]                  # who is asked unless others are named
    also     = ["bbr", "bbr3-google"]    # who else the document is about: --all asks them, too
    [words]                              # names for numbers in predicates
    Startup = 0
    [derive.bbr]                         # columns that a control does not tell, made of those that it does
    state = "where(cwnd_gain == 1, ProbeRTT, ...)"

A case is an experiment file with three tables more: ``[case]`` (``title``, ``section``, ``precondition``, ``stimulus``,
``expected``; ``not_applicable``: reasons by subject; ``flows``: those that are the subject's, by default ``subject``),
``[[require]]`` and ``[[expect]]``. An ``[[expect]]`` may have ``known``: reasons by subject why it does not hold. These
say where they look (``from``, ``to``: :class:`Moment`; or ``for`` a time from there), at which steps (``during``,
``entering`` or ``leaving`` a predicate; by default all), and one of

- ``that``: a predicate that holds at each of these steps, at one at least;
- ``never``: one that holds at none;
- ``happens``: one that holds at some step, ``within`` a time of the beginning if that is given;
- ``passes``: values of the column ``of`` (default: ``state``) in their order, ``Startup > Drain > DOWN? > CRUISE``;
  with ``?`` one that may be over between two steps;
- ``check``: the name of a ``[[check]]`` of the experiment.
"""

import fnmatch
import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from sojourn import _core
from sojourn.errors import StoreError, UsageError
from sojourn.evidence.conformance.subject import FLOW, Kind, Subject
from sojourn.evidence.conformance.words import Words, parse

_OWN: Final = ("case", "require", "expect")
"""The tables of a case that are none of an experiment's."""
_ASKED: Final = ("that", "never", "happens", "passes", "check")
_STEPS: Final = ("during", "entering", "leaving")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a run: a time, an event, or the first step at which a predicate holds; or some time later.

    Written ``3s``, ``event cut``, ``state == UP``, ``event cut, 200ms later``.
    """

    text: str
    event: str = ""
    at_s: float | None = None
    words: Words | None = None
    later_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Expectation:
    """Something that is required or expected of the steps of a run."""

    says: str
    """What the text says, in a sentence."""
    section: str
    """Where it says so."""
    kind: str
    """Of ``that``, ``never``, ``happens``, ``passes``, ``check``."""
    words: Words | None
    start: Moment | None
    end: Moment | None
    steps: str = ""
    """Of ``during``, ``entering``, ``leaving``; empty for all."""
    where: Words | None = None
    within_s: float | None = None
    for_s: float | None = None
    """How long the steps are looked at, if no end is given."""
    passes: Sequence[tuple[str, float, bool]] = ()
    """Names and their numbers; and whether it may be over between two steps."""
    of: str = "state"
    check: str = ""
    precondition: bool = False
    known: Mapping[str, str] = field(default_factory=dict)
    """Why it does not hold, by patterns of subjects' names: a deviation that is known."""

    def known_of(self, subject: Subject) -> str:
        """Return why it is known not to hold with this subject; empty if it is to hold."""
        return next((why for name, why in self.known.items() if fnmatch.fnmatchcase(subject.name, name)), "")

    @property
    def text(self) -> str:
        """What is asked, as it was written."""
        asked = self.words.text if self.words else ""
        match self.kind:
            case "passes":
                asked = f"{self.of} passes {' > '.join(name + '?' * short for name, _, short in self.passes)}"
            case "check":
                asked = f"check {self.check}"
            case "never" | "happens":
                asked = f"{self.kind} {asked}"
        if self.within_s is not None:
            asked += f" within {self.within_s:g} s"
        return f"{asked} {self.steps} {self.where.text}" if self.where else asked


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a document."""

    name: str
    """``bbr/05-up-plateau``."""
    title: str
    section: str
    precondition: str
    stimulus: str
    expected: str
    experiment: str = field(repr=False)
    """The experiment file that is in it, line by line where it stood."""
    file: Path = field(repr=False)
    expectations: Sequence[Expectation] = field(repr=False)
    """Those that are required first."""
    not_applicable: Mapping[str, str] = field(repr=False)
    flows: Sequence[str] = (FLOW,)
    """The flows that are the subject's: the one under test, and others that are to be its like."""


@dataclass(frozen=True, slots=True)
class Document:
    """A specification and its cases."""

    name: str
    title: str
    source: str
    about: str
    kind: Kind
    subjects: Sequence[Subject]
    also: Sequence[Subject]
    cases: Sequence[Case] = field(repr=False)
    constants: Mapping[str, float] = field(repr=False)
    derived: Mapping[str, Mapping[str, Words]] = field(repr=False)
    """Columns by subject's name, each with what it is made of."""


def documents() -> dict[str, Document]:
    """Return the documents that come with Sojourn, by name."""
    return dict(_documents())


def find(what: str) -> Document:
    """Return a document, or one with a single case of it.

    Args:
        what: ``bbr``, ``bbr/05-up-plateau`` or ``bbr/5``, or a folder with a ``document.toml``.

    Raises:
        UsageError: if there is none of that name, with the nearest.
        StoreError: if a file of the folder is wrong, with what is.
    """
    if Path(what).is_dir() and (Path(what) / _DOCUMENT).exists():
        return read(Path(what))
    name, _, wanted = what.lower().partition("/")
    found = documents().get(name)
    if found is None:
        raise UsageError.unknown("document", what, list(documents()))
    if not wanted:
        return found
    for case in found.cases:
        stem = case.name.partition("/")[2]
        number = stem.partition("-")[0].lstrip("0")
        if wanted in {stem, number} or wanted.lstrip("0") == number:
            return replace(found, cases=[case])
    raise UsageError.unknown("case", what, [case.name for case in found.cases])


_DOCUMENT: Final = "document.toml"


@functools.cache
def _documents() -> tuple[tuple[str, Document], ...]:
    folder = Path(str(files("sojourn.evidence.conformance"))) / "cases"
    return tuple((path.parent.name, read(path.parent)) for path in sorted(folder.glob(f"*/{_DOCUMENT}")))


def read(folder: Path) -> Document:
    """Return the document of a folder.

    Raises:
        StoreError: naming the file and what is wrong with it.
    """
    path = folder / _DOCUMENT
    try:
        tree = _tree(path)
        _known(tree, {"title", "source", "about", "tests", "subjects", "also", "words", "derive"})
        kind = _kind(_text(tree, "tests"))
        constants = {name: float(value) for name, value in tree.get("words", {}).items()}
        derived = {
            of: {name: parse(text, constants) for name, text in columns.items()}
            for of, columns in tree.get("derive", {}).items()
        }
        subjects, also = ([Subject(name, kind) for name in tree.get(key, [])] for key in ("subjects", "also"))
        title, source, about = _text(tree, "title"), _text(tree, "source"), _text(tree, "about")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: {_message(error)}") from error
    cases = [_case(file, folder.name, constants) for file in sorted(folder.glob("*.toml")) if file != path]
    return Document(folder.name, title, source, about, kind, subjects, also, cases, constants, derived)


def _kind(text: str) -> Kind:
    match text:
        case "sender" | "queue":
            return text
        case _:
            raise ValueError(f'tests is "sender" or "queue", not "{text}"')


def _case(path: Path, document: str, constants: Mapping[str, float]) -> Case:
    try:
        tree = _tree(path)
        own = tree["case"]
        _of_an_expectation(own)
        _known(own, {"title", "section", "precondition", "stimulus", "expected", "not_applicable", "flows"})
        section = _text(own, "section")
        expectations = [
            _expectation(one, section, constants, precondition=key == "require")
            for key in ("require", "expect")
            for one in tree.get(key, [])
        ]
        _sound(expectations, {str(check.get("name")) for check in tree.get("check", [])})
        return Case(
            name=f"{document}/{path.stem}",
            title=_text(own, "title"),
            section=_text(own, "section"),
            precondition=_text(own, "precondition"),
            stimulus=_text(own, "stimulus"),
            expected=_text(own, "expected"),
            experiment=_experiment(path.read_text(encoding="utf-8")),
            file=path,
            expectations=expectations,
            not_applicable=dict(own.get("not_applicable", {})),
            flows=tuple(own.get("flows", [FLOW])),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: {_message(error)}") from error


def _of_an_expectation(own: Mapping[str, Any]) -> None:
    if "known" in own:
        raise ValueError("a known deviation belongs to one expectation: write known in its [[expect]]")


def _sound(expectations: Sequence[Expectation], checks: set[str]) -> None:
    if all(one.precondition for one in expectations):
        raise ValueError("there is no [[expect]]: a case that expects nothing cannot fail")
    for one in expectations:
        if one.check and one.check not in checks:
            raise ValueError(f'there is no [[check]] "{one.check}"')


def _expectation(
    tree: Mapping[str, Any], section: str, constants: Mapping[str, float], *, precondition: bool
) -> Expectation:
    _known(tree, {"says", "section", "from", "to", "for", "within", "of", "known", *_ASKED, *_STEPS})
    kind = _one(tree, _ASKED)
    if kind is None:
        raise ValueError(f'"{tree.get("says", "")}" asks for nothing: say one of {", ".join(_ASKED)}')
    steps = _one(tree, _STEPS) or ""
    if steps and kind not in {"that", "never"}:
        raise ValueError(f'"{steps}" chooses steps for "that" and "never", not for "{kind}"')
    if "within" in tree and kind != "happens":
        raise ValueError(f'"within" is of "happens", not of "{kind}"')
    if "known" in tree and precondition:
        raise ValueError(f'"{tree.get("says", "")}": a [[require]] that does not come about is skipped, not known')
    if "for" in tree and "to" in tree:
        raise ValueError('"to" and "for" both say where it ends: say one of them')
    passes: list[tuple[str, float, bool]] = []
    if kind == "passes":
        for word in (word.strip() for word in _text(tree, "passes").split(">")):
            name = word.removesuffix("?")
            if name not in constants:
                raise ValueError(f'passes: there is no word "{name}"; there is {", ".join(constants)}')
            passes.append((name, constants[name], word != name))
    return Expectation(
        says=_text(tree, "says"),
        section=str(tree.get("section", section)),
        kind=kind,
        words=parse(_text(tree, kind), constants) if kind in {"that", "never", "happens"} else None,
        start=_moment(tree["from"], constants) if "from" in tree else None,
        end=_moment(tree["to"], constants) if "to" in tree else None,
        steps=steps,
        where=parse(_text(tree, steps), constants) if steps else None,
        within_s=_core.parse_span(_text(tree, "within")) if "within" in tree else None,
        for_s=_core.parse_span(_text(tree, "for")) if "for" in tree else None,
        passes=passes,
        of=str(tree.get("of", "state")),
        check=str(tree.get("check", "")),
        precondition=precondition,
        known=dict(tree.get("known", {})),
    )


_LATER: Final = re.compile(r"(.*),\s*(\S+)\s+later")
_TIME: Final = re.compile(r"-?\d+(\.\d+)?(us|ms|s)")


def _moment(text: str, constants: Mapping[str, float]) -> Moment:
    whole, later_s = text.strip(), 0.0
    if found := _LATER.fullmatch(whole):
        whole, later_s = found[1].strip(), _core.parse_span(found[2])
    if whole.startswith("event "):
        return Moment(text, event=whole.removeprefix("event ").strip(), later_s=later_s)
    if _TIME.fullmatch(whole):
        sign = -1 if whole.startswith("-") else 1
        return Moment(text, at_s=sign * _core.parse_span(whole.removeprefix("-")) + later_s)
    return Moment(text, words=parse(whole, constants), later_s=later_s)


def _one(tree: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    found = [key for key in keys if key in tree]
    if len(found) > 1:
        raise ValueError(f'"{tree.get("says", "")}" says {" and ".join(found)}: say one of them')
    return found[0] if found else None


_HEADER: Final = re.compile(r"\s*\[\[?\s*([A-Za-z_-]+)")


def _experiment(text: str) -> str:
    """Return the experiment that is in a case, every line where it stood: the case's own tables are blank lines."""
    lines, is_ours = [], False
    for line in text.split("\n"):
        if found := _HEADER.match(line):
            is_ours = found[1] in _OWN
        lines.append("" if is_ours else line)
    return "\n".join(lines)


def _tree(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _text(tree: Mapping[str, Any], key: str) -> str:
    if key not in tree:
        raise ValueError(f'"{key}" is missing')
    if not isinstance(tree[key], str) or not tree[key]:
        raise ValueError(f'"{key}" is a text')
    return str(tree[key])


def _known(tree: Mapping[str, Any], keys: set[str]) -> None:
    for key in tree:
        if key not in keys:
            raise ValueError(f'there is no key "{key}"; there is {", ".join(sorted(keys))}')


def _message(error: Exception) -> str:
    return f'"{error.args[0]}" is missing' if isinstance(error, KeyError) else str(error)
