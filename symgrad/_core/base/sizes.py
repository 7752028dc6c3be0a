"""Symbolic sizes: dimensions and guards.

A dimension is a Python ``int`` or a SymPy expression in :class:`Dim` symbols. Users see
a symbolic dimension as a :class:`Size`, which computes like an integer. A decision that
needs its number (``range(n)``, ``if n > 3``) takes the hint, the value of the example call,
and records a *guard*: a relation that a later call must satisfy to reuse the trace.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
import sympy as sp

from ...errors import ShapeError, TraceError, UnsupportedError
from .stand_in_types import StandIn, absent, asks_for, names_of, show_as, stands_for
from .state import now, within

Dimension: TypeAlias = int | sp.Expr
Shape = tuple[Dimension, ...]


class WideError(UnsupportedError, OverflowError):
    """Arithmetic with sizes or integer arguments has a number that no 64 bits hold."""

    @classmethod
    def of(cls, number: int) -> WideError:
        """Return the error for a number."""
        return cls(
            f"an integer of more than 64 bits, {number}, in arithmetic with sizes or integer "
            "arguments. Write instead: a float from the start (1.0), or take the remainder in each "
            "step"
        )


class Dim(sp.Symbol):  # type: ignore[misc]
    """A symbolic dimension: a positive integer symbol that carries its hint."""

    __slots__ = ("hint",)
    hint: int

    def __new__(cls, name: str, hint: int) -> Dim:
        self: Dim = sp.Symbol.__xnew__(cls, name, integer=True, positive=True)
        self.hint = hint
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dim, (self.name, self.hint))

    # Symbol pickles through __getnewargs_ex__, which knows nothing of the hint.
    def __getnewargs_ex__(self) -> tuple[tuple[str, int], dict[str, Any]]:
        return ((self.name, self.hint), {})

    def __getstate__(self) -> None:
        return None


# ---------------------------------------------------------------- what operators of sizes do

#: Functions for which Python's whole numbers take the type of arrays beside them, or have to fit
#: it, and no operators: as arrays, which NumPy makes of what is no int, they have 64 bits.
_OF_NUMBERS = frozenset((
    np.where, np.select, np.choose, np.copyto, np.putmask, np.result_type, np.can_cast,
))  # fmt: skip
_ARRAY = np.empty(0)


def _numbers(value: Any) -> Any:
    """Return a size, or the sizes in a list, as numbers."""
    if isinstance(value, (list, tuple)):
        return [_numbers(v) for v in value]
    return int(value) if isinstance(value, Size) else value


Operator = Callable[[Any, Any], Any]
Method = Callable[[Any, Any], Any]


def _both_ways(
    of: Callable[[Size, Any, Operator, bool], Any], operate: Operator
) -> tuple[Method, ...]:
    """Return the methods of an operator: with the size on the left, and on the right."""
    return (
        lambda size, other: of(size, other, operate, False),
        lambda size, other: of(size, other, operate, True),
    )


def _of_expressions(size: Size, other: object, operate: Operator, swap: bool) -> Any:
    """Compute with a whole number, which gives a size; with others it is a traced number's."""
    if isinstance(other, (Size, int, np.integer)) and not isinstance(other, bool):
        right = as_expr(as_dim(other))
    elif isinstance(other, Sequence):  # lists are repeated, by as many as there are here
        return NotImplemented
    else:
        return _lifted(size, other, operate, swap)
    exact = _EXACT.get(operate, operate)
    if exact is not operate:
        check_divisor(size.expr if swap else right)
    return as_size(exact(right, size.expr) if swap else exact(size.expr, right))


def _lifted(size: Size, other: object, operate: Operator, swap: bool) -> Any:
    number = Size.lift(size)
    return operate(other, number) if swap else operate(number, other)


def _of_number(size: Size, other: Any, operate: Operator, swap: bool) -> Any:
    return operate(other, int(size)) if swap else operate(int(size), other)


