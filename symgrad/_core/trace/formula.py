"""SymPy formulas as straight-line programs of NumPy's functions.

A :class:`Builder` walks a formula once and writes a :class:`Tape`: steps, each a function of
earlier values. Equal steps are one step, so that common subexpressions are computed once however
the formula is written, and the formula is never compared with another, hashed or evaluated by
SymPy. The walk keeps its own stack; time and memory are linear in the formula.

What a class of SymPy's means is a :class:`Form` in a table. The table here has arithmetic and the
elementary functions of real numbers, which derived rules need; :mod:`symgrad._sympy` adds to it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import sympy as sp
from sympy.codegen import cfunctions

from ...errors import UnsupportedError
from ..base.scipy_names import special
from ..base.sizes import as_expr
from ..op import Map, Op, registry
from ..ops import unknown

# ---------------------------------------------------------------- tapes


class Step(NamedTuple):
    """``slots[to] = function(*operands, *static)``; ``last`` are slots not read again."""

    to: int
    function: Callable[..., Any]
    operands: tuple[int, ...]
    static: tuple[Any, ...]
    last: tuple[int, ...]


class Tape:
    """A straight-line program.

    Parameters
    ----------
    arguments:
        The slots of the arguments.
    slots:
        The values that are known; None for the others.
    steps:
        Slot, function, operands and static operands of each step.
    results:
        The slots of the results.
    """

    __slots__ = ("arguments", "results", "slots", "steps")

    def __init__(
        self, arguments: Sequence[int], slots: list[Any], steps: list[Any], results: Sequence[int]
    ) -> None:
        self.arguments, self.slots, self.results = tuple(arguments), slots, tuple(results)
        kept = {*self.results}
        backwards = []
        for to, function, operands, static in reversed(steps):
            if to not in kept:
                continue  # nobody reads it
            last = tuple({k for k in operands if k not in kept})
            kept.update(operands)
            backwards.append(Step(to, function, operands, static, last))
        self.steps = backwards[::-1]

    def __call__(self, *values: Any) -> list[Any]:
        """Compute the results at values of the arguments."""
        slots = self.slots.copy()
        for k, value in zip(self.arguments, values, strict=True):
            slots[k] = value
        operands: tuple[int, ...] = ()
        try:
            for to, function, operands, static, last in self.steps:
                slots[to] = function(*[slots[k] for k in operands], *static)
                for k in last:
                    slots[k] = None
        except TypeError as error:
            if "not supported" in str(error) and any(np.iscomplexobj(slots[k]) for k in operands):
                raise UnsupportedError(
                    f"a function of the formula is not defined for complex values ({error}): take "
                    "the real or imaginary part of its arguments, or their absolute values"
                ) from error
            raise
        return [slots[k] for k in self.results]


class Part(NamedTuple):
    """A part of a formula, and how its value is meant (as an index, say)."""

    formula: Any
    mode: Any


class Form(NamedTuple):
    """What a class of SymPy's means.

    Attributes
    ----------
    emit:
        ``emit(builder, e, slots)`` writes the steps that compute ``e``, whose parts are in
        ``slots``, and returns the slot of the value.
    parts:
        What has to be computed first.
    """

    emit: Callable[[Any, Any, list[int]], int]
    parts: Callable[[Any], Sequence[Any]] = lambda e: e.args


#: The meaning of a class: a form, or a function of the values of its arguments.
Meaning: TypeAlias = Form | Callable[..., Any]


class Table:
    """What SymPy's classes mean: the form of a class is its own or that of a class it is made of.

    Parameters
    ----------
    meanings:
        A form for each class; a plain function is a form that computes with the values of the
        arguments.
    """

    def __init__(self, meanings: Mapping[Any, Meaning]) -> None:
        self._forms: dict[type, Form | None] = {
            kind: meaning if isinstance(meaning, Form) else function_form(meaning)
            for kind, meaning in meanings.items()
        }

    def form(self, kind: type) -> Form | None:
        """Return the form of a class, None if there is none."""
        if kind not in self._forms:
            bases = (self._forms[base] for base in kind.__mro__ if base in self._forms)
            self._forms[kind] = next(bases, None)
        return self._forms[kind]

    def __contains__(self, kind: type) -> bool:
        return self.form(kind) is not None


def function_form(function: Callable[..., Any]) -> Form:
    """Return the form of a class whose value is a function of the values of its arguments."""
    return Form(lambda builder, e, slots: builder.step(function, *slots))


class Builder:
    """Writes a tape.

    Parameters
    ----------
    arguments:
        SymPy's symbols, or whatever else stands for a value in the formulas.
    table:
        What classes mean.

    Attributes
    ----------
    parts:
        What the form gave as parts of the formula that is being written.
    """

    def __init__(self, arguments: Sequence[Any], table: Table) -> None:
        self.table = table
        self.parts: Any = ()
        self.slots: list[Any] = [None] * len(arguments)
        self.known: list[bool] = [False] * len(arguments)
        self.steps: list[Any] = []
        self.arguments: dict[Any, int] = dict(zip(arguments, range(len(arguments)), strict=True))
        self._numbered: dict[Any, int] = {}
        # By identity, together with the formula, which so stays what it is.
        self._done: dict[Any, tuple[Any, int]] = {}

    def tape(self, results: Sequence[int]) -> Tape:
        """Return what has been written."""
        return Tape(list(self.arguments.values()), self.slots, self.steps, results)

    # ------------------------------------------------------------ steps

    def constant(self, value: Any) -> int:
        """Return the slot of a number of Python's."""
        key = (type(value), repr(value))
        if key not in self._numbered:
            self._numbered[key] = self._slot(value, True)
        return self._numbered[key]

    def step(self, function: Callable[..., Any], *operands: int, static: Any = ()) -> int:
        """Return the slot of ``function(*operands, *static)``; numbers of numbers are computed."""
        key = (function, operands, *((type(s), s) for s in static))
        found = self._numbered.get(key)
        if found is None:
            found = self._number(function, operands, static)
            if found is None:
                found = self._slot(None, False)
                self.steps.append((found, function, operands, static))
            self._numbered[key] = found
        return found

    def _number(
        self, function: Callable[..., Any], operands: tuple[int, ...], static: Any
    ) -> int | None:
        """Return the slot of a number computed of numbers, None if it is none."""
        if not operands or not all(self.known[k] for k in operands):
            return None
        try:
            with np.errstate(all="ignore"):
                value = function(*[self.slots[k] for k in operands], *static)
        except (ArithmeticError, ValueError):  # told of when it is computed
            return None
        if isinstance(value, np.generic):
            value = value.item()
        if type(value) not in (bool, int, float, complex):
            return None
        return self.constant(float(value) if type(value) is int and abs(value) >= 2**53 else value)

    def _slot(self, value: Any, known: bool) -> int:
        self.slots.append(value)
        self.known.append(known)
        return len(self.slots) - 1

    # ------------------------------------------------------------ formulas

    def slot(self, formula: Any, mode: Any = None) -> int:
        """Return the slot of a formula's value.

        Raises
        ------
        UnsupportedError
            For what has no numerical meaning here.
        """
        done = self._done
        stack: list[tuple[Any, Any, Any]] = [(formula, mode, None)]
        while stack:
            e, how, parts = stack.pop()
            if (id(e), how) in done:
                continue
            if parts is None:
                found = self.leaf(e, how)
                if found is not None:
                    done[id(e), how] = (e, found)
                    continue
                parts = self.form(e).parts(e)
                stack.append((e, how, parts))
                stack.extend(
                    (*p, None) if type(p) is Part else (p, how, None) for p in reversed(parts)
                )
            else:
                slots = [
                    done[(id(p[0]), p[1]) if type(p) is Part else (id(p), how)][1] for p in parts
                ]
                self.parts = parts
                done[id(e), how] = (e, self.form(e).emit(self, e, slots))
        return done[id(formula), mode][1]

    def form(self, e: Any) -> Form:
        """Return the form of a formula's class."""
        found = self.table.form(type(e))
        if found is None:
            raise self.refusal(e)
        return found

    def refusal(self, e: Any) -> UnsupportedError:
        """Return the error for a formula whose class has no form."""
        kind = f"the symbol {e}" if e.is_Symbol else f"the SymPy function {type(e).__name__}"
        return UnsupportedError(f"{kind} has no value to compute with")

    def leaf(self, e: Any, mode: Any) -> int | None:
        """Return the slot of what has no parts, None for others."""
        if not isinstance(e, sp.Basic):
            return None
        if (e.is_Symbol or not e.args) and e in self.arguments:
            return self.arguments[e]
        if e.is_Integer:
            return self.constant(int(e) if abs(int(e)) < 2**53 else float(e))
        if e.is_Number or e.is_NumberSymbol:
            return self.constant(float(e))
        if e is sp.true or e is sp.false:
            return self.constant(bool(e))
        return None


