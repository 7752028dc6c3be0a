"""What a function computes and its derivatives, as mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from .._symbolic import derivatives, formulas
from ..errors import ArgumentError
from ._call import Call


def symbolic(f: Callable[..., Any], *args: Any) -> Any:
    """Return what a function computes, as SymPy.

    Parameters
    ----------
    f:
        A NumPy function, or one made by symgrad.
    *args:
        Example arguments; only their kinds matter, not their values.

    Returns
    -------
    sympy.Expr
        For a result that is a number, an expression in the arguments. For an array, its
        element at ``i, j, ...`` in index notation: array arguments are indexed, sizes stay
        symbols. A function with several results gives the same nesting of expressions.

    Raises
    ------
    UnsupportedError
        If the formula would be too large to read.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.symbolic(lambda x, y: np.sin(x) * np.exp(-y), 1.0, 2.0)
    exp(-y)*sin(x)
    >>> sg.symbolic(lambda A, x: A @ x, np.ones((3, 2)), np.ones(2))
    Sum(A[i, j]*x[j], (j, 0, m - 1))
    """
    call = Call(f, args, dynamic=True)
    return call.graph.pack(formulas(call.graph))


def derivative(f: Callable[..., Any], *args: Any, wrt: int | str = 0) -> Any:
    """Return the derivative of a function, simplified, as SymPy.

    The formula of :func:`symbolic` is differentiated by SymPy; sums that pick one element
    are carried out. Of the equal forms that SymPy's simplifications reach within two
    seconds, the one with the fewest operations is taken (the shortest among equals).

    Parameters
    ----------
    f:
        A NumPy function, or one made by symgrad.
    *args:
        Example arguments; only their kinds matter, not their values.
    wrt:
        The argument to differentiate by, its position or its name.

    Returns
    -------
    sympy.Expr
        The derivative; for arrays its element, with the indices of the result first and
        those of the argument after them. Nested results and arguments give the same
        nesting.

    Raises
    ------
    ArgumentError
        If there is no such argument, or it is not real.
    UnsupportedError
        If the formula would be too large to read.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.derivative(lambda a: np.sum(np.sin(a) + np.cos(a)), np.ones(3))
    -sin(a[i]) + cos(a[i])
    >>> sg.derivative(lambda x, k: np.exp(-k * x), 1.0, 2.0, wrt="k")
    -x*exp(-k*x)
    """
    call = Call(f, args, dynamic=True)
    tree, leaves = call.argument(wrt)
    columns: list[list[Any] | None] = []
    for leaf in leaves:
        number = call.inputs[leaf]
        if number is None:
            columns.append(None)
            continue
        if not call.real(leaf):
            raise ArgumentError(
                f"cannot differentiate by {call.names[leaf]}, which is not real: pass 3.0 or "
                "x.astype(float)"
            )
        columns.append(derivatives(call.graph, call.graph.inputs[number]))
    rows = [
        tree.unflatten([None if c is None else c[k] for c in columns])
        for k in range(len(call.graph.outputs))
    ]
    return call.graph.pack(rows)


def latex(f: Any, *args: Any, wrt: int | str | None = None) -> str:
    r"""Return a formula as LaTeX.

    Parameters
    ----------
    f:
        A SymPy expression, or a function as for :func:`symbolic`.
    *args:
        Example arguments, if ``f`` is a function.
    wrt:
        The argument to differentiate by; None for what the function itself computes.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> print(sg.latex(lambda x: np.sqrt(x), 2.0, wrt=0))
    \frac{1}{2 \sqrt{x}}
    """
    if isinstance(f, (sp.Basic, sp.MatrixBase)):
        return str(sp.latex(f))
    found = symbolic(f, *args) if wrt is None else derivative(f, *args, wrt=wrt)
    return str(sp.latex(found))
