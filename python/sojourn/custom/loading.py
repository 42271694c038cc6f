"""From a file of the user's to a class that the simulator can call."""

import ast
import difflib
import hashlib
import inspect
import sys
import types
from abc import ABC
from collections.abc import Callable, Mapping
from pathlib import Path

from sojourn import _core
from sojourn.custom.aqm import Aqm
from sojourn.custom.control import CongestionControl
from sojourn.custom.faults import Wrong, raised
from sojourn.custom.siblings import importable, siblings
from sojourn.custom.watchdog import Endless, loading, watch

PREFIX = "python:"
"""The prefix of names of classes."""

_ECN = ("off", "rfc3168", "accecn")
_DIFFERS = frozenset({"random", "secrets", "time", "datetime", "uuid", "os", "threading", "socket", "subprocess"})
"""Modules of the standard library by which a result can come to differ from run to run."""


def digest(path: str) -> str:
    """Return the SHA-256 of a file together with the modules of its folder that it imports.

    Raises:
        Wrong: it cannot be read, or one of them cannot.
    """
    content = _content(path)
    own = hashlib.sha256(content)
    for name, file in _siblings(path, content).items():
        own.update(f"\0{name}\0{hashlib.sha256(_content(str(file))).hexdigest()}".encode())
    return own.hexdigest()


def load_control(path: str, name: str) -> tuple[type, str, list[tuple[str, str]], list[str]]:
    """Return the class of a congestion control, its summary, its gauges, and the hooks that are its own.

    Raises:
        Wrong: the file has no such class, or the class is none that can be called.
    """
    made = _class(path, name, CongestionControl, "a congestion control")
    ecn = getattr(made, "ecn", "off")
    if ecn not in _ECN:
        raise Wrong(f"class {name}: its ecn is {ecn!r}", f"write one of {', '.join(map(repr, _ECN))}")
    for word in ("ect_1", "full_control"):
        if not isinstance(getattr(made, word, False), bool):
            raise Wrong(f"class {name}: its {word} is {getattr(made, word)!r}", "write True or False")
    _takes(inspect.getattr_static(made, "__init__"), [], f"{name}()")
    hooks = [
        key
        for key in vars(CongestionControl)
        if key.startswith("on_") and getattr(made, key, None) not in {None, getattr(CongestionControl, key)}
    ]
    return made, _about(made), _gauges(made, name), hooks


def load_aqm(path: str, name: str) -> tuple[type, str, list[tuple[str, str]], list[str]]:
    """Return the class of a queue discipline, its summary, its gauges and its own reasons.

    Raises:
        Wrong: as of :func:`load_control`.
    """
    made = _class(path, name, Aqm, "a queue discipline")
    reasons = getattr(made, "reasons", ())
    if not isinstance(reasons, tuple | list) or not all(isinstance(own, str) and own for own in reasons):
        raise Wrong(f"class {name}: its reasons are {reasons!r}", 'write a tuple of names: ("too_late",)')
    return made, _about(made), _gauges(made, name), list(reasons)


def make_aqm(made: type, words: list[str], path: str) -> object:
    """Make a queue discipline from the words behind its name.

    Raises:
        Wrong: a word is none of its arguments, has no value, or is refused.
    """
    arguments = _arguments(made, words)
    try:
        return made(**arguments)
    except Exception as error:  # noqa: BLE001 - whatever the user's code raises
        raise Wrong(*raised(error, path)) from None


def changes(made: type) -> bool:
    """Return whether a class of queue disciplines takes other options while it runs."""
    return getattr(made, "change", None) not in {None, Aqm.change}


def change_aqm(queue: Aqm, view: _core.QueueView, before: list[str], words: list[str]) -> list[str]:
    """Hand a queue discipline the options that these words give; return the words that describe it from now on."""
    made = type(queue)
    queue.change(_arguments(made, words), view)
    own = _written(made, before)
    own.update(_written(made, words))
    return [word for option in own.values() for word in option]


def doubts(path: str) -> list[str]:
    """Return the imports that may make results differ, with their lines, of a file and its modules."""
    content = _content(path)
    found = _doubts(content, path, "")
    for file in _siblings(path, content).values():
        found += _doubts(_content(str(file)), str(file), f" of {file.name}")
    return found


