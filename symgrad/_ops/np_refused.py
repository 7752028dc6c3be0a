"""NumPy functions that are refused, each with the reason and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._op import refuse, registry
from .np_common import existing

_SHAPE = "how many elements it gives depends on their values, and a trace needs the shape"
_PLACE = "it writes into an array, and traced values never change"

#: Names of NumPy functions and why they cannot be traced.
REFUSED: dict[str, str] = {
    **dict.fromkeys(("nonzero", "argwhere", "flatnonzero"), f"{_SHAPE} (use a mask: np.where)"),
    **dict.fromkeys(("extract", "compress"), f"{_SHAPE} (use np.where(mask, x, 0.0))"),
    **dict.fromkeys(
        ("unique", "unique_values", "unique_counts", "unique_inverse", "unique_all",
         "union1d", "intersect1d", "setdiff1d", "setxor1d", "trim_zeros"), _SHAPE,
    ),
    "piecewise": "it writes into an array where the conditions hold: use np.where or np.select",
    **dict.fromkeys(("copyto", "place", "putmask", "put", "put_along_axis"),
                    f"{_PLACE}: use np.where, np.concatenate or np.stack"),
    "fill_diagonal": f"{_PLACE}: use np.where(np.eye(n, dtype=bool), value, x)",
    "apply_along_axis": "it calls the function on slices one by one: use axis= of the function "
    "itself, or symgrad.vmap",
    "apply_over_axes": "call the function with axis=(...)",
    "array2string": "a traced value has no numbers to print",
    "array_repr": "a traced value has no numbers to print",
    "array_str": "a traced value has no numbers to print",
    "save": "a traced value has no numbers to write",
    "savetxt": "a traced value has no numbers to write",
}  # fmt: skip


def _refusal(function: Callable[..., Any], why: str) -> Callable[..., Any]:
    def refused(*_: Any, **__: Any) -> Any:
        refuse(function, why)

    return refused


for _name, _why in REFUSED.items():
    for _function in existing(_name):
        registry.handlers.setdefault(_function, _refusal(_function, _why))
