"""SymPy formulas as NumPy functions."""

from __future__ import annotations

import contextlib
import inspect
import keyword
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
import sympy as sp

from .._options import as_items, shown
from .._pickles import call_again
from .._shapes import Size, as_expr
from .._symbolic import refuse_large_numbers
from .._trace import evaluate
from .._trace._tree import DEEPEST, Pair
from ..errors import ArgumentError


def from_sympy(
    expressions: Any, symbols: sp.Symbol | str | Sequence[sp.Symbol | str]
) -> Callable[..., Any]:
    """Return a SymPy formula as a function of numbers or arrays.

    The function works on plain arrays and under every transformation; arrays broadcast.

    Parameters
    ----------
    expressions:
        A SymPy expression, a nested tuple or list of them (the result has its structure),
        or a Matrix (the result is one array of its shape; arrays among the arguments add
        their axes behind, as in ``sympy.lambdify``).
    symbols:
        The symbols that become the function's arguments, in order: SymPy symbols or names.

    Returns
    -------
    callable
        ``f(*values)``, one value for each symbol.

    Raises
    ------
    ArgumentError
        If the formula has symbols that are not among ``symbols``, or a symbol is repeated.
    UnsupportedError
        If a number in the formula has more than 4096 binary digits, or a power of one would
        have; when called, for a SymPy function without a numerical counterpart.

    Examples
    --------
    >>> import sympy as sp
    >>> import symgrad as sg
    >>> a, x = sp.symbols("a x", real=True)
    >>> f = sg.from_sympy(sp.exp(-a * x), [a, x])
    >>> float(f(0.0, 3.0))
    1.0
    >>> float(sg.grad(f)(0.0, 3.0))
    -3.0
    """
    one = isinstance(symbols, (sp.Symbol, str))
    listed = (
        [symbols] if one else as_items(symbols, "from_sympy: symbols", "SymPy symbols or names")
    )
    flat = _leaves(expressions)
    for leaf in flat:
        refuse_large_numbers(leaf)
    free = set().union(*(e.free_symbols for e in flat)) if flat else set()
    arguments = [_match(s, free) for s in listed]
    if len(set(arguments)) != len(arguments):
        raise ArgumentError(f"a symbol is listed twice: {', '.join(map(str, listed))}")
    missing = sorted(str(s) for s in free - set(arguments))
    if missing:
        raise ArgumentError(
            f"the formula has symbols that are no arguments: {', '.join(missing)}; "
            f"list them in symbols=, or substitute numbers for them"
        )

    return _Formula(expressions, tuple(arguments))


class _Formula:
    """A function of a SymPy formula; it pickles as the formula does."""

    def __init__(self, expressions: Any, arguments: tuple[sp.Symbol, ...]) -> None:
        # Of a piecewise formula NumPy computes all cases, also where they do not apply.
        self._quiet = any(e.has(sp.Piecewise) for e in _leaves(expressions))
        # SymPy's tuple, which nobody changes, as calls that find the function need not look at it.
        self._expressions, self._arguments = expressions, sp.Tuple(*arguments)
        names = [_identifier(str(s), k) for k, s in enumerate(arguments)]
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
        self.__signature__ = inspect.Signature(parameters)
        self.__name__ = self.__qualname__ = "formula"
        self.__doc__ = "A formula."
        with contextlib.suppress(RecursionError):  # SymPy prints by recursion
            self.__doc__ = f"The formula {sp.sstr(expressions)[:200]}."

    def __call__(self, *values: Any) -> Any:
        if len(values) != len(self._arguments):
            raise ArgumentError(
                f"the formula takes {len(self._arguments)} values "
                f"({', '.join(map(str, self._arguments))}), not {len(values)}"
            )
        for symbol, value in zip(self._arguments, values, strict=True):
            if type(value) is not float and not _is_numeric(value):
                raise ArgumentError(f"{symbol} is a number or an array, not {shown(value)}")
        given = dict(zip(self._arguments, values, strict=True))
        with np.errstate(all="ignore") if self._quiet else contextlib.nullcontext():
            return _compute(self._expressions, given)

    def __reduce__(self) -> Any:
        return call_again(_Formula, (self._expressions, self._arguments), {})


def _is_numeric(value: Any) -> bool:
    """Tell whether a formula can be computed of a value: a number, an array, traced or not."""
    if hasattr(type(value), "__symgrad_bind__") or isinstance(value, (Number, sp.Expr, Size, Pair)):
        return True
    if isinstance(value, (type, sp.MatrixBase)) or not hasattr(value, "__array__"):
        return False
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    return getattr(dtype, "kind", "") in set("biufc")


def _leaves(expressions: Any, depth: int = 0) -> list[Any]:
    if isinstance(expressions, (tuple, list)):
        if depth == DEEPEST:
            raise ArgumentError(
                f"from_sympy: expressions are nested more than {DEEPEST} lists deep; one may "
                "contain itself"
            )
        return [leaf for e in expressions for leaf in _leaves(e, depth + 1)]
    if isinstance(expressions, str):
        raise ArgumentError(
            "from_sympy takes SymPy expressions, not text: write "
            f"sg.from_sympy(sg.parse({expressions!r:.60}), symbols)"
        )
    if isinstance(expressions, sp.MatrixBase):
        return list(expressions)
    found = None
    if not hasattr(type(expressions), "__symgrad_bind__"):  # tensors count as numbers
        with contextlib.suppress(sp.SympifyError, TypeError, RecursionError):
            found = as_expr(expressions)
    if found is None:
        raise ArgumentError(f"from_sympy takes SymPy expressions, not {type(expressions).__name__}")
    return [found]


def _match(symbol: sp.Symbol | str, free: set[sp.Symbol]) -> sp.Symbol:
    """A name means the formula's symbol of that name, whatever its assumptions."""
    if isinstance(symbol, sp.Symbol):
        return symbol
    if not isinstance(symbol, str):
        raise ArgumentError(f"symbols are SymPy symbols or names, not {symbol!r}")
    found = [s for s in free if s.name == symbol]
    return found[0] if len(found) == 1 else sp.Symbol(symbol, real=True)


def _identifier(name: str, position: int) -> str:
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"x{position}"


def _compute(expressions: Any, values: dict[sp.Symbol, Any]) -> Any:
    if isinstance(expressions, tuple):
        return tuple(_compute(e, values) for e in expressions)
    if isinstance(expressions, list):
        return [_compute(e, values) for e in expressions]
    if isinstance(expressions, sp.MatrixBase):
        full = np.broadcast_arrays(*(_compute(e, values) for e in expressions))
        stacked = np.stack(full)
        return np.reshape(stacked, (*expressions.shape, *stacked.shape[1:]))
    return evaluate(expressions, values)
