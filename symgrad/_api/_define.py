"""Elementwise operations of one's own: from a formula, or from machine code."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.numpy import NumPyPrinter

from .._core.base.argument_checks import as_items, as_text, shown
from .._core.base.scipy_names import special
from .._core.base.sizes import as_expr
from .._core.op import (
    Builder,
    Code,
    Composed,
    Emit,
    Evidence,
    Map,
    Op,
    Partials,
    Real,
    Words,
    registry,
)
from .._core.op import define as define_op
from .._core.runtime import bind_function
from .._core.trace import evaluate
from ..errors import ArgumentError, DefinitionError


def define(
    name: str,
    function: Callable[..., Any],
    *,
    partials: Callable[..., Any] | None = None,
    domain: Sequence[sp.Set] | None = None,
    samples: Sequence[Any] = (-3.0, 3.0),
) -> Op:
    """Define an elementwise operation, to be used like those of NumPy.

    Parameters
    ----------
    name:
        CamelCase name, under which programs print and save it.
    function:
        A formula: a function of SymPy symbols that returns a SymPy expression. Or machine
        code: a function of numbers compiled by ``numba.njit``.
    partials:
        ``partials(y, *xs)`` gives the derivative by each argument, in NumPy; ``y`` is the
        result. Needed for machine code; a formula is differentiated by SymPy.
    domain:
        A SymPy set for each argument, where it is defined; the real numbers if None.
    samples:
        ``(low, high)`` for all arguments, or one pair for each, to try it out on.

    Returns
    -------
    Op
        Call it with arrays and numbers, traced or not.

    Raises
    ------
    DefinitionError
        If a built-in op has the name, or there is no way to differentiate it.

    Notes
    -----
    A program that contains it is saved by the name: define it before loading the program.

    Examples
    --------
    >>> import numpy as np
    >>> import sympy as sp
    >>> import symgrad as sg
    >>> gauss = sg.define("Gauss", lambda x, width: sp.exp(-(x**2) / (2 * width**2)))
    >>> sg.grad(lambda w: np.sum(gauss(np.array([0.0, 1.0]), w)))(1.0)
    np.float64(0.606531)
    """
    if not as_text(name, "define: the name").isidentifier() or not name[0].isupper():
        raise ArgumentError(f"define: the name is CamelCase text, not {shown(name)}")
    if not callable(function):
        raise ArgumentError(f"define: {name} needs a function, not {type(function).__name__}")
    _forget(name)
    compiled = hasattr(function, "py_func")
    try:
        count = len(inspect.signature(getattr(function, "py_func", function)).parameters)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"define: {name} needs a function whose parameters can be read, not "
            f"{shown(function)}: write lambda x: f(x)"
        ) from None
    sets = (Real,) * count
    if domain is not None:
        sets = as_items(domain, f"define: domain of {name}", "SymPy sets")
    for one in sets:
        if not isinstance(one, sp.Set):
            raise ArgumentError(f"define: domain= has a SymPy set an argument, not {shown(one)}")
    if len(sets) != count:
        raise ArgumentError(f"define: {name} has {count} arguments, domain= has {len(sets)} sets")
    pairs = as_items(samples, f"define: samples of {name}", "numbers, low and high, or of pairs")
    rule = None if partials is None else Partials(_listed(partials))
    make = _machine if compiled else _formula
    record, code = make(name, function, sets, rule)
    op = define_op(record, code, Evidence(samples=pairs), Words(name))
    registry.users[name] = op
    registry.changes += 1
    return op


def _listed(partials: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Let a function of one argument give its derivative alone."""

    def listed(y: Any, *xs: Any) -> tuple[Any, ...]:
        found = partials(y, *xs)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    return listed


def _forget(name: str) -> None:
    """Let a definition take the place of an earlier one of the user's."""
    registry.complete()  # a name that is taken is taken, loaded or not
    if registry.users.pop(name, None) is not None:
        registry.remove(name)


def _formula(
    name: str, function: Callable[..., Any], domain: tuple[sp.Set, ...], rule: Partials | None
) -> tuple[Map, Code]:
    symbols = sp.symbols(f"x:{len(domain)}", real=True)
    try:
        expression = function(*symbols)
    except (TypeError, AttributeError) as error:
        raise DefinitionError(
            f"{name}: the formula is a function of SymPy symbols (sp.exp(x), not np.exp(x)); "
            f"machine code is what numba.njit returns: {error}"
        ) from None
    with contextlib.suppress(sp.SympifyError):  # a list, or text
        expression = as_expr(expression)
    if not isinstance(expression, sp.Expr):
        raise DefinitionError(
            f"{name}: the formula is one SymPy expression, not {type(expression).__name__}"
        )
    stray = expression.free_symbols - set(symbols)
    if stray:
        raise DefinitionError(
            f"{name}: the formula has the free symbol {min(map(str, stray))}: make it an argument"
        )

    def compute(*xs: Any) -> Any:
        found = evaluate(expression, dict(zip(symbols, xs, strict=True)))
        return found + 0 * sum(xs) if not expression.free_symbols else found

    text = NumPyPrinter({"fully_qualified_modules": True}).doprint(expression)
    text = text.replace("numpy.", "np.").replace("scipy.special.", "special.")

    def source(*xs: Any) -> str:
        return _substituted(text, [str(s) for s in symbols], [str(x) for x in xs])

    # The NumPy reference is the text that programs show.
    scope = {"np": np, "special": special}
    code = f"lambda {', '.join(map(str, symbols))}: {text}"
    reference = np.errstate(all="ignore")(eval(code, scope))  # noqa: S307  SymPy's printing
    record = Map(name, evaluate=reference, domain=domain, sympy=function, rule=rule)
    return record, Code(Composed(compute), source=source)


def _substituted(text: str, names: Sequence[str], values: Sequence[str]) -> str:
    """Return ``text`` with operands in the place of the symbols ``x0, x1, ...``."""
    for name in reversed(names):  # x10 before x1
        text = text.replace(name, f"\0{name}\0")
    for name, value in zip(names, values, strict=True):
        text = text.replace(f"\0{name}\0", f"({value})")
    return f"({text})"


def _machine(
    name: str, function: Any, domain: tuple[sp.Set, ...], rule: Partials | None
) -> tuple[Map, Code]:
    count = len(domain)
    if rule is None:
        raise DefinitionError(
            f"{name}: machine code has no derivative by itself: give partials=lambda y, x: ..."
        )
    import numba  # noqa: PLC0415  # at hand already: it has made the function

    signature = numba.float64(*[numba.float64] * count)
    code = numba.cfunc(signature, error_model="numpy")(function.py_func)
    text = code.inspect_llvm()
    symbol = f"symgrad.user.{name}.{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    bind_function(symbol, code.address, keep=code)

    def emit(e: Builder, dtype: np.dtype[Any], *values: str) -> str:
        if dtype == np.float32:
            values = tuple(e.cast("fpext", "float", v, "double") for v in values)
        e.module.symbols.add(symbol)
        e.module.declare(symbol, "double", ["double"] * count)
        found = e.call("double", f"@{symbol}", (f"double {v}" for v in values))
        return e.cast("fptrunc", "double", found, "float") if dtype == np.float32 else found

    # Numba's own ufunc, on plain arrays.
    ufunc = numba.vectorize([signature])(function.py_func)
    return Map(name, evaluate=ufunc, domain=domain, rule=rule), Code(Emit(emit))