# ---------------------------------------------------------------- arithmetic


class _Factor(NamedTuple):
    """A factor: a formula, a power of one if there is an exponent, or an integer."""

    formula: Any
    exponent: Any = None
    number: int = 0


class _Product(NamedTuple):
    """Sign, numerator and denominator: ``a/b`` rounds once, ``a*(1/b)`` twice."""

    sign: int
    above: list[_Factor]
    below: list[_Factor]

    @property
    def parts(self) -> list[Any]:
        """The formulas of the factors."""
        return [f.formula for f in (*self.above, *self.below) if not f.number]

    def emit(self, builder: Builder, slots: Iterator[int]) -> int:
        """Write the steps of the product; the parts are in the slots that come next."""

        def value(factor: _Factor) -> int:
            if factor.number:
                return builder.constant(factor.number)
            slot = next(slots)
            return slot if factor.exponent is None else power(builder, slot, factor.exponent)

        def product(factors: list[int]) -> int:
            return reduce(lambda a, b: builder.step(operator.mul, a, b), factors)

        above, below = [*map(value, self.above)], [*map(value, self.below)]
        result = product(above) if above else builder.constant(1)
        if below:
            result = builder.step(quotient, result, product(below))
        return builder.step(operator.neg, result) if self.sign < 0 else result


