"""Comparisons, logic, bits, selection, and conversion between element types."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp

from ...errors import DTypeError
from ..base.size_text import infix
from ..base.sizes import as_expr
from ..op import (
    DTYPE,
    Builder,
    Code,
    Composed,
    Emit,
    Evidence,
    Instr,
    Linear,
    Map,
    NoRule,
    Op,
    Partials,
    Real,
    Words,
    Zeros,
    composite,
    define,
    refuse,
)
from . import complex_elementwise as parts
from . import complex_order
from .integers import shift_text
from .np_common import is_traced, truths
from .np_refused import OF_PLACES

UNARY, BINARY, WHOLE = (Real,), (Real, Real), (sp.Integers, sp.Integers)
CONDITION = sp.FiniteSet(sp.false, sp.true)
TRUTH = "booleans and integers have no derivative"


def truth(x: Any) -> Any:
    """Return a SymPy value as a condition: numbers are true unless zero."""
    x = as_expr(x)
    return x if is_truth(x) else sp.Ne(x, 0)


def is_truth(x: Any) -> bool:
    """Tell whether a SymPy value is a condition, not a number."""
    return isinstance(x, (sp.logic.boolalg.Boolean, bool)) and not isinstance(x, sp.Symbol)


def number(x: Any) -> Any:
    """Return a SymPy value as a number: conditions are 1 or 0."""
    return sp.Piecewise((1, x), (0, True)) if is_truth(x) else x


def _relation(form: Any) -> Callable[[Any, Any], Any]:
    def compare(x: Any, y: Any) -> Any:
        if is_truth(x) and is_truth(y) and form in (sp.Eq, sp.Ne):
            return sp.Equivalent(x, y) if form is sp.Eq else sp.Xor(x, y)
        return form(number(x), number(y))

    return compare


def _compare(ufunc: np.ufunc, name: str, f: str, i: str, form: Any, sign: str, parts: Any) -> Op:
    signed = i if i in ("eq", "ne") else f"s{i}"
    unsigned = i if i in ("eq", "ne") else f"u{i}"
    lower = Instr(f"fcmp {f}", f"icmp {signed}", f"icmp {unsigned}", f"icmp {unsigned}")
    return define(
        Map(name, functions=(ufunc,), domain=BINARY, sympy=_relation(form), rule=NoRule(TRUTH),
            parts=parts),
        Code(lower, source=infix(sign)),
        Evidence(samples=(-3, 3), ulp=0.0),
    )  # fmt: skip


EQUAL = _compare(np.equal, "Equal", "oeq", "eq", sp.Eq, "==", parts=parts.equal)
NOT_EQUAL = _compare(
    np.not_equal, "NotEqual", "une", "ne", sp.Ne, "!=", parts=lambda x, y: ~parts.equal(x, y)
)
LESS = _compare(np.less, "Less", "olt", "lt", sp.Lt, "<", parts=complex_order.less)
LESS_EQUAL = _compare(
    np.less_equal, "LessEqual", "ole", "le", sp.Le, "<=", parts=complex_order.less_equal
)
GREATER = _compare(
    np.greater, "Greater", "ogt", "gt", sp.Gt, ">", parts=lambda x, y: complex_order.less(y, x)
)
GREATER_EQUAL = _compare(
    np.greater_equal, "GreaterEqual", "oge", "ge", sp.Ge, ">=",
    parts=lambda x, y: complex_order.less_equal(y, x),
)  # fmt: skip


# ---------------------------------------------------------------- logic and bits


def _as_truth(x: Any) -> Any:
    return x if x.dtype == np.bool_ else x != 0


def _logical(ufunc: np.ufunc, name: str, form: Any, bits: Any, arity: int = 2) -> Op:
    return define(
        Map(name, functions=(ufunc,), domain=(Real,) * arity,
            sympy=lambda *xs: form(*map(truth, xs)), rule=NoRule(TRUTH),
            parts=parts.truths(ufunc)),
        Code(Composed(lambda *xs: bits(*map(_as_truth, xs)))),
        Evidence(samples=(-3, 3), ulp=0.0),
    )  # fmt: skip


LOGICAL_AND = _logical(np.logical_and, "LogicalAnd", sp.And, lambda x, y: x & y)
LOGICAL_OR = _logical(np.logical_or, "LogicalOr", sp.Or, lambda x, y: x | y)
LOGICAL_XOR = _logical(np.logical_xor, "LogicalXor", sp.Xor, lambda x, y: x ^ y)
LOGICAL_NOT = _logical(np.logical_not, "LogicalNot", sp.Not, lambda x: ~x, 1)


def _bits(ufunc: np.ufunc, name: str, form: Any, lower: Any, source: Any, arity: int = 2) -> Op:
    """Define a bitwise op: of conditions it is logic, of whole numbers it stays opaque."""
    opaque = sp.Function(ufunc.__name__)

    def combine(*xs: Any) -> Any:
        return form(*xs) if all(map(is_truth, xs)) else opaque(*map(number, xs))

    return define(
        Map(name, functions=(ufunc,), domain=(sp.Integers,) * arity, sympy=combine,
            rule=NoRule(TRUTH)),
        Code(lower, source=source),
        Evidence(samples=(0, 9), ulp=0.0, exact_form=False),
    )  # fmt: skip


def _invert(e: Builder, dtype: Any, x: str) -> str:
    t = e.type(dtype)
    return e.op("xor", t, x, "true" if dtype.kind == "b" else "-1")


BITWISE_AND = _bits(
    np.bitwise_and, "BitwiseAnd", sp.And, Instr(None, "and", "and", "and"), infix("&")
)
BITWISE_OR = _bits(np.bitwise_or, "BitwiseOr", sp.Or, Instr(None, "or", "or", "or"), infix("|"))
BITWISE_XOR = _bits(
    np.bitwise_xor, "BitwiseXor", sp.Xor, Instr(None, "xor", "xor", "xor"), infix("^")
)
INVERT = _bits(np.invert, "Invert", sp.Not, Emit(_invert), lambda x: f"~{x}", 1)
LEFT_SHIFT = define(
    Map("LeftShift", functions=(np.left_shift,), domain=WHOLE,
        sympy=lambda x, n: x * sp.Integer(2) ** n, rule=NoRule(TRUTH)),
    Code(Emit(shift_text(True))),
    Evidence(samples=((-9, 9), (0, 9)), ulp=0.0),
)  # fmt: skip
RIGHT_SHIFT = define(
    Map("RightShift", functions=(np.right_shift,), domain=WHOLE,
        sympy=lambda x, n: sp.floor(x / sp.Integer(2) ** n), rule=NoRule(TRUTH)),
    Code(Emit(shift_text(False))),
    Evidence(samples=((-99, 99), (0, 9)), ulp=0.0),
)  # fmt: skip


# ---------------------------------------------------------------- kinds of numbers


def _kind(ufunc: np.ufunc, name: str, form: Any, formula: Any, whole: Any) -> Op:
    finite = ufunc is np.isfinite
    return define(
        Map(name, functions=(ufunc,), domain=UNARY, sympy=lambda x: form, rule=NoRule(TRUTH),
            parts=(lambda z: ufunc(z.real) & ufunc(z.imag)) if finite else parts.either(ufunc)),
        Code(Composed(lambda x: (formula if x.dtype.kind == "f" else whole)(x))),
        Evidence(samples=(-3, 3), ulp=0.0),
        Words(f"np.{ufunc.__name__}; of a real number in a formula always {form}."),
    )  # fmt: skip


ISNAN = _kind(np.isnan, "Isnan", sp.false, lambda x: x != x, lambda x: x != x)
ISINF = _kind(np.isinf, "Isinf", sp.false, lambda x: np.fabs(x) == math.inf, lambda x: x != x)
ISFINITE = _kind(
    np.isfinite, "Isfinite", sp.true, lambda x: np.fabs(x) < math.inf, lambda x: x == x
)


def real_only(x: Any, function: Callable[..., Any]) -> None:
    """Raise for a complex value, as NumPy does."""
    if getattr(x, "dtype", None) is not None and x.dtype.kind == "c":
        refuse(function, "complex numbers have no order")


@composite(np.isposinf, differentiable=False)
def isposinf(x: Any, out: None = None) -> Any:
    """Where x is positive infinity."""
    real_only(x, np.isposinf)
    return np.equal(x, math.inf)


@composite(np.isneginf, differentiable=False)
def isneginf(x: Any, out: None = None) -> Any:
    """Where x is negative infinity."""
    real_only(x, np.isneginf)
    return np.equal(x, -math.inf)


@composite(np.isclose, differentiable=False)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Where two values agree within ``atol + rtol*abs(b)``."""
    near = (np.absolute(a - b) <= atol + rtol * np.absolute(b)) & np.isfinite(b)
    result = near | np.equal(a, b)
    return result | (np.isnan(a) & np.isnan(b)) if equal_nan else result


