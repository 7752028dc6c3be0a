"""What a function computes and its derivatives, as mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.argument_checks import shown
from .._core.graph import Input, warn_user
from .._core.trace import Tree
from .._show import derived, paths
from .._symbolic import (
    Elements,
    Formula,
    Patience,
    elements_of,
    formula_of,
    formulas,
    ordered,
    refuse_large_numbers,
    repeated_derivatives,
    sympy_depth,
)
from .._symbolic import latex as latex_of
from ..errors import ArgumentError, SimplificationWarning
from ._call import Call, arrays_read_by
from ._sparse_blocks import blocks_formula
from ._sparse_functions import SparseFunction


def symbolic(f: Callable[..., Any], *args: Any) -> Any:
    """Return what a function computes, as SymPy.

    Parameters
    ----------
    f:
        A NumPy function, or one made by symgrad.
    *args : array_like
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

    See Also
    --------
    formula : the same to be read, in matrix notation, too.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.symbolic(lambda x, y: np.sin(x) * np.exp(-y), 1.0, 2.0)
    exp(-y)*sin(x)
    >>> sg.symbolic(lambda A, x: A @ x, np.ones((3, 2)), np.ones(2))
    Sum(A[i, j]*x[j], (j, 0, m - 1))
    """
    call, path = _read(f, args)
    _require_formula(call)
    _refuse_pairs(call.graph.tree, "the function returns")
    patience = Patience.of_a_reader()
    return call.graph.pack(patience.required(lambda: _written(call, path, patience)))


def _written(call: Call, path: list[Input], patience: Patience) -> list[Any]:
    elements = elements_in(call)
    found = repeated_derivatives(call.graph, path, patience, elements) if path else (
        formulas(call.graph, elements))  # fmt: skip
    return [ordered(e) for e in found]


def derivative(f: Callable[..., Any], *args: Any, wrt: int | str = 0, order: int = 1) -> Any:
    """Return the derivative of a function, simplified, as SymPy.

    The formula of :func:`symbolic` is differentiated by SymPy; sums that pick one element
    are evaluated. Of the equal forms that SymPy's simplifications reach within two
    seconds, the one with the fewest operations is taken (the shortest among equals).

    Parameters
    ----------
    f:
        A NumPy function, or one made by symgrad.
    *args : array_like
        Example arguments; only their kinds matter, not their values.
    wrt:
        The argument to differentiate by, its position or its name.
    order:
        How often to differentiate; 2 for a Hessian.

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

    Warns
    -----
    SimplificationWarning
        If the two seconds were over before all simplifications had been tried.

    See Also
    --------
    formula : the same to be read, in matrix notation, too.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> sg.derivative(lambda x, A: x @ A @ x, np.ones(3), np.ones((3, 3)))
    Sum((A[i, j] + A[j, i])*x[j], (j, 0, n - 1))
    >>> sg.derivative(lambda x, k: np.exp(-k * x), 1.0, 2.0, wrt="k")
    -x*exp(-k*x)
    >>> sg.derivative(np.sin, 1.0, order=2)
    -sin(x)
    """
    call, before = _read(f, args)
    _require_formula(call)
    _refuse_pairs(call.graph.tree, "the function returns")
    tree, leaves = call.argument(wrt)
    _refuse_pairs(tree, f"the argument {wrt!r} is")
    _refuse_static(call, leaves, wrt)
    patience = Patience.of_a_reader()
    inputs = [_real_input(call, leaf) for leaf in leaves]
    ways = [None if x is None else [*before, *[x] * _checked(order)] for x in inputs]
    columns = patience.required(lambda: _columns(call, ways, patience))
    if patience.gave_up:
        warn_user(
            f"gave up simplifying after {patience.seconds:g} seconds: this is the derivative, "
            "but a shorter form of it may exist",
            SimplificationWarning,
        )
    rows = [
        tree.unflatten([None if c is None else c[k] for c in columns])
        for k in range(len(call.graph.outputs))
    ]
    return call.graph.pack(rows)


def _columns(
    call: Call, ways: list[list[Input] | None], patience: Patience
) -> list[list[Any] | None]:
    """Return the derivatives of all results by each of some paths."""
    elements = elements_in(call)
    columns: list[list[Any] | None] = []
    for path in patience.among(ways):
        if path is None:
            columns.append(None)
            continue
        found = repeated_derivatives(call.graph, path, patience, elements)
        columns.append([ordered(e) for e in found])
    return columns


def formula(
    f: Any,
    *args: Any,
    wrt: int | str | Sequence[int | str] | None = None,
    order: int = 1,
) -> Formula:
    """Return a function's formula or derivative for reading.

    It prints in index notation and, where there is one, in matrix notation: products of
    matrices side by side, ``*``, ``/``, powers and functions element by element as in
    NumPy, ``A^T`` for the transpose. Repeated parts get a name.

    Parameters
    ----------
    f : callable
        A NumPy function, or one made by symgrad. A sparse derivative is read block by block.
    *args : array_like
        Example arguments; only their kinds matter, not their values.
    wrt:
        The argument to differentiate by, its position or its name, or several of them; None
        for what the function itself computes.
    order:
        How often to differentiate; 2 for a Hessian, of several arguments with the mixed
        derivatives.

    Returns
    -------
    Formula
        Print it; or see its ``text``, ``pretty``, ``latex``, ``mathml``, ``equations``.

    Raises
    ------
    ArgumentError
        If there is no such argument, or it is not real; if there is an ``order`` without one.
    UnsupportedError
        If the formula would be too large to read.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> a, A = np.ones(3), np.ones((3, 3))
    >>> print(sg.formula(lambda a: np.sum(np.sin(a) + np.cos(a)), a, wrt=0).text("index"))
    d out/d a[i] = cos(a[i]) - sin(a[i])
    >>> print(sg.formula(lambda x, A: x @ A @ x, a, A, wrt="x"))
    d out/d x[i] = Sum((A[i, j] + A[j, i])*x[j], (j, 0, n - 1))
    d out/d x    = (A + A^T) x
    >>> print(sg.formula(sg.jacobian(lambda x: x[1:] * x[:-1], sparse=True), a))
    d out[i]/d x[i + 1] = x[i]
    d out[i]/d x[i]     = x[i + 1]
        (d out[i]/d x[i + 1]: 0 <= i <= n - 2)
        (d out[i]/d x[i]: 0 <= i <= n - 2)
    >>> print(sg.formula(lambda x, k: x**2 * k, 1.0, 2.0, wrt=("x", "k"), order=2))
    d2 out/d x^2   = 2*k
    d2 out/d x d k = 2*x
    d2 out/d k^2   = 0
    """
    if isinstance(f, SparseFunction) and wrt is None:
        return blocks_formula(f, args)
    inner, steps = derived(f)
    call = Call(inner if steps else f, args, dynamic=True, read="formula")
    _require_formula(call)
    found = [(_inputs(call, argnums), times) for argnums, times, _ in steps]
    if wrt is None:
        _undifferentiated(order)
    else:
        several: Sequence[Any] = wrt if isinstance(wrt, list | tuple) and wrt else [wrt]
        found.append((_inputs(call, several), _checked(order)))
    elements = elements_in(call)
    made = formula_of(call.graph, paths(found), elements=elements) if found else (
        formula_of(call.graph, simplify=False, elements=elements))  # fmt: skip
    return replace(made, notes=(*made.notes, *pairs_in(call)))


def pairs_in(call: Call) -> list[str]:
    """Say how complex arguments are written, which are pairs of real numbers."""
    names = [n for n, x in zip(call.names, call.leaves, strict=True) if np.iscomplexobj(x)]
    if not names:
        return []
    said = " and ".join(names) + (" are" if len(names) > 1 else " is")
    return [f"{said} complex: a last index of 0 is for real, 1 for imaginary parts"]


def _read(f: Callable[..., Any], args: Sequence[Any]) -> tuple[Call, list[Input]]:
    """Return a call, and for a Jacobian or Hessian by one array that of the function and the path.

    Of several arguments they have a structure of their own, and are read as they are computed.
    """
    inner, steps = derived(f)
    if steps and all(len(argnums) == 1 and not several for argnums, _, several in steps):
        call = Call(inner, args, dynamic=True, read="formula")
        found = paths((_inputs(call, argnums), times) for argnums, times, _ in steps)
        if len(found) == 1:
            return call, found[0]
    return Call(f, args, dynamic=True, read="formula"), []


def _inputs(call: Call, several: Sequence[Any]) -> dict[Input, None]:
    """Return the graph's inputs that belong to some arguments."""
    inputs: dict[Input, None] = {}
    for one in several:
        _, leaves = call.argument(one)
        _refuse_static(call, leaves, one)
        inputs |= {x: None for leaf in leaves if (x := _real_input(call, leaf)) is not None}
    return inputs


