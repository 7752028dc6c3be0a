"""How special functions are entered: as formulas in float64, and by SciPy where these do not hold.

A formula holds in a box of operands. It is plain NumPy and runs traced, on arrays and in the source
of programs; for operands outside of the box it takes SciPy's function, which in kernels is an op of
its own (:func:`of_scipy`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy as sp

from .._core.op import (
    Code,
    Composed,
    Cython,
    Evidence,
    Map,
    NoRule,
    Op,
    Partials,
    Positive,
    Real,
    Words,
    composite,
    define,
    define_step,
)

UNARY, POSITIVE = (Real,), (Positive,)
BOTH_POSITIVE, UNIT = (Positive, Positive), (sp.Interval.open(0, 1),)
NOTHING: Mapping[str, Any] = MappingProxyType({})
ORDER = "by the order or parameter: nan (not known)"


def elsewhere(function: Any, inside: Any, *operands: Any) -> Any:
    """A function where its operands are not ``inside``: there it returns at once, since of nan."""
    return function(*(np.where(inside, math.nan, x) for x in operands))


def of_scipy(name: str, function: np.ufunc, domain: tuple[sp.Set, ...]) -> Op:
    """Define SciPy's function as a step of an op's kernel."""
    return define_step(
        Map(f"{name}OfSciPy", evaluate=function, domain=domain,
            rule=NoRule(f"a step of {name} in kernels")),
        Code(Cython(function.__name__)),
    )  # fmt: skip


def source_of(name: str, *more: str) -> Callable[..., str]:
    """Return an op's source: a call of its helper, which computes in float64."""

    def source(*operands: Any, slope: int = 0) -> str:
        kind = np.result_type(*(x.dtype for x in operands), 0.0)
        narrow = "" if kind == np.float64 else f".astype(np.{kind})"
        given = [*map(str, operands), *more, *([f"slope={slope}"] if slope else [])]
        return f"{name}({', '.join(given)}){narrow}"

    return source


def result_of(function: np.ufunc, *operands: Any) -> Any:
    """Return the element type of a function's result; float32 for bytes, as traced."""
    kinds = [type(x) if type(x) in (int, float) else np.asarray(x).dtype for x in operands]
    result = function.resolve_dtypes((*kinds, *(None,) * function.nout))[-1]
    return np.dtype(np.float32) if result == np.float16 else result


def evaluated(compute: Callable[..., Any], function: np.ufunc, *more: Any) -> Callable[..., Any]:
    """Return an op's evaluation by what computes in float64; ``function`` is SciPy's."""

    def evaluate(*operands: Any, **params: Any) -> Any:
        with np.errstate(all="ignore"):
            found = compute(*operands, function, *more, **params)
        return found.astype(result_of(function, *operands))

    return evaluate


def boxed(
    name: str, function: np.ufunc, formula: Callable[..., Any], domain: tuple[sp.Set, ...],
    form: Callable[..., Any] | None, partials: Callable[..., Any], *facets: Evidence | Words,
    more: tuple[Any, ...] = (), shown: tuple[str, ...] = (),
    helpers: tuple[Callable[..., Any], ...] = (), portable: Callable[..., Any] | None = None,
    functions: tuple[np.ufunc, ...] | None = None, **fields: Any,
) -> Op:  # fmt: skip
    """Define an op by a formula that calls SciPy's ``function`` where it does not hold.

    It is ``formula(*operands, function, *more)``, with the op's parameters by their names;
    ``shown`` are the function and ``more`` as code, ``helpers`` what the formula calls. The op is
    that of ``functions``, of ``function`` if not given.
    """
    step = of_scipy(name, function, domain)
    return define(
        Map(name, functions=(function,) if functions is None else functions,
            evaluate=evaluated(formula, function, *more), domain=domain, sympy=form,
            rule=Partials(partials), **fields),
        Code(Composed(lambda *operands, **params: formula(*operands, step, *more, **params)),
            source=source_of(formula.__name__, *shown), portable=portable,
            helpers=tuple(dict.fromkeys((*helpers, formula)))),
        *facets,
    )  # fmt: skip


