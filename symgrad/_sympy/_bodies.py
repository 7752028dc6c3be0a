"""Formulas that bind names: sums, products, integrals, derivatives, substitutions.

The body is a tape of its own. A sum or product is a loop of the program, so that one compilation
serves every limit; an integral is ``quad``, whose derivative is by Leibniz' rule; a derivative that
SymPy has not evaluated is one of symgrad's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from .. import numpy as traced_numpy
from .._api._at_values import jvp
from .._api._transforms import vmap
from .._core.base.state import now
from .._core.ops.np_common import is_traced
from .._core.trace.formula import Form, Meaning, Tape, quotient
from .._syntax._control import fori_loop
from ..errors import ArgumentError, UnsupportedError
from ._builder import INDEX, FormulaBuilder

#: Tolerances of integrals, and most panels.
ABSOLUTE, RELATIVE, PANELS = 1e-13, 1e-11, 200

# ---------------------------------------------------------------- sums and products


def _loop(builder: FormulaBuilder, e: Any, limits: Sequence[Any], product: bool) -> int:
    """Write the loop of the last limit around those before it: SymPy has the innermost first."""
    if not limits:
        return builder.slot(e.function)
    *inner, last = limits
    if len(last) != 3:
        raise UnsupportedError(f"{e}: write the limits of {last[0]}, ({last[0]}, first, last)")
    index, lower, upper = last
    if lower.is_infinite or upper.is_infinite:
        raise UnsupportedError(
            f"{e} has infinitely many terms: .doit() may know it; else write a finite limit"
        )
    body, captured, _ = builder.body([index], lambda b: _loop(b, e, inner, product), integers=True)
    ends = [builder.step(_end, builder.slot(end, INDEX), static=(str(index),)) for end in last[1:]]
    return builder.step(_run_loop, *ends, *captured, static=(body, product))


def _end(value: Any, index: str) -> Any:
    """Return a limit of a loop as an integer."""
    if isinstance(value, (float, np.floating)):
        if not value.is_integer():
            raise ArgumentError(f"a limit of the sum or product over {index} is {value}: integers")
        return int(value)
    dtype = getattr(value, "dtype", None)
    if dtype is not None and (dtype.kind not in "iu" or np.ndim(value)):
        raise ArgumentError(
            f"the limits of the sum or product over {index} are integers: pass 3, not 3.0, and no "
            "array; sg.vmap has one for each element"
        )
    return value


def _run_loop(first: Any, last: Any, *more: Any) -> Any:
    """Sum or multiply; of a last limit below the first, by Karr's convention, as SymPy does."""
    *captured, body, product = more
    combine: Callable[[Any, Any], Any] = operator.mul if product else operator.add
    end = last + 1
    traced = is_traced(first) or is_traced(end)
    low, high = _ordered(first, end, traced)

    def step(i: Any, total: Any) -> Any:
        return combine(total, body(i, *captured)[0])

    total = fori_loop(low, high, step, _start(body, low, captured, float(product)))
    turned = quotient(1, total) if product else -total
    if traced:
        return np.where(end < first, turned, total)
    return turned if end < first else total


def _ordered(first: Any, end: Any, traced: bool) -> tuple[Any, Any]:
    if traced:
        return np.minimum(first, end), np.maximum(first, end)
    return (end, first) if end < first else (first, end)


def _start(body: Tape, first: Any, captured: list[Any], value: float) -> Any:
    """Return the value before the first step, of the type and shape of a step's."""
    if now().guards is None:
        return value
    term = body(first, *captured)[0]  # for its type: nothing else reads it
    dtype = np.result_type(term.dtype if hasattr(term, "dtype") else type(term), float)
    shape = np.shape(term)
    if not shape and dtype == np.float64:
        return value
    return traced_numpy.full(shape, value, dtype=dtype)


# ---------------------------------------------------------------- integrals


def _integral(builder: FormulaBuilder, e: Any, limits: Sequence[Any]) -> int:
    if not limits:
        return builder.slot(e.function)
    *inner, last = limits
    if len(last) != 3:
        raise UnsupportedError(
            f"{e} is an indefinite integral: write its limits, ({last[0]}, lower, upper), "
            "or .doit()"
        )
    body, captured, whole = builder.body([last[0]], lambda b: _integral(b, e, inner))
    ends = [builder.slot(end) for end in last[1:]]
    return builder.step(_run_integral, *ends, *captured, static=(body, whole))