# ---------------------------------------------------------------- selection


def _where_types(condition: Any, a: Any, b: Any) -> tuple[Any, Any]:
    # Python numbers are weak: they take the type of the other side.
    weak = [k(1) if isinstance(k, type) else k for k in (a, b)]
    common = np.result_type(*weak)
    return (np.dtype(bool), common, common), common


def _select(e: Builder, dtype: Any, condition: str, a: str, b: str) -> str:
    t = e.type(dtype)
    return e.select(condition, t, a, b)


def _choice(condition: Any, a: Any, b: Any) -> Any:
    if is_truth(a) or is_truth(b):  # of a choice between conditions SymPy makes no condition
        return sp.ITE(truth(condition), truth(a), truth(b))
    return sp.Piecewise((a, truth(condition)), (b, True))


def _is_never(mask: Any) -> bool:
    return mask is not None and getattr(mask.node, "value", None) == np.False_


def _of_choice(condition: Any, a: Any, b: Any) -> Any:
    """Return where a choice can differ from zero: where what is chosen can.

    Rules write 0 first, as ``where(r == 0, 0, 0.5/r)``: their condition is left out, since such a
    factor is 0 where the other one is finite.
    """
    if _is_never(a):
        return b
    if a is None and b is None:
        return None
    if condition is None:
        return None if a is None or b is None else a | b
    return np.where(condition, True if a is None else a, True if b is None else b)