def _product(e: Any, negated: bool = False) -> _Product:
    """Take a product apart; ``negated``: that of ``-e``, whose first factor is a number."""
    args = e.args
    if negated:
        args = args[1:] if args[0] is sp.S.NegativeOne else (-args[0], *args[1:])
    if len(args) == 1:
        return _Product(1, [_Factor(args[0])], [])
    sign, above, below = 1, [], []
    for factor in args:
        if factor.is_Rational:
            sign = -sign if factor.p < 0 else sign
            if abs(factor.p) != 1:
                above.append(_integer(abs(factor.p)))
            if factor.q != 1:
                below.append(_integer(factor.q))
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp.p < 0:
            below.append(_Factor(factor.base, -factor.exp))
        else:
            above.append(_Factor(factor))
    return _Product(sign, above, below)


def _integer(n: int) -> _Factor:
    return _Factor(None, number=n) if 0 < n < 2**53 else _Factor(sp.Integer(n))


def _is_negative(e: Any) -> bool:
    """Tell whether a formula is a negative number; of a rational one SymPy would deduce it."""
    if e.is_Rational:
        return bool(e.p < 0)
    return bool(e.is_Number and e.is_negative)


def _terms(args: Sequence[Any]) -> list[tuple[int, Any]]:
    """The terms with their signs taken out: ``a - b`` is one operation, not two."""
    signed: list[tuple[int, Any]] = []
    for term in args:
        if term.is_Mul:
            negative = _is_negative(term.args[0])
            signed.append((-1 if negative else 1, _product(term, negative)))
        elif _is_negative(term):
            signed.append((-1, -term))
        else:
            signed.append((1, term))
    return signed


class SumParts(list[Any]):
    """The formulas in a sum's terms, and the terms."""

    terms: list[tuple[int, Any]]


def sum_parts(args: Sequence[Any]) -> SumParts:
    """Take the terms of a sum apart."""
    parts = SumParts()
    parts.terms = _terms(args)
    for _, term in parts.terms:
        if isinstance(term, _Product):
            parts.extend(term.parts)
        else:
            parts.append(term)
    return parts


def emit_terms(
    builder: Builder, terms: list[tuple[int, Any]], slots: list[int]
) -> list[tuple[int, int]]:
    """Write the terms of a sum, whose parts are in ``slots``; returns signs and slots."""
    rest = iter(slots)
    return [
        (sign, term.emit(builder, rest) if isinstance(term, _Product) else next(rest))
        for sign, term in terms
    ]


def _sum(builder: Builder, e: sp.Add, slots: list[int]) -> int:
    return added(builder, emit_terms(builder, builder.parts.terms, slots))


