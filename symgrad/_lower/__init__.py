"""Lowering: a Program becomes LLVM assembly."""

from . import _memory as memory
from . import _pool as pool
from . import _products as products
from ._entry import (
    EXHAUSTED,
    MISS,
    OBJECTS,
    OUT_OF_RANGE,
    dtype_symbol,
    object_symbol,
    scalar_symbol,
    threads_symbol,
    write_entry,
)
from ._mathlib import (
    bind_array,
    bind_function,
    bind_symbol,
    capsule_pointer,
    has_libmvec,
    vector_math_default,
)
from ._module import Leaf, Lowered, constant_symbol, lower
from ._simd_variants import PREFIX as SIMD_PREFIX
from ._unroll import prepare
from ._values import OTHER_BRANCH

__all__ = [
    "EXHAUSTED",
    "MISS",
    "OBJECTS",
    "OTHER_BRANCH",
    "OUT_OF_RANGE",
    "SIMD_PREFIX",
    "Leaf",
    "Lowered",
    "bind_array",
    "bind_function",
    "bind_symbol",
    "capsule_pointer",
    "constant_symbol",
    "dtype_symbol",
    "has_libmvec",
    "lower",
    "memory",
    "object_symbol",
    "pool",
    "prepare",
    "products",
    "scalar_symbol",
    "threads_symbol",
    "vector_math_default",
    "write_entry",
]
