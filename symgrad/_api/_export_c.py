"""``export_c``: a function as C99."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .._core.base.argument_checks import as_path, refuse_kernel
from .._dispatch import Function, c_names
from .._export import c_source
from ..errors import ArgumentError
from ._transforms import compile


def export_c(
    f: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> str:
    """Return a function as standalone C99: for other programs, languages and processors.

    Parameters
    ----------
    f:
        A NumPy function, or a transformed one: ``sg.value_and_grad(f)``, ``sg.jacobian(f)``.
    *args : array_like
        Example arguments; only their kinds matter. Array sizes become parameters.
    name:
        The name of the C function; by default that of ``f``.
    path:
        A file to write the text to, too.

    Returns
    -------
    str
        A C file with one function and no dependency but the C library. The comment in it
        says what the parameters are. It computes what the kernel computes, operation by
        operation; loops stay loops, sums are not blocked, and index arrays are not checked.
        Where the values take another branch (``if x > 0``) than the example it returns 3.

    Raises
    ------
    ArgumentError
        If ``f`` is no function, or ``name`` no name in C.
    UnsupportedError
        If an op has no counterpart in C99: functions of SciPy but gamma and its logarithm, matrix
        factorisations, Fourier transforms. The message has the line.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> code = sg.export_c(sg.grad(lambda x: np.sum(np.sin(x))), np.ones(3), name="gradient")
    >>> print(code[code.index("int gradient") :])
    int gradient(ptrdiff_t n, const double *restrict x, double *restrict out0)
    {
        /* ... */
        for (ptrdiff_t i1 = 0; i1 < n; ++i1) {
            out0[i1] = cos(x[i1]);
        }
        return 0;
    }
    """
    if not callable(f):
        raise ArgumentError(
            f"export_c takes a function and its arguments, not {type(f).__name__}: write "
            "sg.export_c(f, x), not sg.export_c(f(x))"
        )
    refuse_kernel(f, "export_c")
    target = None if path is None else as_path(path, "export_c: path")
    function = f if isinstance(f, Function) else compile(f)
    own, title = c_names(function)
    text = c_source(function.program(*args), own if name is None else name, title)
    if target is not None:
        target.write_text(text, encoding="utf-8")
    return text
