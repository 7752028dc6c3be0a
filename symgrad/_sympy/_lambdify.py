"""``lambdify`` with SymPy's signature."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.tensor.array import NDimArray

from .._core.base.argument_checks import as_flag, shown
from .._core.base.scipy_names import special
from ..errors import ArgumentError, UnsupportedError
from ._from_sympy import Formula, elements_of, is_name

#: Modules whose functions are those of symgrad's programs.
_SAME = {"numpy": np, "scipy": special, "math": math, "numexpr": np}

#: Modules that compute with something else, and what there is in their place.
_OTHER = {
    "mpmath": "symgrad computes in double precision; sg.verify(f, *args) gives exact values, and "
    "sympy.lambdify(..., 'mpmath') computes in many digits",
    "sympy": "use expr.subs, or sympy.lambdify(..., 'sympy'), for values that are formulas",
    "jax": "the function is compiled and differentiated as it is",
    "torch": "the function is compiled and differentiated as it is",
    "tensorflow": "the function is compiled and differentiated as it is",
    "cupy": "symgrad compiles for the CPU",
    "cmath": "complex values are computed with as such: pass x + 0j",
}


def lambdify(
    args: Any,
    expr: Any,
    modules: Any = None,
    printer: Any = None,
    use_imps: bool = True,
    dummify: bool | None = False,
    cse: Any = False,
    docstring_limit: int | None = 1000,
) -> Callable[..., Any]:
    """Return a SymPy formula as a function of numbers or arrays, as ``sympy.lambdify`` does.

    Change one import and code goes on as it is; the function can then be compiled and
    differentiated (``sg.compile``, ``sg.grad``, ``sg.jacobian``), called inside ``@njit``, and
    exported to C.

    Parameters
    ----------
    args : sympy.Symbol or str or nested
        A symbol, names as text (``"x, y"``), or a list of them: symbols, names, applied
        functions such as ``q(t)``, derivatives, ``IndexedBase``, ``MatrixSymbol``, and lists,
        tuples and matrices of these, for which the function takes one value each, nested in the
        same way.
    expr : sympy.Expr or nested
        A formula, a matrix or array, or a nesting of lists, tuples and dicts of them, which the
        result has, too. None is its result.
    modules : str or dict or module or list of them
        ``"numpy"``, ``"scipy"``, ``"math"``, a dict or module, or a list of them; first ones win.
        A dict has functions, which come before SymPy's own, and numbers, for constants or
        symbols. Modules that compute with something else than doubles
        are refused.
    printer : None
        Refused: no text is written. To give a function its meaning, use ``modules``.
    use_imps:
        Whether functions made by ``implemented_function`` are called; they come before
        ``modules``.
    dummify, cse, docstring_limit : any
        Taken and not needed: no name becomes Python's, and common parts are computed once.

    Returns
    -------
    callable
        Takes its arguments by position or by name.

    Raises
    ------
    ArgumentError
        If the formula has symbols that are not among ``args``, or a symbol is repeated.
    UnsupportedError
        If a part of the formula has no numerical meaning, or an option is refused.

    See Also
    --------
    from_sympy : formula first.

    Examples
    --------
    >>> import sympy as sp
    >>> import symgrad as sg
    >>> x, y, z = sp.symbols("x y z")
    >>> f = sg.lambdify([x, (y, z)], [x * y, {"sum": x + z}])
    >>> f(2.0, (3.0, 4.0))
    [6.0, {'sum': 6.0}]
    >>> sg.grad(lambda x, yz: f(x, yz)[0], argnums=1)(2.0, (3.0, 4.0))
    (np.float64(2.0), np.float64(0.0))
    """
    if printer is not None:
        raise UnsupportedError(
            "lambdify: printer= is refused, as no text is written: give functions their meaning "
            "by modules={'name': function}, or rewrite the formula"
        )
    use_imps = as_flag(use_imps, "lambdify: use_imps")
    functions = _functions(modules)
    if use_imps:
        functions = {**functions, **_implemented(expr)}
    if "sqrt" in functions:
        expr = _with_roots(expr)
    if isinstance(args, str) and all(part.strip().isidentifier() for part in args.split(",")):
        listed: tuple[Any, ...] = tuple(part.strip() for part in args.split(","))
    elif isinstance(args, str) or is_name(args):
        listed = (args,)
    else:
        listed = tuple(_argument(a) for a in _items(args))
    return Formula(expr, listed, "lambdify", functions or None)


def _items(args: Any) -> list[Any]:
    if isinstance(args, (sp.MatrixBase, NDimArray)):
        return elements_of(args)
    if isinstance(args, (set, frozenset)):
        raise ArgumentError("lambdify: args is a set, which has no order: write a list")
    try:
        return list(args)
    except TypeError:
        raise ArgumentError(f"lambdify: args are SymPy symbols, not {shown(args)}") from None


def _argument(given: Any) -> Any:
    if isinstance(given, (str, sp.MatrixBase, NDimArray)) or is_name(given):
        return given
    if isinstance(given, (tuple, list, sp.Tuple)):
        return tuple(map(_argument, given))
    raise ArgumentError(f"lambdify: args are SymPy symbols, and lists of them, not {shown(given)}")


def _functions(modules: Any) -> dict[str, Any]:
    """Return functions and numbers by their names, from the modules given; first ones win."""
    entries = _entries(modules)
    found: dict[str, Any] = {}
    earlier: list[ModuleType] = []
    for entry in entries:
        name = entry.__name__ if isinstance(entry, ModuleType) else entry
        if isinstance(name, str):
            top = name.partition(".")[0]
            if top in _OTHER:
                raise UnsupportedError(f"lambdify: modules={name!r} is refused: {_OTHER[top]}")
            if not isinstance(entry, ModuleType) and top not in _SAME:
                raise ArgumentError(
                    f"lambdify: modules={name!r}: there are 'numpy', 'scipy', 'math', modules and "
                    "dicts of functions"
                )
            if top in _SAME:
                earlier.append(_SAME[top])
                continue
        names = vars(entry) if isinstance(entry, ModuleType) else entry
        if not isinstance(names, Mapping):
            raise ArgumentError(f"lambdify: modules are names and dicts, not {shown(entry)}")
        for key, meaning in names.items():
            known = any(hasattr(module, str(key)) for module in earlier)
            if not known and not _is_usual(str(key), meaning):
                found.setdefault(str(key), meaning)
    return {_SYMPYS.get(key, key): meaning for key, meaning in found.items()}


def _entries(modules: Any) -> list[Any]:
    if isinstance(modules, (str, Mapping, ModuleType)):
        return [modules]
    try:
        return [] if modules is None else list(modules)
    except TypeError:
        raise ArgumentError(
            f"lambdify: modules are names and dicts, not {shown(modules)}"
        ) from None


#: SymPy's functions by the names that lambdify calls them by, of NumPy and SciPy.
_SYMPYS = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    "abs": "Abs", "ceil": "ceiling", "expi": "Ei", "lambertw": "LambertW", "psi": "digamma",
    "jv": "besselj", "yv": "bessely", "iv": "besseli", "kv": "besselk", "gammaln": "loggamma",
    "poch": "RisingFactorial", "eval_jacobi": "jacobi", "eval_gegenbauer": "gegenbauer",
    "eval_chebyt": "chebyshevt", "eval_chebyu": "chebyshevu", "eval_legendre": "legendre",
    "eval_hermite": "hermite", "eval_laguerre": "laguerre", "eval_genlaguerre": "assoc_laguerre",
}  # fmt: skip


def _is_usual(name: str, meaning: Any) -> bool:
    """Tell whether a name means what it always does, or nothing that a formula has."""
    if isinstance(meaning, Number):
        return not isinstance(meaning, (int, float, complex, np.number))
    return not callable(meaning) or (
        hasattr(sp, _SYMPYS.get(name, name))
        and any(getattr(module, name, None) is meaning for module in _SAME.values())
    )


def _with_roots(expr: Any) -> Any:
    """Write square roots, and what is divided by one, as a function ``sqrt`` that is given."""
    if isinstance(expr, dict):
        return {key: _with_roots(e) for key, e in expr.items()}
    if isinstance(expr, (list, tuple)):
        return type(expr)(map(_with_roots, expr))
    if isinstance(expr, NDimArray):
        return expr.applyfunc(_with_roots)
    if not hasattr(expr, "replace"):
        return expr
    return expr.replace(
        lambda e: e.is_Pow and e.exp in (sp.S.Half, -sp.S.Half),
        lambda e: sp.Function("sqrt")(e.base) ** (2 * e.exp),
    )


def _implemented(expr: Any) -> dict[str, Callable[..., Any]]:
    """Return the implementations that functions in a formula carry."""
    found: dict[str, Callable[..., Any]] = {}
    waiting, seen = [expr], set()
    while waiting:
        e = waiting.pop()
        if id(e) in seen or isinstance(e, type):
            continue
        seen.add(id(e))
        if isinstance(e, AppliedUndef):
            imp = inspect.getattr_static(type(e), "_imp_", None)
            if imp is not None:
                found[str(e.func)] = getattr(imp, "__func__", imp)
        if isinstance(e, dict):
            waiting.extend(e.values())
        elif isinstance(e, (list, tuple)):
            waiting.extend(e)
        elif isinstance(e, (sp.MatrixBase, NDimArray)):
            waiting.extend(elements_of(e))
        else:
            waiting.extend(getattr(e, "args", ()))
    return found
