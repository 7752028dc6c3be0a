"""Assertions for tests: derivatives against exact values.

pytest finds the fixture of the same name where symgrad is installed, and prints how many
functions were checked, and the largest error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._verify import Report

__all__ = ["assert_derivatives_exact"]


def assert_derivatives_exact(
    f: Callable[..., Any],
    *args: Any,
    wrt: int | str | Sequence[int | str] | None = None,
    order: int = 2,
    digits: int = 50,
    samples: int = 256,
    limit: float = 16.0,
) -> tuple[Report, ...]:
    """Assert that the compiled value and derivatives of a function are exact up to rounding.

    The gradient and the Hessian, or for several results their Jacobians, are compared with exact
    values at the point ``args``, as :func:`symgrad.verify` does: SymPy differentiates, and mpmath
    computes with ``digits`` digits.

    Parameters
    ----------
    f:
        A NumPy function.
    *args : array_like
        The point, as for calling ``f``.
    wrt:
        The arguments to differentiate with respect to, by position or name; None for all that are
        real.
    order:
        The highest derivative: 1 or 2. 0 compares the value alone.
    digits:
        Digits of the exact values, at least 30.
    samples:
        How many elements of each result are checked at most.
    limit:
        The allowed error in ulp.

    Returns
    -------
    tuple of Report
        One for the value with the first derivatives, and one for the gradient with the second.

    Raises
    ------
    VerificationError
        An ``AssertionError``: it names the derivative, the line that computes it, both numbers
        and the allowed error.
    ArgumentError
        If ``order`` is not 0, 1 or 2, or nothing can be differentiated.

    Notes
    -----
    Second derivatives are compared with the exact derivatives of the gradient's program, which the
    first comparison has checked at the same point.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.testing import assert_derivatives_exact
    >>> first, second = assert_derivatives_exact(
    ...     lambda x, rate: np.sum(np.exp(-rate * x)), np.array([0.5, 1.0]), 2.0
    ... )
    >>> second["x"].max_ulp < 4
    True
    """
    # pytest imports this module at its start, and what computes with the first function.
    from .._api._matrices import jacobian  # noqa: PLC0415
    from .._api._transforms import compile, grad  # noqa: PLC0415
    from .._api._verify import verify  # noqa: PLC0415
    from .._api._verify_kernels import name_of  # noqa: PLC0415
    from .._core.base.argument_checks import as_word  # noqa: PLC0415
    from ..errors import VerificationError  # noqa: PLC0415
    from ._points import gives_one_number, real_positions  # noqa: PLC0415

    __tracebackhide__ = True
    as_word(str(order), ("0", "1", "2"), "assert_derivatives_exact: order")
    options: dict[str, Any] = {"digits": digits, "samples": samples, "limit": limit}
    try:
        reports = [verify(f, *args, wrt=[] if order == 0 else wrt, **options)]
        if order == 2:
            keys: Any = real_positions(args) if wrt is None else wrt
            one = gives_one_number(compile(f)(*args))
            slope: Any = grad(f, argnums=keys) if one else jacobian(f, argnums=keys)
            slope.__name__ = f"{'grad' if one else 'jacobian'}({name_of(f)})"
            reports.append(verify(slope, *args, wrt=wrt, **options))
    except VerificationError as error:
        raise error.with_traceback(None) from None  # a failed test shows the line of the test
    return tuple(reports)