def added(builder: Builder, values: list[tuple[int, int]]) -> int:
    """Write the sum of signed values: those to add come first."""
    values = sorted(values, key=lambda pair: -pair[0])
    (sign, total), rest = values[0], values[1:]
    total = builder.step(operator.neg, total) if sign < 0 else total
    for sign, value in rest:
        total = builder.step(operator.sub if sign < 0 else operator.add, total, value)
    return total


def quotient(a: Any, b: Any) -> Any:
    """Return ``a/b``; a number of Python's over 0 is infinite, as for NumPy, and no error."""
    return np.divide(a, b) if type(b) in _PYTHONS and b == 0 else a / b


def raised(base: Any, exponent: Any) -> Any:
    """Return ``base**exponent``, where Python would raise an error or go over to complex."""
    if type(base) in (int, float) and base <= 0 and type(exponent) in (int, float):
        return np.power(float(base), exponent)
    try:
        return base**exponent
    except OverflowError:  # of Python's numbers: infinite, as for NumPy
        with np.errstate(over="ignore"):
            return np.power(float(base), float(exponent))


_PYTHONS = (int, float, complex)


def power(builder: Builder, base: int, exponent: Any) -> int:
    """Write a power with a rational exponent."""
    one = builder.constant(1)
    if exponent is sp.S.Half:
        return builder.step(np.sqrt, base)
    if exponent == -sp.S.Half:
        return builder.step(quotient, one, builder.step(np.sqrt, base))
    if exponent is sp.S.One:
        return base
    if exponent is sp.S.NegativeOne:
        return builder.step(quotient, one, base)
    if not exponent.is_Integer or abs(int(exponent)) >= 2**53:
        return builder.step(raised, base, builder.constant(float(exponent)))
    n = int(exponent)
    whole = builder.step(operator.pow, base, builder.constant(abs(n)))
    return whole if n > 0 else builder.step(quotient, one, whole)


def _power(builder: Builder, e: sp.Pow, slots: list[int]) -> int:
    if len(slots) == 1:
        return power(builder, slots[0], e.exp)
    return builder.step(raised, *slots) if e.base is not sp.E else builder.step(np.exp, slots[1])


# ---------------------------------------------------------------- conditions


def _piecewise(builder: Builder, e: sp.Piecewise, slots: list[int]) -> int:
    pairs = list(zip(slots[::2], slots[1::2], strict=True))
    always = builder.constant(True)
    result, rest = builder.constant(float("nan")), pairs
    if pairs[-1][1] == always:
        result, rest = pairs[-1][0], pairs[:-1]
    for value, condition in reversed(rest):
        result = builder.step(np.where, condition, value, result)
    return result


def folded(function: Callable[..., Any]) -> Form:
    """Return the form of a function of two that SymPy takes of any number."""
    return Form(lambda builder, e, slots: reduce(lambda a, b: builder.step(function, a, b), slots))


# ---------------------------------------------------------------- functions


#: Arithmetic, conditions, and functions of real numbers.
ELEMENTARY: dict[Any, Meaning] = {
    sp.Add: Form(_sum, lambda e: sum_parts(e.args)),
    sp.Mul: Form(lambda b, e, slots: _product(e).emit(b, iter(slots)), lambda e: _product(e).parts),
    sp.Pow: Form(_power, lambda e: (e.base,) if e.exp.is_Rational else (e.base, e.exp)),
    sp.Piecewise: Form(_piecewise, lambda e: [x for pair in e.args for x in pair.args]),
    sp.Min: folded(np.minimum), sp.Max: folded(np.maximum),
    sp.And: folded(np.logical_and), sp.Or: folded(np.logical_or), sp.Not: np.logical_not,
    sp.sin: np.sin, sp.cos: np.cos, sp.tan: np.tan, sp.asin: np.arcsin, sp.acos: np.arccos,
    sp.atan: np.arctan, sp.atan2: np.arctan2, sp.sinh: np.sinh, sp.cosh: np.cosh,
    sp.tanh: np.tanh, sp.asinh: np.arcsinh, sp.acosh: np.arccosh, sp.atanh: np.arctanh,
    sp.exp: np.exp, sp.log: np.log, sp.Abs: np.abs, sp.sign: np.sign, sp.floor: np.floor,
    sp.ceiling: np.ceil, sp.erf: special.erf, sp.erfc: special.erfc, sp.gamma: special.gamma,
    sp.loggamma: special.gammaln, sp.digamma: special.digamma,
    sp.Heaviside: np.heaviside, sp.re: lambda x: x, sp.conjugate: lambda x: x,
    sp.sec: lambda x: 1 / np.cos(x), sp.csc: lambda x: 1 / np.sin(x),
    sp.cot: lambda x: 1 / np.tan(x), sp.sech: lambda x: 1 / np.cosh(x),
    sp.csch: lambda x: 1 / np.sinh(x), sp.coth: lambda x: 1 / np.tanh(x),
    sp.sinc: lambda x: np.sinc(x / np.pi), sp.Mod: np.mod,
    sp.DiracDelta: lambda x, *_: 0.0 * x, cfunctions.expm1: np.expm1,
    cfunctions.log1p: np.log1p, cfunctions.log2: np.log2, cfunctions.log10: np.log10,
    cfunctions.exp2: np.exp2, cfunctions.hypot: np.hypot, cfunctions.Cbrt: np.cbrt,
    cfunctions.Sqrt: np.sqrt, sp.Eq: np.equal, sp.Ne: np.not_equal, sp.Lt: np.less,
    sp.Le: np.less_equal, sp.Gt: np.greater, sp.Ge: np.greater_equal,
    sp.polygamma: Form(lambda builder, e, slots: _polygamma(builder, e, slots)),
    sp.zeta: Form(lambda builder, e, slots: _zeta(builder, slots)),
}  # fmt: skip


