"""Lowering: a Program becomes LLVM assembly."""

from . import _products as products
from ._borders import cut
from ._chunked import without_few
from ._factors import direct
from ._legalize import legalize
from ._module import Lowered, constant_symbol, emit
from ._numpy import numpy_steps
from ._plan import Plan, plan
from ._simd_variants import PREFIX as SIMD_PREFIX
from ._unroll import unroll, unrolls

__all__ = [
    "SIMD_PREFIX",
    "Lowered",
    "Plan",
    "constant_symbol",
    "cut",
    "direct",
    "emit",
    "legalize",
    "numpy_steps",
    "plan",
    "products",
    "unroll",
    "unrolls",
    "without_few",
]
