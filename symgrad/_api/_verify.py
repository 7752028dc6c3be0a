"""``verify``: a function's kernels against its exact values and derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._compile import Function
from .._trace import Traced, collect, flatten
from .._verify import Problem, Report, certify
from ..errors import ArgumentError
from ._call import Call
from ._transforms import compile, jacobian, value_and_grad, vjp

#: Fewer would not be exact beside a double's 17.
LEAST_DIGITS = 30

#: Jacobians with more entries than this are computed row by row.
ENTRIES = 1_000_000


def verify(
    f: Callable[..., Any],
    *args: Any,
    wrt: int | str | Sequence[int | str] | None = None,
    digits: int = 50,
    samples: int = 256,
    limit: float = 16.0,
) -> Report:
    """Check a function's compiled value and derivatives against the exact ones.

    The exact derivatives do not come from symgrad's rules: the function's graph, before any
    pass, is taken apart into scalar operations by the element formulas; SymPy
    differentiates each operation's formula; values and chain rule are carried out with
    ``digits`` digits (mpmath), for the inputs' exact binary values. On small problems
    SymPy also differentiates some results as one whole expression, which must agree.

    An entry may be off by ``limit`` ulp (units in the last place of its exact value), or by
    a quarter of that times its condition number: the first-order bound, in ulp, of what
    rounding may do to a straightforward evaluation at this point. A wrong rule is off by
    many orders of magnitude more. At points where the derivative does not exist it is compared
    with the op's stated convention; where rounding may decide for either of two branches,
    both are right. The report counts such entries.

    Parameters
    ----------
    f:
        A NumPy function, or one made by symgrad (verifying ``sg.grad(f)`` checks second
        derivatives).
    *args:
        The point to verify at, as for calling ``f``.
    wrt:
        The arguments to differentiate by, by position or name; None for all that are real.
    digits:
        Digits of the exact values, at least 30.
    samples:
        How many elements of each result are checked at most (for each, the derivatives by
        all input elements); the choice is the same every time.
    limit:
        The allowed error in ulp; ``math.inf`` only reports.

    Returns
    -------
    Report
        Print it for a table; ``.max_ulp``, ``.checks`` and ``.to_json()`` for programs.

    Raises
    ------
    VerificationError
        If an entry is further off than allowed, naming the worst; also if the problem is
        too large to be carried out exactly.

    Notes
    -----
    The error bound is Wilkinson's running error analysis; N. J. Higham, Accuracy and
    Stability of Numerical Algorithms, 2nd ed., SIAM 2002, section 3.3. Zeros have no sign
    in exact values: -0.0 counts as 0.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> report = sg.verify(lambda x: np.sum(np.sin(x) * np.exp(-x)), np.array([0.5, 1.0]))
    >>> report.max_ulp < 4
    True
    >>> report["x"].checked
    2
    """
    if digits < LEAST_DIGITS or samples < 1:
        raise ArgumentError(
            f"verify needs at least {LEAST_DIGITS} digits and one sample, not digits={digits}, "
            f"samples={samples}"
        )
    call = Call(f, args, dynamic=False)
    graph = call.graph
    chosen = _chosen(call, wrt)
    outputs = [n for n in graph.outputs if n.dtype.kind == "f"]
    if not outputs:
        raise ArgumentError("verify needs a function with a real result; it returned none")
    inputs = {
        graph.inputs[number]: np.asarray(leaf, graph.inputs[number].dtype)
        for leaf, number in zip(call.leaves, call.inputs, strict=True)
        if number is not None
    }
    kernels = _Kernels(call, chosen, [n.shape for n in outputs])
    problem = Problem(
        getattr(f, "__name__", "f").replace("<lambda>", "f"),
        dict(inputs),
        [graph.inputs[call.inputs[k]] for k in chosen],  # type: ignore[index]
        outputs,
        kernels.values,
        kernels.row,
    )
    return certify(problem, digits, samples, limit)


def _chosen(call: Call, wrt: Any) -> list[int]:
    """Return the argument leaves to differentiate by."""
    if wrt is None:
        return [k for k in range(len(call.leaves)) if call.real(k)]
    found = []
    for one in [wrt] if isinstance(wrt, (int, str)) else wrt:
        leaves = [k for k in call.argument(one)[1] if call.real(k)]
        if not leaves:
            raise ArgumentError(f"cannot differentiate by argument {one!r}: it is not real")
        found += leaves
    return list(dict.fromkeys(found))


class _Kernels:
    """The compiled value and derivatives of a call's real results."""

    def __init__(self, call: Call, chosen: list[int], shapes: list[Any]) -> None:
        self.call, self.chosen = call, chosen
        leaves = call.leaves
        sizes = [math.prod(map(int, s)) for s in shapes]
        widths = [np.size(leaves[k]) for k in chosen]
        self._jacobian: Any = None
        self._pullback: Any = None
        if shapes == [()] and chosen:
            value, slopes = value_and_grad(self._single, argnums=tuple(chosen))(*leaves)
            self.values = [np.asarray(value)]
            self._jacobian = [slopes]
            return
        function = call.function
        whole = function if isinstance(function, Function) else compile(function)
        args, _ = call.tree.unflatten(leaves)
        found, _ = flatten(whole(*args))
        real = [np.asarray(v) for v in found if isinstance(v, (np.ndarray, np.generic))]
        self.values = [v for v in real if v.dtype.kind == "f"]
        if not chosen:
            return
        if sum(sizes) * max(sum(widths), 1) <= ENTRIES:
            self._jacobian = jacobian(self._several, argnums=tuple(chosen))(*leaves)
        else:
            self._shapes = [v.shape for v in self.values]
            _, self._pullback = vjp(self._restricted, *(leaves[k] for k in chosen))

    def _several(self, *leaves: Any) -> tuple[Any, ...]:
        """The function's real results, as a function of the flat arguments."""
        args, _ = self.call.tree.unflatten(leaves)
        nodes, _, _ = collect(self.call.function(*args))
        return tuple(Traced(n) for n in nodes if n.dtype.kind == "f")

    def _single(self, *leaves: Any) -> Any:
        return self._several(*leaves)[0]

    def _restricted(self, *values: Any) -> tuple[Any, ...]:
        leaves = list(self.call.leaves)
        for k, value in zip(self.chosen, values, strict=True):
            leaves[k] = value
        return self._several(*leaves)

    def row(self, k: int, place: tuple[int, ...]) -> Sequence[np.ndarray[Any, Any]]:
        """Return the derivatives of one result element, one array for each input."""
        if not self.chosen:
            return []
        if self._jacobian is not None:
            return [np.asarray(block)[place] for block in self._jacobian[k]]
        units = [np.zeros(v.shape, v.dtype) for v in self.values]
        units[k][place] = 1
        found: tuple[Any, ...] = self._pullback(tuple(units))
        return [np.asarray(v) for v in found]
