"""Element types: which ones there are, and NumPy's promotion of an op's operands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import DTypeError, TraceError
from ..base.class_modules import module_of
from ..op import Map, Op

SUPPORTED = frozenset(np.dtype(c) for c in "?bhilqBHILQfd")
#: The type of a loop or a branch, which is no value: its results are.
TOKEN = np.dtype("V")
Kind = Any  # a NumPy dtype, or the Python type of a weak operand

#: The element types of Python numbers where nothing else decides.
WEAK = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}


def check_dtype(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """Return ``dtype`` in native byte order, or raise for one that symgrad cannot take."""
    native = dtype.newbyteorder("=") if dtype.kind in "biufc" else dtype
    if native in SUPPORTED:
        return native
    if dtype.kind == "c":
        hint = (
            "complex numbers are complex64 and complex128, in traced functions only (sg.compile, "
            "sg.grad, ...), and an array of reals cannot hold them: take their real part"
        )
    elif dtype.kind == "f":
        hint = "convert with .astype(np.float64) or .astype(np.float32)"
    elif dtype.names is not None:
        hint = "take its fields apart, x['name'], each an array of numbers"
    else:
        hint = "convert to numbers with .astype(np.float64)"
    raise DTypeError(f"{what} has element type {dtype}, which symgrad cannot trace: {hint}")


def promote(*kinds: Kind) -> np.dtype[Any]:
    """Return NumPy's common type of dtypes and weak Python types."""
    return np.result_type(*(k(1) if isinstance(k, type) else k for k in kinds))


#: NumPy's result for functions of bytes, which is too narrow to compute in: float32 instead.
HALF = np.dtype(np.float16)


_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def _is_byte(kind: Kind) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in "biu" and kind.itemsize == 1


def _one_float(kinds: tuple[Kind, ...]) -> np.dtype[Any] | None:
    """Return float64 for operands of it and Python numbers, float32 for operands of that alone."""
    found = set(kinds)
    if len(found) == 1 and next(iter(found)) in (_DOUBLE, _SINGLE):
        return np.dtype(found.pop())
    return _DOUBLE if found == {_DOUBLE, float} else None


@lru_cache(maxsize=4096)
def resolve(
    op: Map, kinds: tuple[Kind, ...], items: tuple[tuple[str, Any], ...] = ()
) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    """Return the element types that the map ``op`` computes in and its result type."""
    # A Python bool is no weaker than NumPy's.
    kinds = tuple(np.dtype(bool) if k is bool else k for k in kinds)
    if all(isinstance(k, type) for k in kinds):
        kinds = tuple(WEAK[k] for k in kinds)
    if op.types is not None:
        operand_types, result = op.types(*kinds, **dict(items))
    elif op.is_late and (one := _one_float(kinds)) is not None:  # as SciPy's loops, not asked
        operand_types, result = (one,) * len(kinds), one
    elif (ufunc := op.ufunc) is not None:
        try:
            *found, result = ufunc.resolve_dtypes((*kinds, None))
            if HALF in (*found, result):
                wide = [np.dtype(np.float32) if _is_byte(k) else k for k in kinds]
                *found, result = ufunc.resolve_dtypes((*wide, None))
        except TypeError as error:
            names = ", ".join(k.__name__ if isinstance(k, type) else k.name for k in kinds)
            raise DTypeError(f"{op.name} is not defined for element types {names}") from error
        operand_types = tuple(found)
    else:  # elementwise functions of one real variable: integers compute in float64
        common = promote(*kinds)
        common = common if common.kind == "f" else np.dtype(np.float64)
        operand_types, result = (common,) * len(kinds), common
    for dtype in (*operand_types, result):
        check_dtype(dtype, f"the result of {op.name}")
    return tuple(map(np.dtype, operand_types)), np.dtype(result)


def array_type(op: Op, kinds: tuple[np.dtype[Any], ...], params: Mapping[str, Any]) -> Any:
    """Return the result type of an array op: by its rule, else that of its first operand."""
    return np.dtype(op.types(*kinds, **params)) if op.types is not None else kinds[0]


# ---------------------------------------------------------------- more than numbers

# A pandas Series aligns and skips nan, a masked array leaves elements out, a matrix multiplies as
# matrices do, a quantity has units. Their numbers alone would give another result, so what meets
# a traced value is refused, unless the tracer knows what it means.


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
    return not foreign or issubclass(kind, np.generic) or module_of(kind).startswith("symgrad.")


def more_than_numbers(value: Any) -> str | None:
    """Say why an object is not its numbers, and what to write instead; None if it is."""
    why = own_rules(type(value))
    if why is None:
        return None
    types: Any = getattr(value, "dtypes", None)
    if not hasattr(types, "items"):
        return why
    others = [name for name, t in types.items() if getattr(t, "kind", "O") not in "fiu"]
    if not others:
        return why
    return (
        f"columns of a table that are no numbers have no derivatives: {others}. Write instead: "
        f"x.drop(columns={others}), or x['name'].to_numpy() of those that are, outside"
    )


def own_rules(kind: type) -> str | None:
    """Say why objects of a class are not their numbers."""
    plain = _PLAIN.get(kind)
    if plain is None:
        plain = _PLAIN[kind] = _is_plain(kind)
    if plain:
        return None
    instead = next((text for name, text in _INSTEAD.items() if hasattr(kind, name)),
                   "np.asarray(x)")  # fmt: skip
    home = module_of(kind).partition(".")[0]
    return (
        f"a {home}.{kind.__name__} computes by rules of its own (labels, masks, units, matrix "
        f"products), which its numbers do not have. Write instead: {instead}, outside"
    )


def require_numbers(value: Any) -> None:
    """Raise for an operand that is more than its numbers."""
    why = more_than_numbers(value)
    if why is not None:
        raise TraceError(why)
