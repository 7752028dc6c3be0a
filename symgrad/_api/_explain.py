"""``explain``: how a derivative comes about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._core.graph import Input
from .._show import Derivation, Explanation, derivation
from .._symbolic import Formula, Patience, formula_of
from ..errors import ArgumentError, UnsupportedError
from ._call import Call
from ._formulas import elements_in, pairs_in

#: Said in the place of a result that is too large.
UNWRITTEN = "too large to be read as one formula: what is above is the derivative"


def explain(f: Callable[..., Any], *args: Any, wrt: int | str = 0) -> Explanation:
    """Return the derivation of a derivative: the chain rule, step by step.

    Parameters
    ----------
    f:
        A NumPy function with one real result.
    *args : array_like
        Example arguments; only their kinds matter.
    wrt:
        The argument to differentiate by, its position or its name.

    Returns
    -------
    Explanation
        Print it for text; ``.latex()``, ``.html()`` for the same to be set in type.

    Raises
    ------
    ArgumentError
        If there is no such argument, it is not one real array or number, or the function
        has no or several results.
    UnsupportedError
        If the function has too many steps to be read, or one that has no formula.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> print(sg.explain(lambda x: np.exp(-(x**2)), 1.0))
    The derivative of f by x
    <BLANKLINE>
    1. The function, step by step
        v0 = x**2      ...
        v1 = -v0       ...
        out = exp(v1)  ...
    <BLANKLINE>
    2. The chain rule, from the result back to the argument
        d out/d v1 = exp(v1)
        d out/d v0 = (d out/d v1)*(d v1/d v0)
            with d v1/d v0 = -1
            = -exp(v1)
        d out/d x = (d out/d v0)*(d v0/d x)
            with d v0/d x = 2*x
            = -2*x*exp(v1)
    <BLANKLINE>
    3. Written out and simplified
        d out/d x = -2*x*exp(-x**2)
    """
    call = Call(f, args, dynamic=True, read="derivation")
    _, leaves = call.argument(wrt)
    if len(leaves) != 1 or not call.real(leaves[0]):
        raise ArgumentError(
            f"explain differentiates by one real array or number, and wrt={wrt!r} is none: "
            "write an argument that is, such as 3.0 or x.astype(float)"
        )
    outputs = call.graph.outputs
    if len(outputs) != 1 or outputs[0].dtype.kind != "f":
        raise ArgumentError(
            f"explain takes a function with one real result, not {len(outputs)} results: write "
            "a function that returns the one to be explained"
        )
    x = call.graph.inputs[call.inputs[leaves[0]]]  # type: ignore[index]
    steps = Patience.of_a_reader().required(lambda: _derivation(call, x))
    name = getattr(f, "__name__", "f").replace("<lambda>", "f")
    return Explanation(steps, name, x.name)


def _derivation(call: Call, x: Input) -> Derivation:
    elements = elements_in(call)
    # Half of a reader's time for the formula as a whole, half for the steps to it.
    whole, steps = Patience.of_a_reader(0.5), Patience.of_a_reader(0.5)
    try:
        result = formula_of(call.graph, [[x]], elements=elements, patience=whole)
    except UnsupportedError:  # steps may be short whose whole nobody could read
        result = Formula((), notes=(UNWRITTEN,))
    result = replace(result, notes=(*result.notes, *pairs_in(call)))
    return derivation(call.graph, x, result, elements, steps)