def _run_integral(lower: Any, upper: Any, *more: Any) -> Any:
    *captured, body, whole = more
    if np.iscomplexobj(lower) or np.iscomplexobj(upper):
        raise ArgumentError(
            "a limit of an Integral is complex: integrate along a path, by .transform to a "
            "variable between real limits"
        )

    def one(lower: Any, upper: Any, *values: Any) -> Any:
        return _one_integral(body, lower, upper, values)

    given = [lower, upper, *captured]
    single = [True, True, *(not w for w in whole)]
    shape = np.broadcast_shapes(*(np.shape(x) for x, s in zip(given, single, strict=True) if s))
    if not shape:
        return one(*given)
    spread = [
        np.reshape(np.broadcast_to(x, shape), (-1,)) if s else x
        for x, s in zip(given, single, strict=True)
    ]
    if now().guards is None:
        rows = zip(*(x for x, s in zip(spread, single, strict=True) if s), strict=True)
        values = []
        for row in rows:
            rest = iter(row)
            values.append(
                one(*(next(rest) if s else x for x, s in zip(spread, single, strict=True)))
            )
        return np.reshape(np.array(values), shape)
    axes = tuple(0 if s else None for s in single)
    return np.reshape(vmap(one, in_axes=axes)(*spread), shape)


def _one_integral(body: Tape, lower: Any, upper: Any, values: Sequence[Any]) -> Any:
    from ..scipy import integrate  # noqa: PLC0415 - takes longer to import than SymPy

    pairs = any(isinstance(s, complex) for s in body.slots) or any(map(np.iscomplexobj, values))
    found = integrate.quad(
        lambda x: body(x, *values)[0],
        lower,
        upper,
        epsabs=ABSOLUTE,
        epsrel=RELATIVE,
        limit=PANELS,
        **({"complex_func": True} if pairs else {}),
    )
    return found[0]


# ---------------------------------------------------------------- derivatives, substitutions


def _derivative(builder: FormulaBuilder, e: Any, counts: Sequence[Any]) -> int:
    """Write a derivative; those by other variables are within."""
    if not counts:
        return builder.slot(e.expr)
    (variable, count), *rest = counts
    if not count.is_Integer:
        raise UnsupportedError(f"{e}: the order of a derivative has to be known, a number")
    if isinstance(e.expr, sp.matrices.MatrixBase) or getattr(e.expr, "is_Matrix", False):
        raise UnsupportedError(
            f"{e} is the derivative of a matrix: differentiate its elements, or the function by "
            "sg.jacobian"
        )
    depends = next((a for a in builder.every_argument() if _moves(a, variable, e.expr)), None)
    if depends is not None:
        raise ArgumentError(
            f"{e} is not known: {depends} is an argument; list the derivative among the arguments "
            "as it stands there, or put its formula in its place with .subs"
        )
    body, captured, _ = builder.body([variable], lambda b: _derivative(b, e, rest))
    place = builder.slot(variable)
    return builder.step(_run_derivative, place, *captured, static=(body, int(count)))


def _moves(argument: Any, variable: Any, formula: Any) -> bool:
    """Tell whether an argument in a formula depends on a variable, as ``q(t)`` does on t."""
    applied = isinstance(argument, AppliedUndef | sp.Derivative) and argument != variable
    return applied and bool(argument.has(variable)) and bool(formula.has(argument))


def _run_derivative(x: Any, *more: Any) -> Any:
    *captured, body, order = more
    function: Callable[[Any], Any] = lambda x: body(x, *captured)[0]  # noqa: E731
    for _ in range(order):
        function = _differentiated(function)
    return function(x * 1.0)


def _differentiated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def derivative(x: Any) -> Any:
        return jvp(function, (x,), (0.0 * x + 1.0,))[1]

    return derivative


def _substituted(builder: FormulaBuilder, e: Any, slots: list[int]) -> int:
    body, captured, _ = builder.body(e.variables, lambda b: b.slot(e.expr))
    return builder.step(_run_body, *slots, *captured, static=(body,))


def _run_body(*more: Any) -> Any:
    *values, body = more
    return body(*values)[0]


def _no_parts(e: Any) -> tuple[Any, ...]:
    return ()


BODIES: dict[Any, Meaning] = {
    sp.Sum: Form(lambda b, e, s: _loop(b, e, e.limits, False), _no_parts),
    sp.Product: Form(lambda b, e, s: _loop(b, e, e.limits, True), _no_parts),
    sp.Integral: Form(lambda b, e, s: _integral(b, e, e.limits), _no_parts),
    sp.Derivative: Form(lambda b, e, s: _derivative(b, e, e.variable_count[::-1]), _no_parts),
    sp.Subs: Form(_substituted, lambda e: e.point),
}
