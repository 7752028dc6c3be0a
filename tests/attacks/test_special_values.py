"""Attacks with special values: signs of zeros, nan, infinities, subnormals, extreme integers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import Evidence, Map, Op, registry

#: Ops that are NumPy's own universal functions: it judges them.
OPS = sorted(
    (op for op in registry.ops.values() if isinstance(op, Map) and not op.orders
     and isinstance(op.head, np.ufunc) and getattr(np, op.head.__name__, None) is op.head),
    key=lambda op: op.name,
)  # fmt: skip
REAL = ("float64", "float32", "int64", "int32", "uint8", "bool")
TYPES = (*REAL, "complex128")


def _of_all(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(np, name)(x)


def _of_rows(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(np, name)(x.reshape(1, -1), axis=1)


def _cast(target: str) -> Callable[[Any], Any]:
    return lambda x: x.astype(target)


#: Functions of a vector.
OTHERS: dict[str, Callable[[Any], Any]] = {
    **{
        f"{name} of all": _of_all(name)
        for name in (
            "sum", "prod", "max", "min", "argmax", "argmin", "sort", "cumsum", "cumprod", "mean",
            "any", "all", "ptp", "nansum", "nanprod", "nanmax", "nanmin", "count_nonzero", "diff",
            "median", "nan_to_num", "round", "isnan", "isinf", "isfinite", "real", "imag", "flip",
        )
    },
    **{
        f"{name} of rows": _of_rows(name)
        for name in ("sum", "max", "min", "argmax", "argmin", "sort", "cumsum", "any", "all")
    },
    **{f"cast to {target}": _cast(target) for target in REAL},
    "where": lambda x: np.where(x > 0, x, -x), "clip": lambda x: np.clip(x, 0, 1),
    "root of square": lambda x: np.sqrt(x * x), "power 0": lambda x: x**0,
    "power 3": lambda x: x**3, "plus 0": lambda x: x + 0, "times 0": lambda x: x * 0,
    "times -1": lambda x: x * -1, "zero minus": lambda x: 0 - x, "minus itself": lambda x: x - x,
    "over itself": lambda x: x / x, "pairs": lambda x: np.maximum(x, x[::-1]),
    "equal": lambda x: x == x[::-1], "less": lambda x: x < x[::-1],
    "remainder by 3": lambda x: x % 3, "remainder by -3": lambda x: x % -3,
    "whole part by -3": lambda x: x // -3, "sum of products": lambda x: np.sum(x * x[::-1]),
}  # fmt: skip


def documented(name: str, x: list[Any], found: Any, expected: Any) -> Any:
    """Return where a difference is one that docs/conventions.md names."""
    if name.startswith("cast to ") and x[0].dtype.kind == "f" and found.dtype.kind in "iu":
        info = np.iinfo(found.dtype)
        whole = np.trunc(x[0].astype(np.float64))
        return ~((whole >= info.min) & (whole < 2.0 ** (info.bits - (info.min < 0))))
    if name in ("Fmax", "Fmin"):  # of a signalling nan
        return np.isnan(expected) & (np.isnan(x[0]) != np.isnan(x[1]))
    if name == "Reciprocal" and found.dtype.kind in "iu":
        return x[0] == 0
    if found.dtype.kind == "f" and name.startswith(("max", "min", "sort", "nanmax", "nanmin")):
        return (found == 0) & (expected == 0)
    if any(a.dtype.kind == "c" for a in x):
        # Formulas of the parts: other infinities, other zeros, and other overflows on the way.
        usual = functools.reduce(np.logical_and, (_usual(a) for a in x))
        if expected.shape != usual.shape:
            usual = np.broadcast_to(usual.all(), expected.shape)
        if found.dtype.kind != "c":
            return ~usual
        near = np.abs(found - expected) <= 1e-5 * np.abs(expected)  # float32's, of the modulus
        return ~usual | near
    if found.dtype.kind == "f" and name.startswith(("prod", "nanprod", "sum", "mean", "nansum")):
        # In another order other intermediate results overflow, or cancel.
        finite = np.isfinite(found) & np.isfinite(expected)
        terms = x[0] * x[0][::-1] if "products" in name else x[0]
        if (
            "prod" not in name.split(maxsplit=1)[0] and finite.all()
        ):  # n terms: n roundings of their sum
            bound = np.sum(np.abs(terms, dtype=np.float64), axis=-1 if found.ndim else None)
            scale = len(terms) if name.startswith("mean") else 1.0
            allowed = 2 * len(terms) * np.finfo(found.dtype).eps * bound / scale
            return np.abs(np.float64(found) - np.float64(expected)) <= allowed
        return np.broadcast_to(np.any(np.abs(x[0].astype(np.float64)) > _LARGE), expected.shape)
    return np.zeros(np.shape(expected), bool)


#: No sum of 40 terms of this size overflows, in float32 either.
_LARGE = 1e36


def _usual(x: Any) -> Any:
    """Return where both parts are far from overflow, from underflow and from branch cuts."""
    parts = np.stack([np.abs(np.real(x)), np.abs(np.imag(x))]).astype(np.float64)
    return np.all((parts > 1e-3) & (parts < 100), axis=0)


def special(dtype: str, n: int, rng: np.random.Generator) -> Any:
    """Return an array of special values of a type."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(n) > 0.5
    if kind.kind in "iu":
        info = np.iinfo(kind)
        chosen = [info.min, info.max, 0, 1, 2, 3, info.max - 1, info.min + 1, 7, 31, 32, 63, 64]
        if kind.kind == "i":
            chosen += [-1, -2, -3, -7]
        return rng.choice(np.array([c for c in chosen if info.min <= c <= info.max], kind), n)
    if kind.kind == "c":
        parts = special("float64", 2 * n, rng)
        return parts.view(kind)
    info = np.finfo(kind)
    signalling = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    if kind.itemsize == 4:
        signalling = np.array([0x7F800001], np.uint32).view(np.float32)
    chosen = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, info.tiny, -info.tiny, info.max, info.min,
         info.smallest_subnormal, -info.smallest_subnormal, 1, -1, 0.5, -0.5, 2, -2, 3, 1.5, 2.5,
         -2.5, info.eps, 1 - info.epsneg, 1 + info.eps, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63),
         2.0**24 + 1, 255.5, 256, -1e10, 1e30, 88.5, 709.5, -745, 0.1, np.pi, 170.5],
        kind,
    )  # fmt: skip
    chosen = np.concatenate([chosen, signalling])
    return rng.choice(chosen, n)


