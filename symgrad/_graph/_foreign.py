"""Objects that are more than their numbers: classes with an arithmetic of their own.

A pandas Series aligns and skips nan, a masked array leaves elements out, a matrix multiplies
as matrices do, a quantity has units. Their numbers alone would give another result, so what
meets a traced value is refused, unless the tracer knows what it means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import TraceError

#: What a class of arrays has of its own if it computes otherwise than NumPy's.
_ARITHMETIC = ("__array_ufunc__", "__array_function__", "__mul__", "__add__", "sum", "mean")

_INSTEAD = {
    "filled": "x.filled(0.0) or a mask as an argument of its own",
    "to_numpy": "x.to_numpy()",
    "magnitude": "x.magnitude",
    "to_value": "x.to_value(unit)",
}

_PLAIN: dict[type, bool] = {np.ndarray: True, float: True, int: True, bool: True, complex: True}


def _is_plain(kind: type) -> bool:
    if issubclass(kind, np.ndarray):
        return all(getattr(kind, k) is getattr(np.ndarray, k) for k in _ARITHMETIC)
    if hasattr(kind, "__symgrad_bind__") or hasattr(kind, "__symgrad_step__"):
        return True
    # NumPy's numbers have the protocol, too; what has no numbers is refused elsewhere.
    foreign = hasattr(kind, "__array_ufunc__") and hasattr(kind, "__array__")
    return not foreign or issubclass(kind, np.generic) or kind.__module__.startswith("symgrad.")


def more_than_numbers(value: Any) -> str | None:
    """Say why an object is not its numbers, and what to write instead; None if it is."""
    kind = type(value)
    plain = _PLAIN.get(kind)
    if plain is None:
        plain = _PLAIN[kind] = _is_plain(kind)
    if plain:
        return None
    instead = next((text for name, text in _INSTEAD.items() if hasattr(kind, name)),
                   "np.asarray(x)")  # fmt: skip
    home = kind.__module__.partition(".")[0]
    return (
        f"a {home}.{kind.__name__} computes by rules of its own (labels, masks, units, matrix "
        f"products), which its numbers do not have. Write instead: {instead}, outside"
    )


def require_numbers(value: Any) -> None:
    """Raise for an operand that is more than its numbers."""
    why = more_than_numbers(value)
    if why is not None:
        raise TraceError(why)
