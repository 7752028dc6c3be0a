"""SciPy's functions inside of kernels of ops that compute better in a box of operands only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._op import Cython, Op, registry


def elsewhere(function: Any, inside: Any, *operands: Any) -> Any:
    """A function where its operands are not ``inside``: there it returns at once, since of nan."""
    return function(*(np.where(inside, math.nan, x) for x in operands))


def of_scipy(name: str, function: np.ufunc, code: str, domain: tuple[sp.Set, ...]) -> Op:
    """Define SciPy's function, with the name ``code`` in Cython, as a step of an op's kernel."""
    op = Op(
        name=f"{name}OfSciPy", kind="map", evaluate=function, lower=Cython(code), domain=domain,
        reason=f"a step of {name} in kernels",
    )  # fmt: skip
    registry.steps[op.name] = op
    return op


def source_of(name: str, *more: str) -> Callable[..., str]:
    """Return an op's source: a call of its helper, which computes in float64."""

    def source(*operands: Any) -> str:
        kind = np.result_type(*(x.dtype for x in operands), 0.0)
        narrow = "" if kind == np.float64 else f".astype(np.{kind})"
        return f"{name}({', '.join([*map(str, operands), *more])}){narrow}"

    return source


def result_of(function: np.ufunc, *operands: Any) -> Any:
    """Return the element type of a function's result; float32 for bytes, as traced."""
    kinds = [type(x) if type(x) in (int, float) else np.asarray(x).dtype for x in operands]
    result = function.resolve_dtypes((*kinds, *(None,) * function.nout))[-1]
    return np.dtype(np.float32) if result == np.float16 else result


def evaluated(compute: Callable[..., Any], function: np.ufunc, *more: Any) -> Callable[..., Any]:
    """Return an op's evaluation by what computes in float64; ``function`` is SciPy's."""

    def evaluate(*operands: Any) -> Any:
        return compute(*operands, function, *more).astype(result_of(function, *operands))

    return evaluate