def _require_formula(call: Call) -> None:
    """Raise for a function that returns no number or array."""
    if not call.graph.outputs:
        kinds = {type(leaf[0]).__name__ for leaf in call.graph.leaves if isinstance(leaf, tuple)}
        raise ArgumentError(
            f"a formula is one of numbers or arrays, and the function returns "
            f"{' and '.join(sorted(kinds)) or 'nothing'}"
        )


def _refuse_pairs(tree: Tree, what: str) -> None:
    """Raise for complex numbers, which are pairs of real ones in formulas."""
    if not tree.kinds.isdisjoint(("complex", "packed")):
        raise ArgumentError(
            f"{what} complex, and is not one SymPy expression. Write instead: sg.formula(f, *args, "
            "wrt=wrt), which prints real and imaginary parts, or a function of real arguments that "
            "returns z.real"
        )


def elements_in(call: Call) -> Elements:
    """Return the elements of a function's steps, constant arrays under the names of the code."""
    return elements_of(call.graph, arrays_read_by(call.function))


#: Formulas of higher orders are too large to be read.
MOST_ORDERS = 1000


def _undifferentiated(order: int) -> None:
    """Raise an error if an order is given, but nothing to differentiate by."""
    if type(order) is not int or order != 1:
        raise ArgumentError(
            f"order={shown(order)} counts derivatives, but not by what: say wrt=, as in wrt=0"
        )