def doubled(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return an op's evaluation by a ``formula(*operands, slope=0)`` that needs float64.

    The formula may have any static parameters.
    """

    def evaluate(*operands: Any, **params: int) -> Any:
        result = np.result_type(*operands, 0.0)
        with np.errstate(all="ignore"):
            found = formula(*(np.float64(1.0) * x for x in operands), **params)
        return np.asarray(found).astype(result)[()]

    return evaluate


def doubled_code(
    formula: Callable[..., Any], *helpers: Callable[..., Any], traced: Mapping[str, Any] = NOTHING
) -> Code:
    """Return how an op is computed by such a formula; ``helpers`` are it and what it calls.

    ``traced`` are functions for the formula's further arguments, in the place of its defaults,
    that take traced operands.
    """

    def source(*operands: Any, **params: int) -> str:
        narrow = np.result_type(*(x.dtype for x in operands), 0.0)
        wide = [str(x) if x.dtype == np.float64 else f"{x}.astype(np.float64)" for x in operands]
        given = [f"{name}={which}" for name, which in params.items() if which]
        code = f"{formula.__name__}({', '.join([*wide, *given])})"
        return code if narrow == np.float64 else f"{code}.astype(np.{narrow})"

    def lower(*operands: Any, **params: int) -> Any:
        return formula(*(x.astype(np.float64) for x in operands), **params, **traced)

    return Code(Composed(lower), source=source, helpers=helpers)


def in_doubles(
    name: str, formula: Callable[..., Any], domain: tuple[sp.Set, ...],
    form: Callable[..., Any] | None, partials: Callable[..., Any], *facets: Evidence | Words,
    helpers: tuple[Callable[..., Any], ...] = (), traced: Mapping[str, Any] = NOTHING,
    **fields: Any,
) -> Op:  # fmt: skip
    """Define an op by a formula that holds everywhere in float64; ``helpers`` are what it calls."""
    return define(
        Map(name, evaluate=doubled(formula), domain=domain, sympy=form, rule=Partials(partials),
            **fields),
        doubled_code(formula, *dict.fromkeys((*helpers, formula)), traced=traced),
        *facets,
    )  # fmt: skip


def falling_power(x: Any, m: Any, n: int) -> Any:
    """The n-th derivative of ``x**m``, also at 0, where whole powers end in 0.

    So are its derivatives by x: of a function with a power at 0 they are made of these there.
    """
    factor: Any = 1.0
    for k in range(n):
        factor = factor * (m - float(k))
    ends = (m >= 0) & (m < n) & (m == np.rint(m))
    return np.where(ends, 0.0, factor * x ** np.where(ends, 1.0, m - float(n)))


# ---------------------------------------------------------------- several results


def parts(
    function: np.ufunc,
    computed: Sequence[tuple[Callable[..., Any], Code]],
    names: tuple[str, ...],
    rules: tuple[Callable[..., Any], ...],
    forms: tuple[Callable[..., Any] | None, ...],
    *,
    domain: tuple[sp.Set, ...],
    evidence: Evidence,
    slopes: int = 0,
    exactly: tuple[Callable[..., Any] | None, ...] | None = None,
) -> tuple[Op, ...]:
    """Define an op for each result of ``function``, and the function as their tuple.

    ``computed`` says how each result is evaluated, and its code. ``rules`` take the results' ops
    and then the operands.
    """
    ops: list[Op] = []
    for k, (name, (evaluate, code)) in enumerate(zip(names, computed, strict=True)):
        rule = Partials(_bound(rules[k], ops, len(domain)))
        ops.append(define(
            Map(name, evaluate=evaluate, domain=domain, sympy=forms[k], rule=rule, slopes=slopes),
            code,
            dataclasses.replace(evidence, precise=exactly[k] if exactly else None),
            Words(f"Result {k} of scipy.special.{function.__name__}."),
        ))  # fmt: skip

    def together(*operands: Any) -> tuple[Any, ...]:
        return tuple(op(*operands) for op in ops)

    together.__doc__ = f"{', '.join(names)} together."
    together.__module__ = rules[0].__module__
    composite(function, name=function.__name__)(together)
    return tuple(ops)


def _bound(rule: Callable[..., Any], ops: list[Op], arity: int) -> Callable[..., Any]:
    if arity == 1:
        return lambda y, x: rule(ops, x)
    return lambda y, u, m, **params: rule(ops, u, m, **params)


# ---------------------------------------------------------------- functions that others express


def relative(
    function: Any, doc: str, convention: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated formula as what ``function`` means."""

    def enter(formula: Callable[..., Any]) -> Callable[..., Any]:
        formula.__doc__ = doc
        return composite(function, name=function.__name__, convention=convention)(formula)

    return enter