def _comparison(relation: Any, operate: Operator) -> Method:
    """Return the method of a comparison, which is true or false in the example call."""

    def compare(self: Size, other: object) -> Any:
        if isinstance(other, float):
            exact = operate in (operator.eq, operator.ne)
            if not abs(other) < 2.0**62 or (exact and not other.is_integer()):
                return operate(0, other)
            # Whole numbers that are below 2.5, or not, are so for 3, by others as for 2.
            other = math.ceil(other) if operate in (operator.lt, operator.ge) else math.floor(other)
        if not isinstance(other, (Size, int, np.integer)):
            return NotImplemented
        right = as_dim(other)
        truth = operate(self.hint, hint(right))
        guard(relation(self.expr, right, evaluate=False), value_is=truth)
        return truth

    return compare


_COMPARED: dict[np.ufunc, Operator] = {
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip


class Size(metaclass=StandIn):
    """A symbolic dimension as the traced function sees it: an integer that is not baked in.

    Arithmetic with integers stays symbolic; comparing, ``int()``, ``range()`` and ``bool()``
    take the example call's value and record a guard.
    """

    __slots__ = ("expr",)
    __class__ = stands_for(lambda _: int)
    #: Turns a size into a traced number; set by the tracer, which is a layer above.
    lift: ClassVar[Callable[[Size], Any]]

    def __init__(self, expr: sp.Expr):
        if not isinstance(expr, sp.Expr):  # type(n)(value), in code that knows n for an int
            raise TraceError(
                f"a number was made by the type of an integer of the trace, of {expr!r:.60}. "
                "Write instead: int(value) or float(value); np.mean and np.var of an array for "
                "functions of `statistics`"
            )
        self.expr = expr

    @property
    def hint(self) -> int:
        """The value in the example call."""
        return hint(self.expr)

    def __index__(self) -> int:
        value = self.hint
        guard(sp.Eq(self.expr, value, evaluate=False), value_is=True)
        return value

    __int__ = __index__

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        return hash(int(self))  # as an equal int: sizes are looked up in dicts of ints

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that integers have (``n.bit_length()``): the number's."""
        if name.startswith("_") and not asks_for(name, sys._getframe(1)):
            raise AttributeError(f"an integer has no attribute {name!r}")
        if name not in names_of(int):
            raise absent(int, name)
        return getattr(int(self), name)

    def __repr__(self) -> str:
        return repr(int(self))  # text is made of the number, as dictionaries are looked up by it

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(int(self), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        # An np.int64 is handed on as an array.
        numbers = [x.item() if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 else x
                   for x in inputs]  # fmt: skip
        if (
            ufunc in _COMPARED
            and not kwargs
            and all(isinstance(x, (Size, int, float)) for x in numbers)
        ):
            return _COMPARED[ufunc](*numbers)
        lifted = [Size.lift(x) if isinstance(x, Size) else x for x in inputs]
        return getattr(ufunc, method)(*lifted, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not {*types} <= {Size, np.ndarray}:
            return NotImplemented  # it is up to traced values
        if function in _OF_NUMBERS:
            args = tuple(map(_numbers, args))
        return _ARRAY.__array_function__(function, (), args, kwargs)  # NumPy's own

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __pow__(self, other: object) -> Any:
        if isinstance(other, Size):  # a power of a size by another has no form as a dimension
            other = operator.index(other)
        if isinstance(other, int) and other >= 0:
            return as_size(self.expr ** int(other))
        # As for integers: a negative exponent gives a float.
        negative = isinstance(other, (int, Size)) and other < 0
        return (1.0 * self if negative else Size.lift(self)) ** other

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, int):
            # In 64 bits as far as these go; else, and for a float, the number itself.
            many = next((k for k in range(2, 64) if abs(other) ** k >= 1 << 63), MOST_BYTES)
            if not 0 <= self < many:
                return other ** int(self)
        return other ** Size.lift(self)

    def __neg__(self) -> Any:
        return as_size(-self.expr)

    def __float__(self) -> float:
        return float(int(self))

    def __pos__(self) -> Size:
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __round__(self, ndigits: int | None = None) -> Any:
        return self if ndigits is None or ndigits >= 0 else round(int(self), ndigits)

    def __format__(self, spec: str) -> str:
        return format(int(self), spec)

    def __invert__(self) -> int:
        return ~int(self)

    __add__, __radd__ = _both_ways(_of_expressions, operator.add)
    __sub__, __rsub__ = _both_ways(_of_expressions, operator.sub)
    __mul__, __rmul__ = _both_ways(_of_expressions, operator.mul)
    __floordiv__, __rfloordiv__ = _both_ways(_of_expressions, operator.floordiv)
    __mod__, __rmod__ = _both_ways(_of_expressions, operator.mod)
    __truediv__, __rtruediv__ = _both_ways(_lifted, operator.truediv)

    # Bits have no symbolic form: these take the number.
    __and__, __rand__ = _both_ways(_of_number, operator.and_)
    __or__, __ror__ = _both_ways(_of_number, operator.or_)
    __xor__, __rxor__ = _both_ways(_of_number, operator.xor)
    __lshift__, __rlshift__ = _both_ways(_of_number, operator.lshift)
    __rshift__, __rrshift__ = _both_ways(_of_number, operator.rshift)

    __eq__ = _comparison(sp.Eq, operator.eq)
    __ne__ = _comparison(sp.Ne, operator.ne)
    __lt__ = _comparison(sp.Lt, operator.lt)
    __le__ = _comparison(sp.Le, operator.le)
    __gt__ = _comparison(sp.Gt, operator.gt)
    __ge__ = _comparison(sp.Ge, operator.ge)


show_as(Size, lambda _: int)


# ---------------------------------------------------------------- numbers of dimensions


@lru_cache(maxsize=65536)
def _hint(expr: sp.Expr) -> int:
    return int(evaluated(expr, lambda s: s.hint))


def hint(dim: Dimension | Size) -> int:
    """Return the number that ``dim`` stands for in the example call."""
    return dim if isinstance(dim, int) else _hint(dim.expr if isinstance(dim, Size) else dim)


def as_dim(value: Any) -> Dimension:
    """Return the canonical dimension of an int, NumPy integer, Size or SymPy expression."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Size):
        return value.expr
    if isinstance(value, sp.Expr):
        return int(value) if value.is_Integer else value
    return operator.index(value)


def as_size(dim: Dimension) -> int | Size:
    """Return what the traced function sees for ``dim``: an int, or a Size if symbolic."""
    return int(dim) if isinstance(dim, int) or dim.is_Integer else Size(dim)


def as_expr(value: Any) -> Any:
    """Return a number, a dimension or an expression as SymPy's; text is none, and never read."""
    return sp.sympify(value, strict=True)


@lru_cache(maxsize=65536)
def floor_div(a: Any, b: Any) -> Any:
    """Return ``a // b`` of dimensions, exact where SymPy can show divisibility."""
    a, b = as_expr(a), as_expr(b)
    quotient = sp.expand(a / b) if b.is_Integer else sp.cancel(a / b)
    return quotient if quotient.is_integer else sp.floor(a / b)


@lru_cache(maxsize=65536)
def dim_product(dims: Shape) -> Dimension:
    """Return the number of elements of an array of shape ``dims``."""
    return as_dim(sp.Mul(*map(as_expr, dims))) if dims else 1


#: Arrays have fewer bytes, stored or not. With as many elements a position, or a sum of a few
#: sizes, has no overflow in 64 bits, and no machine has the memory.
MOST_BYTES = 1 << 61


@lru_cache(maxsize=65536)
def dim_expand(dim: Dimension) -> Dimension:
    """Return ``dim`` in expanded normal form, so that equal polynomials compare equal."""
    return dim if isinstance(dim, int) else as_dim(sp.expand(as_expr(dim)))


def check_divisor(divisor: sp.Expr) -> None:
    """Raise for a divisor that is zero in the example call; record that it is not."""
    if hint(as_dim(divisor)) == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if not divisor.is_positive:
        guard(sp.Ne(divisor, 0, evaluate=False), value_is=True)


_EXACT: dict[Any, Callable[[Any, Any], Any]] = {operator.floordiv: floor_div, operator.mod: sp.Mod}


def evaluate_dim(dim: Any, sizes: Mapping[sp.Symbol, int]) -> int:
    """Return the number of ``dim`` for the given values of the size symbols."""
    if isinstance(dim, int):
        return dim
    return int(evaluated(dim, sizes.__getitem__))


def _power(a: Any, b: Any) -> Any:
    return a**b if b >= 0 else Fraction(a) ** b


#: What the operations of sizes are, on numbers of them.
_ON_NUMBERS: dict[Any, Callable[..., Any]] = {
    sp.Add: lambda *xs: sum(xs), sp.Mul: lambda *xs: math.prod(xs), sp.Pow: _power,
    sp.floor: math.floor, sp.ceiling: math.ceil, sp.Mod: operator.mod, sp.Max: max, sp.Min: min,
    sp.Eq: operator.eq, sp.Ne: operator.ne, sp.Lt: operator.lt, sp.Le: operator.le,
    sp.Gt: operator.gt, sp.Ge: operator.ge,
}  # fmt: skip


def evaluated(e: Any, size: Callable[[Any], int]) -> Any:
    """Return the exact number of an expression of sizes, or the truth of a relation of them.

    SymPy, which would simplify what the numbers go into, takes a thousand times as long.
    """
    if e.is_Symbol:
        return size(e)
    if e.is_Rational:
        return e.p if e.q == 1 else Fraction(e.p, e.q)
    operation = _ON_NUMBERS.get(e.func)
    if operation is None:
        return e.xreplace({s: sp.Integer(size(s)) for s in e.free_symbols})
    return operation(*[evaluated(x, size) for x in e.args])


# ---------------------------------------------------------------- guards


class recording(within):  # noqa: N801 - a block
    """Collect the guards recorded while the block runs: ``{relation: truth}``."""

    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[sp.Basic, bool] = {}
        super().__init__(guards=self._guards, pulled={}, seeded=set())

    def __enter__(self) -> dict[sp.Basic, bool]:
        super().__enter__()
        return self._guards


def guard(relation: sp.Basic, value_is: bool) -> None:
    """Record that the trace holds only while ``relation`` has the truth value ``value_is``."""
    guards = now().guards
    # An end of a slice is compared with the axis, and often is the axis: n <= n.
    decided = isinstance(relation, sp.Rel) and relation.lhs == relation.rhs
    if guards is not None and relation.free_symbols and not decided:
        guards[relation] = value_is


def require(relation: type[sp.Rel], a: Dimension, b: Dimension) -> None:
    """Record that the trace holds only while a relation of two sizes does, which it does now.

    It is a guard that SymPy does not look at: one of each index that Python writes out.
    """
    guards, known = now().guards, [isinstance(x, int) for x in (a, b)]
    if guards is None or all(known) or (not any(known) and a == b):
        return
    left, right = (sp.Integer(x) if isinstance(x, int) else x for x in (a, b))
    if left.free_symbols or right.free_symbols:
        guards[sp.Basic.__new__(relation, left, right)] = True


def under(size: Any, bound: int) -> bool:
    """Tell whether a size is less than a number, by guard where symbols do not tell."""
    dim = as_dim(size)
    if isinstance(dim, int) or (dim - bound).is_nonnegative:
        return isinstance(dim, int) and dim < bound
    return bool(as_size(dim) < bound)


def require_length(size: Any) -> None:
    """Raise for a size that is negative in the example call; record that it is not."""
    if under(size, 0):
        raise ShapeError(NEGATIVE)


#: NumPy's words for it.
NEGATIVE = "negative dimensions are not allowed"


def same(a: Dimension, b: Dimension) -> bool:
    """Tell whether two dimensions are equal, by guard where only the hints can tell."""
    if a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    if dim_expand(a) == dim_expand(b):
        return True
    truth = hint(a) == hint(b)
    guard(sp.Eq(a, b, evaluate=False), value_is=truth)
    return truth


def agree(a: Shape, b: Shape) -> bool:
    """Tell whether shapes are equal: as expressions, or where a guard holds them equal."""
    return len(a) == len(b) and all(map(same, a, b))
