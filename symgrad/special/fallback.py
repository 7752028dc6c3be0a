"""Ops by formulas in float64, and SciPy's functions where these hold in a box of operands only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._op import Composed, Cython, Op, registry


def elsewhere(function: Any, inside: Any, *operands: Any) -> Any:
    """A function where its operands are not ``inside``: there it returns at once, since of nan."""
    return function(*(np.where(inside, math.nan, x) for x in operands))


def of_scipy(name: str, function: np.ufunc, domain: tuple[sp.Set, ...]) -> Op:
    """Define SciPy's function as a step of an op's kernel."""
    op = Op(
        name=f"{name}OfSciPy", kind="map", evaluate=function, lower=Cython(function.__name__),
        domain=domain, reason=f"a step of {name} in kernels",
    )  # fmt: skip
    registry.steps[op.name] = op
    return op


def source_of(name: str, *more: str) -> Callable[..., str]:
    """Return an op's source: a call of its helper, which computes in float64."""

    def source(*operands: Any, slope: int = 0) -> str:
        kind = np.result_type(*(x.dtype for x in operands), 0.0)
        narrow = "" if kind == np.float64 else f".astype(np.{kind})"
        given = [*map(str, operands), *more, *([f"slope={slope}"] if slope else [])]
        return f"{name}({', '.join(given)}){narrow}"

    return source


def result_of(function: np.ufunc, *operands: Any) -> Any:
    """Return the element type of a function's result; float32 for bytes, as traced."""
    kinds = [type(x) if type(x) in (int, float) else np.asarray(x).dtype for x in operands]
    result = function.resolve_dtypes((*kinds, *(None,) * function.nout))[-1]
    return np.dtype(np.float32) if result == np.float16 else result


def evaluated(compute: Callable[..., Any], function: np.ufunc, *more: Any) -> Callable[..., Any]:
    """Return an op's evaluation by what computes in float64; ``function`` is SciPy's."""

    def evaluate(*operands: Any, **params: Any) -> Any:
        with np.errstate(all="ignore"):
            found = compute(*operands, function, *more, **params)
        return found.astype(result_of(function, *operands))

    return evaluate


def doubled_fields(formula: Callable[..., Any]) -> dict[str, Any]:
    """Return what a record says of the ``formula(*operands, slope=0)`` that needs float64."""

    def evaluate(*operands: Any, slope: int = 0) -> Any:
        result = np.result_type(*operands, 0.0)
        with np.errstate(all="ignore"):
            found = formula(*(np.float64(1.0) * x for x in operands), slope=slope)
        return np.asarray(found).astype(result)[()]

    def source(*operands: Any, slope: int = 0) -> str:
        narrow = np.result_type(*(x.dtype for x in operands), 0.0)
        wide = [str(x) if x.dtype == np.float64 else f"{x}.astype(np.float64)" for x in operands]
        code = f"{formula.__name__}({', '.join([*wide, *([str(slope)] if slope else [])])})"
        return code if narrow == np.float64 else f"{code}.astype(np.{narrow})"

    return {
        "evaluate": evaluate,
        "lower": Composed(lambda *xs, slope=0: formula(*(x.astype(np.float64) for x in xs), slope)),
        "source": source,
    }