def _checked(order: Any) -> int:
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ArgumentError(f"order counts the derivatives: 1, 2, ..., not {shown(order)}")
    if order > MOST_ORDERS:
        raise ArgumentError(f"order counts the derivatives, at most {MOST_ORDERS}")
    return order


def _refuse_static(call: Call, leaves: list[int], wrt: int | str) -> None:
    """Raise an error if nothing of an argument is traced."""
    if leaves and all(call.inputs[k] is None for k in leaves):
        value = call.leaves[leaves[0]]
        raise ArgumentError(
            f"cannot differentiate by the argument {wrt!r}, which is {value!r:.40}: no "
            f"{type(value).__name__} is traced; pass a float, such as 3.0, or an array of floats"
        )


def _real_input(call: Call, leaf: int) -> Input | None:
    """Return the graph's input for a leaf to differentiate by; None if it is static."""
    number = call.inputs[leaf]
    if number is None:
        return None
    if not call.real(leaf):
        raise ArgumentError(
            f"cannot differentiate by {call.names[leaf]}, which is not real: pass 3.0 or "
            "x.astype(float)"
        )
    return call.graph.inputs[number]


def latex(f: Any, *args: Any, wrt: int | str | None = None, order: int = 1) -> str:
    r"""Return a formula as LaTeX.

    Parameters
    ----------
    f : sympy.Expr or callable
        A SymPy expression, or a function as for :func:`symbolic`.
    *args : array_like
        Example arguments, if ``f`` is a function.
    wrt:
        The argument to differentiate by; None for what the function itself computes.
    order:
        How often to differentiate.

    Returns
    -------
    str
        The right-hand side in index notation; :func:`formula` has the whole equation, and
        matrix notation.

    Raises
    ------
    ArgumentError
        If there is no such argument, or an ``order`` without one.
    UnsupportedError
        If the formula is too large to be written.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> print(sg.latex(lambda x: np.sqrt(x), 2.0, wrt=0))
    \frac{1}{2 \sqrt{x}}
    """
    if isinstance(f, (sp.Basic, sp.MatrixBase)):
        for part in f if isinstance(f, sp.MatrixBase) else [f]:
            refuse_large_numbers(part)
        with sympy_depth():
            return latex_of(f)
    if wrt is None:
        _undifferentiated(order)
        return latex_of(symbolic(f, *args))
    return latex_of(derivative(f, *args, wrt=wrt, order=order))
