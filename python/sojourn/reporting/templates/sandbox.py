"""The limits of a template: it may call the functions, loop a little, and read files of its folder.

A template is somebody else's text. It must not run code, read other files, or go on for ever.

Invariants: no attribute that begins with an underscore, nothing that changes an object, no file outside of the
template's folder and that of the published ones, also by way of a link. One page has one budget of steps (loops and
calls) and one of size: every text and list that an expression makes, and every text that is printed, is paid from it,
and no value that is larger than the budget is compared or handed to a filter.

The trick: Jinja counts nothing itself, so parsing puts filters of ours around what a loop goes through, around both
sides of a comparison, around plain text, and instead of ``~``; every other filter and test is wrapped. A list that
holds one list ten times is ten times as large, though it takes no more memory: printing it would.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

import jinja2
from jinja2 import nodes, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from sojourn.errors import UsageError

MOST_STEPS: Final = 100_000
"""Steps of loops and calls of one page together."""

MOST_CHARACTERS: Final = 10_000_000
"""Of a file that is read, and of everything that one page makes and prints together."""

_ELEMENT: Final = 16
"""Characters that an element of a list counts as."""

_MOST_BITS: Final = 4096

_COUNTED: Final = "_counted"
_JOINED: Final = "_joined"
_SIZED: Final = "_sized"
_PRINTED: Final = "_printed"

# Each can make a text of any length out of a number or of a short text.
_GROWING: Final = frozenset(
    {"center", "ljust", "rjust", "zfill", "expandtabs", "format", "format_map", "join", "replace", "translate"}
)
_NO_FILTERS: Final = frozenset(
    {"batch", "center", "format", "indent", "pprint", "random", "replace", "slice", "tojson", "urlize", "wordwrap"}
)
_GLOBALS: Final = frozenset({"range", "dict", "namespace"})


class Sandbox(ImmutableSandboxedEnvironment):
    """Where one template is rendered; one page, one budget."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, folders: Sequence[Path], functions: Mapping[str, Callable[..., str]]) -> None:
        """Make it.

        Args:
            folders: where files may be read from, the first one first.
            functions: what may be called.
        """
        super().__init__(
            loader=jinja2.FunctionLoader(self._load),
            # It is Markdown that is written; HTML comes of it by a renderer.
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
        )
        self._folders = folders
        self._steps = 0
        self._made = 0
        self.finalize = self._paid
        self.globals = {name: what for name, what in self.globals.items() if name in _GLOBALS} | dict(functions)
        self.filters = {name: self._wrapped(what) for name, what in self.filters.items() if name not in _NO_FILTERS}
        self.filters |= {"join": self._join, "replace": self._replace, _COUNTED: self._counted, _JOINED: self._join}
        self.filters |= {_SIZED: self._sized, _PRINTED: self._printed}
        self.tests = {name: self._wrapped(what) for name, what in self.tests.items()}

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]]:
        path = confined(name, self._folders)
        return read_text(path), str(path), lambda: True

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if loop.recursive:
                raise jinja2.TemplateSyntaxError("a loop must not be recursive", loop.lineno, name, filename)
            loop.iter = _filtered(loop.iter, _COUNTED)
        counted: nodes.Template = _Counted().visit(tree)
        return counted

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._step()
            yield value

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise jinja2.TemplateRuntimeError(f"this page takes more than {MOST_STEPS:,} steps of loops and calls")

    def _paid(self, value: Any) -> Any:  # noqa: ANN401 - whatever a template makes
        """Take the size of a value from the page's remaining budget; return the value."""
        self._made += _size(value, MOST_CHARACTERS - self._made)
        if self._made > MOST_CHARACTERS:
            raise jinja2.TemplateRuntimeError(
                f"this page makes more than {MOST_CHARACTERS:,} characters of text and lists"
            )
        return value

    def _sized(self, value: Any) -> Any:  # noqa: ANN401
        """Refuse a value that would take without end to compare, print or sort."""
        if _size(value, MOST_CHARACTERS) > MOST_CHARACTERS:
            raise jinja2.TemplateRuntimeError("a value is too large for a page")
        return value

    @pass_context
    def _printed(self, _context: Context, text: str) -> str:
        # The context keeps Jinja from computing it when it compiles.
        self._paid(text)
        return text

    def _wrapped(self, what: Any) -> Any:  # noqa: ANN401 - a filter or a test of Jinja's
        # Like the wrapped function, also in whether Jinja gives it a context.
        @wraps(what)
        def bounded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            for own in (*args, *kwargs.values()):
                self._sized(own)
            return self._paid(what(*args, **kwargs))

        return bounded

    def _join(self, values: Iterable[Any], between: str = "") -> str:
        texts = []
        for value in values:
            texts.append(str(self._sized(value)))
            self._paid(texts[-1])
            self._paid(between)
        return str(between).join(texts)

    def _replace(self, text: Any, old: str, new: str) -> str:  # noqa: ANN401
        whole = str(self._sized(text))
        self._sized(whole + old + new)
        grown = len(whole) + whole.count(old) * len(new)
        if grown > MOST_CHARACTERS:
            raise jinja2.TemplateRuntimeError("the result of replace is too large for a page")
        return str(self._paid(whole.replace(old, new)))

    def call(  # noqa: D102 - as Jinja says
        self,
        context: Context,
        obj: Any,  # noqa: ANN401 - whatever a template calls
        /,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        self._step()
        return self._paid(super().call(context, obj, *args, **kwargs))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401, D102 - as Jinja says
        if isinstance(obj, (str, bytes)) and attr in _GROWING:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:  # noqa: ANN401
        """Let ``format`` be an attribute as others are: Jinja's own makes it safe to read by, but of any length."""
        del value

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401, D102 - as Jinja says
        if _grows(operator, left, right):
            raise jinja2.TemplateRuntimeError(f"what comes of {operator} here is too large for a page")
        return self._paid(super().call_binop(context, operator, left, right))


class _Counted(NodeTransformer):
    """Puts the filters that count around what Jinja computes without asking."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802 - as Jinja calls it
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), _JOINED)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Expr:  # noqa: N802
        self.generic_visit(node)
        node.expr = _filtered(node.expr, _SIZED)
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, _SIZED)
        return node

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Expr:  # noqa: N802
        return _filtered(nodes.Const(node.data, lineno=node.lineno), _PRINTED)


def _filtered(value: Any, name: str) -> nodes.Expr:  # noqa: ANN401 - Jinja's nodes lack some types
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


def _size(value: object, most: int) -> int:
    """Return how many characters a value has, each element of a list counting as some; more than ``most`` if larger.

    >>> _size("abc", 100), _size([1, "abc"], 100)
    (3, 35)
    """
    found, todo = 0, [value]
    while todo and found <= most:
        own = todo.pop()
        if isinstance(own, str | bytes):
            found += len(own)
        elif isinstance(own, list | tuple | set | frozenset | dict):
            found += _ELEMENT * len(own)
            # What is too long is counted already: it is not gone through.
            if found <= most:
                todo += [*own, *own.values()] if isinstance(own, dict) else own
    return found


def _grows(operator: str, left: object, right: object) -> bool:
    """Whether an operation makes something large out of something small."""
    if operator == "%":
        return not isinstance(left, int | float)
    if operator != "+" and isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length()
        return (bits + right.bit_length() if operator == "*" else bits * max(right, 0)) > _MOST_BITS
    if operator == "+":
        return _size([left, right], MOST_CHARACTERS) > MOST_CHARACTERS
    for one, times in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple) and isinstance(times, int):
            return _size(one, MOST_CHARACTERS) * times > MOST_CHARACTERS
    return False


def confined(name: str, folders: Sequence[Path]) -> Path:
    """Return the file of this name in one of these folders.

    Raises:
        UsageError: if there is none, or it is elsewhere, also by way of a link.
    """
    outside = False
    for folder in folders:
        try:
            root = folder.resolve()
            path = (root / name).resolve()
            inside = path.is_relative_to(root)
            if inside and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"{name!r} cannot be included: {error}") from error
        outside |= not inside
    if outside:
        raise UsageError(
            f"{name} cannot be included: it is outside {folders[0]}", help="put the file next to the template"
        )
    raise UsageError(f"{folders[0] / name} cannot be included: there is no such file")


def read_text(path: Path) -> str:
    """Return a template's text.

    Raises:
        UsageError: if it cannot be read, is no text, or is larger than a page is.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"cannot read {path}: it is not UTF-8 text") from error
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"cannot read {path}: it has more than {MOST_CHARACTERS:,} characters")
    return text