WHERE = define(
    Map("Where", evaluate=np.where, domain=(CONDITION, Real, Real), types=_where_types,
        sympy=_choice,
        rule=Linear(lambda ct, c, a, b: (None, np.where(c, ct, 0.0), np.where(c, 0.0, ct)), (1, 2)),
        taken=lambda y, c, a, b: (None, (c, True), (c, False))),
    Code(Emit(_select), source=lambda c, a, b: f"np.where({c}, {a}, {b})"),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words("np.where(condition, a, b)."),
    Zeros(_of_choice),
)  # fmt: skip


REACHED = define(
    Map("Reached", evaluate=lambda x, mask: np.where(mask, x, x.dtype.type(0)),
        domain=(Real, CONDITION),
        types=lambda x, mask: ((np.dtype(x), np.dtype(bool)), np.dtype(x)),
        sympy=lambda x, mask: _choice(mask, x, 0), rule=Partials(lambda y, x, mask: (1, None)),
        taken=lambda y, x, mask: ((mask, True), None), fixed=True),
    Code(Composed(lambda x, mask: np.where(mask, x, 0.0)),
        source=lambda x, mask: f"np.where({mask}, {x}, {x.dtype.type(0)!r})"),
    Evidence(samples=(-3, 3), ulp=0.0, exact_form=False),
    Words("A derivative, 0 where it stays 0; its own derivatives are those of the first operand.",
        convention="0 times an infinite derivative is 0 where the zero is a constant"),
    Zeros(lambda x, mask: x if mask is None else mask),
)  # fmt: skip


