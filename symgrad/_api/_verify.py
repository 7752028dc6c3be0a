"""``verify`` and ``recheck``: kernels against exact values, now or those of a saved certificate."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
import sympy as sp

from .._core.base.argument_checks import as_count, as_number
from .._core.base.state import within
from .._core.graph import Node
from .._core.program import Program
from .._core.trace import Traced, as_node, substitute
from .._verify import Certificate, Report, certify
from ..errors import ArgumentError, DataError, VerificationError
from ._call import Call
from ._certificates import certificate, mean
from ._sparse_blocks import sparse_problem
from ._sparse_functions import SparseFunction
from ._verify_kernels import Kernels, chosen_leaves, problem_of

Interval = tuple[float, float]
Domain = Interval | Mapping[str, Interval]

#: Fewer would not be exact beside a double's 17.
LEAST_DIGITS = 30

#: More would not end: mpmath's time grows with the square of the digits.
MOST_DIGITS = 100_000


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
    differentiates each operation's formula; values and chain rule are computed with
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
        derivatives). For a sparse Jacobian the entries are checked, and the completeness of the
        pattern.
    *args : array_like
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
        too large to be computed exactly.

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
    >>> report.max_ulp < 8
    True
    >>> report["x"].checked
    2
    >>> certificate = sg.verify(np.tanh, domain=(-30.0, 30.0), points=8)
    >>> certificate.max_ulp < 4
    True
    """
    counts = {"digits": digits, "samples": samples, "points": points, "seed": seed}
    for name, count in counts.items():
        as_count(count, f"verify: {name}", None)
    as_count(digits, "verify: digits", None, MOST_DIGITS)
    limit = as_number(limit, "verify: limit")
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
    call = Call(f, args, dynamic=False, exact=True)
    chosen = chosen_leaves(call, wrt)
    return certify(problem_of(call, chosen, Kernels(call, chosen)), digits, samples, limit)


def recheck(
    path: str | os.PathLike[str], f: Callable[..., Any] | None = None, *args: Any
) -> Certificate:
    """Check a saved certificate again, here and now.

    The points are the same. Exact values are computed again and compared with those of the
    certificate; kernels are compiled again and compared with the exact values.

    Parameters
    ----------
    path:
        A file that :meth:`Certificate.save` wrote.
    f : callable
        The function; without it, the program that was saved with the certificate is checked.
    *args : array_like
        Its example arguments.

    Returns
    -------
    Certificate
        The new one.

    Raises
    ------
    VerificationError
        If a derivative is further off than the certificate allows, or the worst points have
        other exact values than it says.
    DataError
        If the file is no certificate, or has no program and no function was given.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "tanh.json")
    >>> sg.verify(np.tanh, domain=(-3.0, 3.0), points=4).save(file)
    >>> sg.recheck(file).max_ulp < 4
    True
    """
    old = Certificate.load(path)
    saved = f is None
    if f is None:
        if not old.program:
            raise DataError(
                f"{path}: no program was saved with it, since the function decides by values in "
                "the domain, or has an op that the format does not: give the function, "
                "sg.recheck(path, f)"
            )
        f, args = _function(Program.from_json(old.program), old)
    intervals = {n: tuple(v) for n, v in old.domain.items()}
    wrt = [r.name.removeprefix("d/d ") for r in old.rows if r.name != "value"]
    with within(doubtful=saved):
        new = certificate(
            f, args, wrt, intervals, old.digits, int(old.versions["samples"]), old.limit,
            int(old.versions["points"]), old.seed,
        )  # fmt: skip
    for before in old.rows:
        after = new[before.name]
        if before.worst is None or after.worst is None or before.point != after.point:
            continue  # another processor has its worst point elsewhere
        digits = old.digits - 10
        if sp.Float(before.worst.exact, digits) != sp.Float(after.worst.exact, digits):
            raise VerificationError(
                f"{before.name} at {before.point}: the certificate says {before.worst.exact}, "
                f"now it is {after.worst.exact}"
            )
    return new


def _function(program: Program, old: Certificate) -> tuple[Any, tuple[Any, ...]]:
    """Return a saved program as a function, and example arguments for it."""
    names = [n.name for n in program.inputs]

    def saved(*xs: Any) -> Any:
        swap: dict[Node, Node] = dict(zip(program.inputs, (as_node(x) for x in xs), strict=True))
        found = tuple(Traced(n) for n in substitute(program.outputs, swap))
        return found[0] if len(found) == 1 else found

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    saved.__name__ = old.function
    saved.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, kind) for n in names]
    )
    args = []
    for n in program.inputs:
        shape = tuple(map(int, n.shape))
        value = mean(old.domain[n.name]) if n.name in old.domain else old.fixed[n.name]
        args.append(np.broadcast_to(np.asarray(value, n.dtype), shape).copy()[()])
    return saved, tuple(args)
