"""Arithmetic over measures of several runs: ``(alone - shared) / call``.

The value of one run is an expression of the metrics language, evaluated in Rust; a formula only combines such values
of several runs. Names are measures, or axes with quantities as labels (``window`` is 32, ``bandwidth`` is 2e7 bit/s).
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

_BINARY: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: math.nan if b == 0 else a / b,
}
_CALLS: Final[Mapping[str, Callable[..., float]]] = {"min": min, "max": max, "abs": abs}
_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[float, float], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Formula:
    """A parsed formula: ``+ - * /``, ``min``, ``max``, ``abs``, and ``a if b > c else d``.

    >>> Formula("(alone - shared) / max(call, 1)")({"alone": 18.0, "shared": 3.0, "call": 2.0})
    7.5
    >>> sorted(Formula("drops if window >= needed else 0").names)
    ['drops', 'needed', 'window']
    """

    def __init__(self, text: str) -> None:
        """Parse it.

        Raises:
            ValueError: saying what it may be made of.
        """
        self.text = text
        try:
            self._tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise ValueError(f'"{text}" is not a formula: {error.msg}') from error
        self.names: frozenset[str] = frozenset(self._check(self._tree))

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return its value; NaN where it divides by nothing."""
        return float(_value(self._tree, values))

    def _check(self, node: ast.expr) -> set[str]:  # noqa: PLR0911 - one a kind of node
        match node:
            case ast.Constant(value=int() | float()):
                return set()
            case ast.Name(id=name):
                return {name}
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self._check(inner)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._check(left) | self._check(right)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return self._check(left) | self._check(right)
            case ast.IfExp(test=ast.Compare() as test, body=body, orelse=other):
                return self._check(test) | self._check(body) | self._check(other)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if name in _CALLS:
                return set().union(*(self._check(arg) for arg in args))
            case _:
                raise ValueError(
                    f'"{self.text}": only + - * /, min, max, abs and "a if b > c else d" are understood, '
                    f'not "{ast.unparse(node)}"'
                )


def _value(node: ast.AST, values: Mapping[str, float]) -> Any:  # noqa: ANN401, PLR0911 - a float, or a bool in a condition; one a kind of node
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(operand=inner):
            return -_value(inner, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, values), _value(right, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARE[type(op)](_value(left, values), _value(right, values))
        case ast.IfExp(test=test, body=body, orelse=other):
            return _value(body if _value(test, values) else other, values)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _CALLS[name](*(_value(arg, values) for arg in args))
    raise AssertionError(ast.dump(node))
