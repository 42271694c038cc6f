"""What a template may do: call the functions, loop a little, and read files that lie beside it.

A template is somebody else's text. It must not run code, read what it was not given, or go on for ever.

Invariants: no attribute that begins with an underscore, nothing that changes an object, no file outside of the
template's folder and that of the published ones, also by way of a link. Steps of loops and calls are counted together,
and so is what a product may grow to. The trick: loops are counted by a filter that is put around what they go through
when the template is parsed; Jinja itself counts nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from sojourn.errors import UsageError

MOST_STEPS: Final = 100_000
"""Steps of loops and calls of one page together."""

MOST_CHARACTERS: Final = 10_000_000
"""Of a file that is read, and of a text or list that is multiplied."""

_MOST_BITS: Final = 4096

_COUNTED: Final = "_counted"

# Each can make a text of any length out of a number.
_GROWING: Final = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "format", "format_map"})
_NO_FILTERS: Final = frozenset({"center", "format", "indent", "random", "wordwrap"})
_GLOBALS: Final = frozenset({"range", "dict", "namespace"})


class Sandbox(ImmutableSandboxedEnvironment):
    """Where one template is rendered; one page, one budget."""

    intercepted_binops = frozenset({"*", "**", "%"})

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
        self.globals = {name: what for name, what in self.globals.items() if name in _GLOBALS} | dict(functions)
        self.filters = {name: what for name, what in self.filters.items() if name not in _NO_FILTERS}
        self.filters[_COUNTED] = self._counted

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]]:
        path = confined(name, self._folders)
        return read_text(path), str(path), lambda: True

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if loop.recursive:
                raise jinja2.TemplateSyntaxError("a loop must not be recursive", loop.lineno, name, filename)
            loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno)
        return tree

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._step()
            yield value

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise jinja2.TemplateRuntimeError(f"this page takes more than {MOST_STEPS:,} steps of loops and calls")

    def call(  # noqa: D102 - as Jinja says
        self,
        context: Context,
        obj: Any,  # noqa: ANN401 - whatever a template calls
        /,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        self._step()
        return super().call(context, obj, *args, **kwargs)

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
        return super().call_binop(context, operator, left, right)


def _grows(operator: str, left: object, right: object) -> bool:
    """Whether an operation makes something large out of something small."""
    if operator == "%":
        return not isinstance(left, int | float)
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length()
        return (bits + right.bit_length() if operator == "*" else bits * max(right, 0)) > _MOST_BITS
    for one, times in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple) and isinstance(times, int):
            return len(one) * times > MOST_CHARACTERS
    return False


def confined(name: str, folders: Sequence[Path]) -> Path:
    """Return the file of a name that lies in one of these folders.

    Raises:
        UsageError: if there is none, or it lies elsewhere, also by way of a link.
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
            f"{name} cannot be included: it lies outside of {folders[0]}", help="put the file beside the template"
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
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} cannot be read: it is no text in UTF-8") from error
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"{path} cannot be read: it has more than {MOST_CHARACTERS:,} characters")
    return text
