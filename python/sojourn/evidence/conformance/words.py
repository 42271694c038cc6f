"""Predicates over steps, as case files write them: ``pacing_gain == 0.5 and inflight <= high(cwnd)``.

The words are those of Python's expressions: comparisons, ``and``, ``or``, ``not``, ``+ - * /``, names, and the
functions of :data:`FUNCTIONS`. A number may have a unit: ``200ms``, ``10mbit``, ``2%``. A name is a column of the steps
(:mod:`.steps`), with the flow's or the queue's name before it where it is not the subject's: ``other.goodput``,
``queue.prob``; or a word that the document defines, such as the name of a state.

A text is parsed once into an expression of Polars; nothing of it is ever evaluated as Python.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Final

import polars as pl

T: Final = "t"
"""The column of the time, s."""
VISIT: Final = "_visit"
"""The column that numbers the visits: runs of steps in which a condition holds."""


def _over_visit(make: Callable[[pl.Expr], pl.Expr]) -> Callable[[pl.Expr], pl.Expr]:
    return lambda x: make(x).over(VISIT)


def _last(x: pl.Expr, c: pl.Expr) -> pl.Expr:
    return pl.when(c.fill_null(value=False)).then(x).otherwise(None).forward_fill().shift(1)


FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., pl.Expr], str]]] = {
    "abs": (1, lambda x: x.abs(), "without its sign"),
    "min": (2, pl.min_horizontal, "the lesser"),
    "max": (2, pl.max_horizontal, "the greater"),
    "near": (3, lambda x, y, share: (x - y).abs() <= share * y.abs(), "whether x is within this share of y"),
    "where": (3, lambda c, x, y: pl.when(c).then(x).otherwise(y), "x where the first is true, y elsewhere"),
    "known": (1, lambda x: x.is_not_null(), "whether there is such a number at this step"),
    "default": (2, lambda x, y: x.fill_null(y), "x, or y where there is no x"),
    "prev": (1, lambda x: x.shift(1), "at the step before"),
    "next": (1, lambda x: x.shift(-1), "at the step after"),
    "ago": (2, lambda x, steps: x.shift(steps), "x the given number of steps before"),
    "start": (1, _over_visit(pl.Expr.first), "at the first step of the visit"),
    "high": (1, _over_visit(pl.Expr.cum_max), "the greatest since the visit began"),
    "low": (1, _over_visit(pl.Expr.cum_min), "the least since the visit began"),
    "mean": (1, _over_visit(pl.Expr.mean), "the mean over the visit"),
    "total": (1, _over_visit(pl.Expr.cum_sum), "the sum since the visit began"),
    "since": (1, lambda c: pl.col(T) - _last(pl.col(T), c), "the time since c last held, at a step before this one"),
    "last": (2, _last, "x at the last step before this one at which c held"),
}
"""Functions by name: the number of arguments, the implementation, the description."""

_UNITS: Final[Mapping[str, float]] = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "kbit": 1e3,
    "mbit": 1e6,
    "gbit": 1e9,
    "%": 0.01,
}
_WITH_UNIT: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(us|ms|s|kbit|mbit|gbit|%)(?!\w)")

_BINARY: Final[Mapping[type[ast.operator], Callable[[pl.Expr, pl.Expr], pl.Expr]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[pl.Expr, pl.Expr], pl.Expr]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True, slots=True)
class Words:
    """A predicate or a number of each step."""

    text: str
    expression: pl.Expr = field(compare=False, repr=False)
    names: tuple[str, ...]
    """The columns that it needs, each once."""


def parse(text: str, constants: Mapping[str, float]) -> Words:
    """Return what a text says of each step.

    Args:
        text: as a case file has it.
        constants: the words that the document defines.

    Raises:
        ValueError: if it is none, with what is wrong.
    """
    plain = _WITH_UNIT.sub(lambda found: repr(float(found[1]) * _UNITS[found[2]]), text)
    try:
        tree = ast.parse(plain.strip().replace("\n", " "), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f'"{text}" is no expression: {error.msg}') from None
    names: dict[str, None] = {}
    expression = _Reader(text, constants, names).read(tree)
    return Words(text.strip(), expression, tuple(names))


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    constants: Mapping[str, float]
    names: dict[str, None]

    def read(self, node: ast.expr) -> pl.Expr:  # noqa: C901, PLR0911 - a case a kind of word
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self.read(value) for value in values]
                return reduce(operator.and_ if isinstance(op, ast.And) else operator.or_, parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self.read(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.read(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.read(left), self.read(right))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self.read(side) for side in (left, *others)]
                if all(type(op) in _COMPARISONS for op in ops):
                    pairs = zip(ops, pairwise(sides), strict=True)
                    return reduce(operator.and_, (_COMPARISONS[type(op)](*pair) for op, pair in pairs))
            case ast.Constant(value=bool(value)) | ast.Constant(value=int(value)) | ast.Constant(value=float(value)):
                return pl.lit(value)
            case ast.Constant(value=str(value)):
                return pl.lit(value)
            case ast.Constant(value=None):
                return pl.lit(None, pl.Float64)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=ast.Name(id=of), attr=name):
                return self._name(f"{of}.{name}")
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments)
        raise ValueError(f'"{self.text}" has "{ast.unparse(node)}", which no expression of steps can say')

    def _name(self, name: str) -> pl.Expr:
        if name in self.constants:
            return pl.lit(self.constants[name])
        self.names[name] = None
        return pl.col(name)

    def _call(self, name: str, arguments: list[ast.expr]) -> pl.Expr:
        if name not in FUNCTIONS:
            raise ValueError(f'"{self.text}": there is no function "{name}"; there is {", ".join(FUNCTIONS)}')
        count, make, _ = FUNCTIONS[name]
        if len(arguments) != count:
            raise ValueError(f'"{self.text}": {name} takes {count} argument{"s"[: count != 1]}, not {len(arguments)}')
        if name == "ago":
            return self.read(arguments[0]).shift(int(ast.literal_eval(arguments[1])))
        return make(*(self.read(argument) for argument in arguments))
