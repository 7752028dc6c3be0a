"""Lowering: a Program becomes LLVM assembly."""

from ._entry import (
    EXHAUSTED,
    MISS,
    OBJECTS,
    OUT_OF_RANGE,
    dtype_symbol,
    object_symbol,
    scalar_symbol,
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
from ._unroll import prepare
from ._values import OTHER_BRANCH

__all__ = [
    "EXHAUSTED",
    "MISS",
    "OBJECTS",
    "OTHER_BRANCH",
    "OUT_OF_RANGE",
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
    "object_symbol",
    "prepare",
    "scalar_symbol",
    "vector_math_default",
    "write_entry",
]