@composite(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds, else ``y``."""
    if x is None or y is None:
        refuse(np.where, f"with one argument {OF_PLACES}")
    if is_traced(condition) and condition.dtype.kind == "f":
        condition = truths(condition)
    return WHERE(condition, x, y)


# ---------------------------------------------------------------- conversion


def _cast(e: Builder, source: Any, x: str, *, dtype: Any) -> str:
    target = np.dtype(dtype)
    a, b, s, t = e.type(source), e.type(target), source.kind, target.kind
    if t == "b":
        if s == "b":
            return x
        return e.op("fcmp une", a, x, "0.0") if s == "f" else e.op("icmp ne", a, x, 0)
    if s == "f" and t == "f":
        if source.itemsize == target.itemsize:
            return x
        word = "fpext" if source.itemsize < target.itemsize else "fptrunc"
    elif s == "f":
        # Saturating: what does not fit is undefined in NumPy, and must not be in the kernel.
        name = f"llvm.fpto{'s' if t == 'i' else 'u'}i.sat.{b}.f{8 * source.itemsize}"
        e.module.declare(name, b, [a])
        return e.call(b, f"@{name}", [f"{a} {x}"])
    elif t == "f":
        word = "sitofp" if s == "i" else "uitofp"
    elif a == b:
        return x
    elif s != "b" and source.itemsize > target.itemsize:
        word = "trunc"
    else:
        word = "sext" if s == "i" else "zext"
    return e.cast(word, a, x, b)


def _cast_parts(z: Any, dtype: Any) -> Any:
    target = np.dtype(dtype)
    if target.kind == "b":
        return z != 0
    if target.kind != "c":
        raise DTypeError(
            f"a complex value is not converted to {target}, which would drop its imaginary "
            "part: take z.real or np.abs(z)"
        )
    half = f"float{4 * target.itemsize}"
    return CAST(z.real, dtype=half), CAST(z.imag, dtype=half)


CAST: Op = define(
    Map("Cast", evaluate=lambda x, dtype: np.asarray(x).astype(dtype), domain=UNARY,
        params={"dtype": DTYPE},
        types=lambda kind, dtype=None: ((kind,), np.dtype(dtype or kind)),
        sympy=lambda x, dtype=None: truth(x) if dtype == "bool" else number(x),
        rule=Partials(lambda y, x, dtype=None: (1,)), parts=_cast_parts),
    Code(Emit(_cast), source=lambda x, dtype: f"{x}.astype(np.{dtype})"),
    Evidence(samples=(-3, 3), ulp=0.5, exact_form=False),
    Words("Conversion to the element type dtype; its derivative is 1 between real types."),
    Zeros(lambda x: x),
)  # fmt: skip
STOP_GRADIENT: Op = define(
    Map("StopGradient", evaluate=lambda x: x, domain=UNARY, types=lambda k: ((k,), k),
        sympy=lambda x: x, rule=NoRule("its derivative is zero by definition"),
        parts=lambda z: (STOP_GRADIENT(z.real), STOP_GRADIENT(z.imag))),
    Code(Emit(lambda e, dtype, x: x), source=str),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words("The value itself, held constant in derivatives."),
)  # fmt: skip
UNKNOWN: Op = define(
    # A constant nan would have the derivative 0: known, and wrong. Neither do sums of the operands
    # do for them: they may cancel, and a sum's terms do not depend on each other's operands.
    Map("Unknown", evaluate=lambda x, y: (x + y) * math.nan, domain=BINARY,
        rule=Partials(lambda z, x, y: (UNKNOWN(x, y), UNKNOWN(x, y)))),
    Code(Composed(lambda x, y: (x + y) * math.nan), source=lambda x, y: f"({x} + {y})*np.nan"),
    Evidence(samples=(-3, 3), precise=lambda context, guess, x, y: context.nan),
    Words("A derivative that is not known, of a function of x and y: nan, in every order.",
        convention="nan (not known)", reading=lambda x, y: sp.nan),
)  # fmt: skip


def unknown(first: Any, *others: Any) -> Any:
    """Return a derivative that is not known, of a function of these operands."""
    return reduce(UNKNOWN, others or (first,), first)