def _doubts(content: bytes, path: str, of: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(content, path)):
        names = []
        if isinstance(node, ast.Import):
            names = [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [(node.lineno, node.module)]
        found += [f"line {line}{of} imports {name}" for line, name in names if name.partition(".")[0] in _DIFFERS]
    return found


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise Wrong(
            "there is no such file",
            "a path in an experiment is seen from the experiment's file, one in a command from the present folder",
        ) from None
    except OSError as error:
        raise Wrong(f"it cannot be read: {error.strerror}", "check that it is a file, and its permissions") from None


def _siblings(path: str, content: bytes) -> dict[str, Path]:
    try:
        return siblings(path, content)
    except OSError as error:
        raise Wrong(
            f"it imports {error.filename}, which cannot be read: {error.strerror}", "check its permissions"
        ) from None


def _class(path: str, name: str, base: type[ABC], what: str) -> type:
    """Run the file as a module of its own, and return its class."""
    # The address of the file and its content: two files, or two states of one, are two modules.
    content = _content(path)
    module = types.ModuleType(f"sojourn_custom_{hashlib.sha256(path.encode() + content).hexdigest()[:12]}")
    modules = _siblings(path, content)
    module.__file__ = path
    # A dataclass looks for its module there.
    sys.modules[module.__name__] = module
    try:
        with importable(Path(path).parent, modules), loading(path):
            exec(compile(content, path, "exec"), module.__dict__)  # noqa: S102 - the user has named this file
    except (Exception, Endless) as error:  # noqa: BLE001 - whatever the user's code raises
        raise Wrong(*raised(error, path)) from None
    finally:
        del sys.modules[module.__name__]
    watch(path)
    own = [key for key, value in vars(module).items() if inspect.isclass(value) and value.__module__ == module.__name__]
    made = vars(module).get(name)
    if not inspect.isclass(made):
        raise Wrong(f'it has no class "{name}"', _nearest(name, own, "classes") or "write one there")
    required = sorted(getattr(base, "__abstractmethods__", ()))
    hooks = [key for key in vars(base) if not key.startswith("_") and callable(getattr(base, key))]
    written = [key for key in dir(made) if not key.startswith("_") and callable(getattr(made, key))]
    for hook in required:
        if hook not in written or getattr(getattr(made, hook), "__isabstractmethod__", False):
            others = [key for key in written if key not in hooks]
            near = difflib.get_close_matches(hook, others, n=1, cutoff=0.5)
            advice = f'is "{near[0]}" meant to be "{hook}"?' if near else f"write {hook}(self, …): {what} has it"
            raise Wrong(f'class {name} has no method "{hook}"', advice)
    for key in written:
        if key.startswith("on_") and key not in hooks and base is CongestionControl:
            raise Wrong(
                f'class {name} has a method "{key}", which nobody calls',
                _nearest(key, hooks, "hooks") or "call it otherwise",
            )
    for hook in hooks:
        if hook in written:
            _takes(getattr(made, hook), [hook] if base is CongestionControl else [hook, "queue"], f"{name}.{hook}")
    return made


def _takes(function: Callable[..., object], arguments: list[str], what: str) -> None:
    """Check that a method can be called with these arguments, besides itself."""
    if arguments == ["dequeue", "queue"]:
        arguments = ["queue"]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # One in C, such as object's: it says for itself.
        return
    try:
        signature.bind(None, *arguments)
    except TypeError as error:
        code = getattr(function, "__code__", None)
        line = f"line {code.co_firstlineno}, " if code is not None else ""
        takes = f"itself and {len(arguments)} more" if arguments else "nothing but itself"
        raise Wrong(f"{line}{what}: {error}", f"it is called with {takes}: write it so") from None


def _about(made: type) -> str:
    """Return the first line of the class's own text."""
    text = inspect.cleandoc(vars(made).get("__doc__") or "")
    return text.partition("\n")[0].rstrip(".") or "a class in Python"


def _gauges(made: type, name: str) -> list[tuple[str, str]]:
    gauges = getattr(made, "gauges", {})
    if not isinstance(gauges, Mapping) or not all(
        isinstance(own, str) and own.isidentifier() and isinstance(text, str) for own, text in gauges.items()
    ):
        raise Wrong(
            f"class {name}: its gauges are {gauges!r}",
            'write a mapping of attributes to what they are: {"base_rtt_us": "lowest RTT seen"}',
        )
    return list(gauges.items())


def _nearest(name: str, known: list[str], what: str) -> str | None:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f'did you mean "{near[0]}"?'
    return f"the {what} are {', '.join(known)}" if known else None


def _arguments(made: type, words: list[str]) -> dict[str, object]:
    """Return tc's words as keyword arguments."""
    parameters = dict(list(inspect.signature(made).parameters.items()))
    flags = [name for name, own in parameters.items() if isinstance(own.default, bool)]
    found: dict[str, object] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in flags or word.removeprefix("no") in flags:
            found[word if word in flags else word.removeprefix("no")] = word in flags
        elif word not in parameters:
            names = list(parameters)
            help_ = _nearest(word, names, "arguments") or "leave it out"
            raise Wrong(f'{made.__name__} takes no "{word}"', help_)
        elif not rest:
            raise Wrong(f'"{word}" needs a value', f"write one behind it: {word} 10")
        else:
            found[word] = _value(rest.pop(0), _core.parse_span, _core.parse_rate)
    missing = [
        name
        for name, own in parameters.items()
        if own.default is own.empty and own.kind not in {own.VAR_KEYWORD, own.VAR_POSITIONAL} and name not in found
    ]
    if missing:
        raise Wrong(f'{made.__name__} needs "{missing[0]}"', f"write it behind the name: {missing[0]} 10")
    return found


def _written(made: type, words: list[str]) -> dict[str, list[str]]:
    """Return the words of each argument, by its name; the words were read before."""
    flags = {name for name, own in inspect.signature(made).parameters.items() if isinstance(own.default, bool)}
    found: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word in flags or word.removeprefix("no") in flags:
            found[word if word in flags else word.removeprefix("no")] = [word]
        else:
            found[word] = [word, next(rest)]
    return found


def _value(word: str, span: Callable[[str], float], rate: Callable[[str], int]) -> object:
    """Return the value of a word: a number, a fraction, nanoseconds, bits per second, or itself."""
    for read in (int, float, lambda text: float(text.removesuffix("%")) / 100 if text.endswith("%") else _no(text)):
        try:
            return read(word)
        except ValueError:
            continue
    if word[:1].isdigit():
        for quantity in (lambda text: round(span(text) * 1e9), rate):
            try:
                return quantity(word)
            except ValueError:
                continue
    return word


def _no(text: str) -> float:
    raise ValueError(text)
