"""Lowering: a Program becomes LLVM assembly."""

from . import _products as products
from ._module import Lowered, constant_symbol, lower
from ._simd_variants import PREFIX as SIMD_PREFIX
from ._unroll import prepare

__all__ = [
    "SIMD_PREFIX",
    "Lowered",
    "constant_symbol",
    "lower",
    "prepare",
    "products",
]
