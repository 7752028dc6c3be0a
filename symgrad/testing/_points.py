"""Points of functions: which arguments are real, and whether a result is one number."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.trace import flatten


def real_positions(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the positions of the arguments with real numbers in them."""
    found = []
    for k, arg in enumerate(args):
        leaves, _ = flatten(arg)
        if any(
            isinstance(x, (float, np.ndarray, np.generic, list)) and _is_real(x) for x in leaves
        ):
            found.append(k)
    return tuple(found)


def _is_real(leaf: Any) -> bool:
    return bool(np.asarray(leaf).dtype.kind == "f")


def gives_one_number(result: Any) -> bool:
    """Tell whether a result is one real number."""
    leaves, tree = flatten(result)
    return tree.kind == "leaf" and np.ndim(leaves[0]) == 0 and _is_real(leaves[0])