def _polygamma(builder: Builder, e: Any, slots: list[int]) -> int:
    if e.args[0] == 0:
        return builder.step(special.digamma, slots[1])
    return builder.step(own_form(sp.polygamma), *slots)


def _zeta(builder: Builder, slots: list[int]) -> int:
    return builder.step(own_form(sp.zeta), slots[0], *(slots[1:] or [builder.constant(1.0)]))


@lru_cache(maxsize=1)
def _own_forms() -> dict[Any, Op]:
    """Ops by the SymPy function class that is their form (Bessel functions, zeta, ...)."""
    forms = {}
    registry.complete()
    for op in list(registry.ops.values()):  # another thread may define one
        if op.kind == "map" and isinstance(op.sympy, type) and issubclass(op.sympy, sp.Function):
            forms[op.sympy] = op
    return forms


def own_form(kind: Any) -> Any:
    """Return the op whose form is a SymPy function."""
    return _own_forms()[kind]


class _OpTable(Table):
    """The elementary functions, and for derived rules all ops whose form is a SymPy function."""

    def form(self, kind: type) -> Form | None:
        found = super().form(kind)
        if found is None and issubclass(kind, sp.Function):
            op: Any = _own_forms().get(kind)
            found = None if op is None else function_form(op)
        return found


_TABLE = _OpTable(ELEMENTARY)


def evaluate(expr: Any, values: Mapping[sp.Symbol, Any]) -> Any:
    """Compute a SymPy expression on values (traced, arrays or numbers), as real numbers.

    Raises
    ------
    UnsupportedError
        For a SymPy function that has no numerical counterpart here.
    """
    return _taped(as_expr(expr), tuple(values))(*values.values())[0]


def _taped(expr: Any, symbols: tuple[sp.Symbol, ...]) -> Tape:
    builder = Builder(symbols, _TABLE)
    return builder.tape([builder.slot(expr)])


@lru_cache(maxsize=1024)
def _derived(op: Map) -> list[Tape | None]:
    assert op.sympy is not None
    symbols = tuple(sp.Symbol(f"x{k}", real=True) for k in range(op.arity))
    form = op.sympy(*symbols)
    derivatives = [sp.diff(form, s) for s in symbols]
    return [None if d == 0 else _taped(d, symbols) for d in derivatives]


def partials(op: Op, y: Any, xs: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """Return the derivatives of a map op by its operands, at traced operands.

    From the record's rule, or from the derivative of its SymPy form where there is none. One that
    the record says is nan is not known, and neither are its derivatives.
    """
    assert isinstance(op, Map)
    if op.partials is not None:
        given: Sequence[Any] = op.partials(y, *xs, **params)
        if any(type(p) is float and p != p for p in given):
            reals = [x for x in xs if x.dtype.kind == "f"]
            return [unknown(*reals) if type(p) is float and p != p else p for p in given]
        return given
    return [None if tape is None else tape(*xs)[0] for tape in _derived(op)]