@functools.lru_cache(maxsize=512)
def _compiled(name: str) -> Any:
    if name in OTHERS:
        return sg.compile(OTHERS[name])
    function = registry.ops[name].head
    return sg.compile(lambda *x: function(*x))


def unlike(found: Any, expected: Any, ulp: float) -> Any:
    """Return where two arrays differ: by more than so many units, in class or a zero's sign."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype.kind == "c":
        return unlike(found.real, expected.real, ulp) | unlike(found.imag, expected.imag, ulp)
    if found.dtype.kind != "f":
        return found != expected
    both = np.isnan(found) & np.isnan(expected)
    other = np.isnan(found) != np.isnan(expected)
    other |= (np.isinf(found) | np.isinf(expected)) & (found != expected)
    other |= (found == 0) & (expected == 0) & (np.signbit(found) != np.signbit(expected))
    finite = np.isfinite(found) & np.isfinite(expected)
    with np.errstate(all="ignore"):
        distance = np.abs(found - expected) / np.spacing(np.abs(expected))
    return (other | (finite & (distance > ulp))) & ~both


@pytest.mark.attack(quick=5, whole=6000, part=100, judge="NumPy, signs of zeros included")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_special_values(attack: Any) -> None:
    """NumPy's functions of nan, infinities, zeros of both signs, subnormals, extreme integers."""
    names = [op.name for op in OPS] + list(OTHERS)
    for case in attack:
        with case, np.errstate(all="ignore"):
            rng = case.rng
            name = str(rng.choice(names))
            n = int(rng.integers(1, 41))
            op = registry.ops.get(name)
            types = rng.choice(TYPES, 1 if op is None else op.arity)
            if rng.random() < 0.7:
                types[:] = types[0]
            x = [special(t, n, rng) for t in types]
            try:
                expected = np.asarray(OTHERS[name](*x) if op is None else op.head(*x))
            except (TypeError, ValueError, IndexError, OverflowError):
                case.tally("not for these types")
                continue
            if expected.dtype in (np.float16, np.int8):  # float32 here, and int64
                case.tally("not for these types")
                continue
            try:
                found = _compiled(name)(*x)
            except (TypeError, ValueError, OverflowError):
                case.tally("refused")
                continue
            _check(name, op, x, found, expected)


def _check(name: str, op: Op | None, x: list[Any], found: Any, expected: Any) -> None:
    what = f"{name} of {', '.join(str(a.dtype) for a in x)}"
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, not {expected.dtype}"
    assert found.shape == expected.shape, what
    exact = op is not None and Evidence.of(op).ulp <= 0.5
    at = unlike(found, expected, 0.0 if exact else 64.0)
    at &= ~documented(name, x, found, expected)
    if at.any():
        where = np.nonzero(at)
        given = [a[where][:3] if expected.shape == a.shape else a for a in x]
        raise AssertionError(
            f"{what}\n given {given!r}\n found {found[where][:3]!r}\n NumPy {expected[where][:3]!r}"
        )
