"""Lowering: a Program becomes LLVM assembly."""

from ._mathlib import bind_array, bind_symbol, has_libmvec, vector_math_default
from ._module import Leaf, Lowered, constant_symbol, lower

__all__ = [
    "Leaf",
    "Lowered",
    "bind_array",
    "bind_symbol",
    "constant_symbol",
    "has_libmvec",
    "lower",
    "vector_math_default",
]
