"""NumPy's reductions of tensors: in one step, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .._shapes import normalize_axes
from .._trace._arrays import call
from ..errors import ShapeError
from ._composed import FOLDS, STD, VAR
from ._node import wrap
from ._record import bind, planned

#: Reductions that are several ops.
_SPREADS = {np.var: VAR, np.std: STD}

#: Reductions that are one step here and may be several ops of the compiler's.
REDUCTIONS = frozenset((*FOLDS, *_SPREADS))

#: Reductions that no derivative goes through.
_WITHOUT = (np.argmax, np.argmin, np.any, np.all)


def reduced(
    function: Callable[..., Any], x: Any, axis: Any, keep: bool, more: dict[str, Any]
) -> Any:
    """Return a reduction of a tensor, to be called by ``planned``.

    Parameters
    ----------
    function:
        NumPy's.
    x:
        A tensor.
    axis, keep, more:
        Its arguments: ``axis``, ``keepdims``, and others by name.
    """
    data = x._data
    if function in _WITHOUT and not keep and _is_axis(axis, data):
        return wrap(np.asarray(function(data, axis)))
    if data.size and data.dtype.kind == "f":
        with suppress(ShapeError):  # NumPy's function names itself
            axes = normalize_axes(axis, data.ndim)
            if function in FOLDS and axes and not more:
                return bind(FOLDS[function][keep], (x,), {"axes": axes})
            if function in _SPREADS and more.keys() <= {"ddof"}:
                ddof = more.get("ddof", 0)
                if type(ddof) in (int, float):
                    params = {"axis": counted(axis, data.ndim), "ddof": ddof, "keepdims": keep}
                    return bind(_SPREADS[function], (x,), params)
    given = {"axis": axis, "keepdims": keep, **more} if keep else {"axis": axis, **more}
    result = call(function, (x,), given)
    return result.clone() if result is x else result  # memory of its own


def numpys(function: Callable[..., Any], x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return one of ``REDUCTIONS`` of a tensor, called with NumPy's arguments."""
    key = (function, axis, type(axis), keepdims)
    return planned(key, (x,), reduced, function, x, axis, keepdims, {})


def _is_axis(axis: Any, data: Any) -> bool:
    """Tell whether an array can be reduced over an axis, or all of them, without more ado."""
    inside = axis is None or (type(axis) is int and -data.ndim <= axis < data.ndim)
    return inside and data.size > 0


def counted(axis: Any, rank: int) -> Any:
    """Return an axis, or several, counted from the front."""
    axes = normalize_axes(axis, rank)
    return None if axis is None else axes[0] if len(axes) == 1 else axes


__all__ = ["REDUCTIONS", "counted", "numpys", "reduced"]
