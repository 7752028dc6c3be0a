"""What a function computes and its derivatives, as mathematics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from .._symbolic import derivatives, formulas
from .._trace import Graph, Tree, argument_names, as_leaf, flatten, signature_of, trace
from ..errors import ArgumentError


class Call:
    """A function's call for example arguments: its graph, and which input is which leaf.

    Attributes
    ----------
    leaves, tree:
        The arguments, flat, and the structure of ``(args, kwargs)``.
    names:
        An identifier for each leaf.
    graph:
        The traced graph, before any pass.
    inputs:
        ``inputs[k]`` is the number of the graph's input for leaf ``k``, or None.
    """

    def __init__(self, f: Callable[..., Any], args: Sequence[Any], *, dynamic: bool) -> None:
        if not callable(f):
            raise ArgumentError(f"a function is needed, not {type(f).__name__}")
        self.function = f
        raw, self.tree = flatten((tuple(args), {}))
        self.leaves = [as_leaf(leaf, f"argument {k}") for k, leaf in enumerate(raw)]
        signature, sizes = signature_of(self.leaves, self.tree, dynamic)
        self.names = argument_names(f, args, {})
        self.graph: Graph = trace(f, signature, sizes, self.names)
        traced = [k.kind in ("array", "float") or (k.kind == "int" and k.value is None)
                  for k in signature.leaves]  # fmt: skip
        numbers = iter(range(len(self.graph.inputs)))
        self.inputs = [next(numbers) if flag else None for flag in traced]

    def argument(self, wrt: int | str) -> tuple[Tree, list[int]]:
        """Return the structure of an argument and the numbers of its leaves."""
        trees = self.tree.children[0].children
        starts = [sum(t.leaves for t in trees[:k]) for k in range(len(trees))]
        if isinstance(wrt, str):
            found = [k for k, t in enumerate(trees)
                     if t.leaves and self.names[starts[k]].startswith(wrt)
                     and wrt in (self.names[starts[k]], self._parameter(k))]  # fmt: skip
            if not found:
                raise ArgumentError(f"no argument is called {wrt!r}: {', '.join(self.names)}")
            wrt = found[0]
        if not -len(trees) <= wrt < len(trees):
            raise ArgumentError(
                f"wrt={wrt}, but the function was called with {len(trees)} arguments"
            )
        k = wrt % len(trees)
        return trees[k], list(range(starts[k], starts[k] + trees[k].leaves))

    def _parameter(self, k: int) -> str:
        probe = [0.0] * len(self.tree.children[0].children)
        return argument_names(self.function, probe, {})[k]

    def real(self, leaf: int) -> bool:
        """Tell whether a leaf is a real input."""
        number = self.inputs[leaf]
        return number is not None and self.graph.inputs[number].dtype.kind == "f"


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
