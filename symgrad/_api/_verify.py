"""``verify``: a function's kernels against its exact values and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from .._verify import Certificate, Report, certify
from ..errors import ArgumentError
from ._call import Call
from ._certificates import certificate
from ._sparse import SparseFunction
from ._sparse_read import sparse_problem
from ._verify_kernels import Kernels, chosen_leaves, problem_of

Interval = tuple[float, float]
Domain = Interval | Mapping[str, Interval]

#: Fewer would not be exact beside a double's 17.
LEAST_DIGITS = 30


@overload
def verify(
    f: Callable[..., Any], *args: Any, wrt: int | str | Sequence[int | str] | None = ...,
    digits: int = ..., samples: int = ..., limit: float = ..., domain: None = ...,
    points: int = ..., seed: int = ...,
) -> Report: ...  # fmt: skip
@overload
def verify(
    f: Callable[..., Any], *args: Any, wrt: int | str | Sequence[int | str] | None = ...,
    digits: int = ..., samples: int = ..., limit: float = ..., domain: Domain,
    points: int = ..., seed: int = ...,
) -> Certificate: ...  # fmt: skip
def verify(
    f: Callable[..., Any],
    *args: Any,
    wrt: int | str | Sequence[int | str] | None = None,
    digits: int = 50,
    samples: int = 256,
    limit: float = 16.0,
    domain: Domain | None = None,
    points: int = 32,
    seed: int = 0,
) -> Report | Certificate:
    """Check a function's compiled value and derivatives against the exact ones.

    At the point ``args``; or, with a ``domain``, at points all over it, its ends and corners
    included. That gives a :class:`Certificate`, which can be saved and checked again.

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
        derivatives). Of a sparse Jacobian its entries are checked, and that none is missing.
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
    domain:
        ``{"x": (low, high), ...}``: intervals of the arguments to sample (of an array: of
        its elements), or one ``(low, high)`` for all; the other arguments keep their values.
        Arguments that are numbers need not be given then.
    points:
        How many points to choose at random beside the ends.
    seed:
        Of the random points: the same every time for the same seed.

    Returns
    -------
    Report or Certificate
        Print it for a table; ``.max_ulp`` and ``.to_json()`` are for programs.

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
    >>> certificate = sg.verify(np.tanh, domain=(-30.0, 30.0), points=8)
    >>> certificate.max_ulp < 4
    True
    """
    counts = {"digits": digits, "samples": samples, "points": points, "seed": seed}
    for name, count in counts.items():
        if not isinstance(count, int | np.integer):
            raise ArgumentError(f"{name} is a whole number, not {count!r:.40}")
    if digits < LEAST_DIGITS or samples < 1:
        raise ArgumentError(
            f"verify needs at least {LEAST_DIGITS} digits and one sample, not digits={digits}, "
            f"samples={samples}"
        )
    if points < 0:
        raise ArgumentError(f"verify cannot look at points={points} random points")
    if isinstance(f, SparseFunction):
        if domain is not None or wrt is not None:
            raise ArgumentError(
                "a sparse derivative is verified at a point, by the arguments that it is by"
            )
        return certify(sparse_problem(f, args), digits, samples, limit)
    if domain is not None:
        return certificate(f, args, wrt, domain, digits, samples, limit, points, seed)
    call = Call(f, args, dynamic=False)
    chosen = chosen_leaves(call, wrt)
    return certify(problem_of(call, chosen, Kernels(call, chosen)), digits, samples, limit)
