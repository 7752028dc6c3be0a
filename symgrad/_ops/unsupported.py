"""NumPy's universal functions that are refused, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_DIGITS = "it is an algorithm on the digits of whole numbers, without a derivative"
_TIME = "it is about dates and times"
_PRODUCT = "it contracts axes and is no elementwise function"

#: Universal functions without a record, each with the reason.
REFUSED: dict[Callable[..., Any], str] = {
    np.gcd: _DIGITS,
    np.lcm: _DIGITS,
    np.bitwise_count: _DIGITS,
    np.frexp: "it splits the number format: use np.log2 for the exponent, np.ldexp to scale",
    np.isnat: _TIME,
}
#: Universal functions that are contractions; the modules of array functions handle them.
CONTRACTIONS: dict[Callable[..., Any], str] = {
    getattr(np, name): _PRODUCT
    for name in ("matmul", "vecdot", "matvec", "vecmat")
    if hasattr(np, name)
}
