"""Attacks on the promise that an element's bits depend on its operands alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.op import Evidence, Map, Op, registry
from symgrad._core.ops.logic import CONDITION
from symgrad._core.pipeline import lower

OPS = sorted(
    (op for op in registry.ops.values() if isinstance(op, Map)),
    key=lambda op: op.name,
)
#: Functions of complex numbers, of which the registry has the parts.
COMPLEX = {
    "multiply": np.multiply, "divide": np.divide, "power": np.power, "exp": np.exp, "log": np.log,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "abs": np.abs,
    "angle": np.angle, "reciprocal": np.reciprocal,
}  # fmt: skip
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-310, 1e300, -1e17, 710.0, -745.2)
LENGTHS = (*range(1, 71), 257, 1000)

Function = Callable[..., Any]


@lru_cache(maxsize=64)
def _function(name: str, order: int | None) -> Function:
    """Return an op, or member ``order`` of a family, or a function of complex numbers."""
    if name in COMPLEX:
        return COMPLEX[name]
    op = registry.ops[name]
    params: dict[str, Any] = {"dtype": "float64"} if name == "Cast" else {}
    if order is not None:
        params["order"] = order

    def f(*operands: Any) -> Any:
        return op(*operands, **params)

    f.__name__ = name
    return f


@lru_cache(maxsize=256)
def _compiled(name: str, order: int | None, way: str) -> Any:
    f = _function(name, order)
    if way == "fused":
        return sg.compile(lambda *x: (f(*x) * 2, f(*x), f(*x).sum()))
    return sg.compile(sg.vmap(f) if way == "vmap" else f)


def _operands(op: Op | None, n: int, dtype: Any, rng: np.random.Generator) -> list[Any]:
    """Return random arguments in the op's domain, some of them special."""
    if op is None:
        x, y = rng.normal(size=(2, n)), rng.normal(size=(2, n))
        return [(v[0] + 1j * v[1]).astype(dtype) for v in (x, y)]
    found = []
    ranges = Evidence.of(op).samples
    for domain, (low, high) in zip(op.domain, ranges, strict=True):
        x = rng.uniform(low, high, n)
        if domain is CONDITION:
            found.append(x > 0.5 * (low + high))
        elif domain.is_subset(sp.Integers):
            found.append(np.rint(x).astype(np.int64))
        else:
            at = rng.random(n) < 0.2
            found.append(np.where(at, rng.choice(SPECIAL, n), x).astype(dtype))
    return found


def _same(found: Any, expected: Any, what: str) -> None:
    """Check that all bits are equal; one nan is like another."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype, what
    assert found.shape == expected.shape, what
    if found.dtype.kind == "c":
        _same(found.real, expected.real, what)
        _same(found.imag, expected.imag, what)
        return
    other = found != expected
    if found.dtype.kind == "f":
        other = (found.view(f"i{found.itemsize}") != expected.view(f"i{found.itemsize}")) & ~(
            np.isnan(found) & np.isnan(expected)
        )
    assert not other.any(), f"{what}: {found[other][:3]!r} instead of {expected[other][:3]!r}"


def _alone(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    for k in rng.choice(len(whole), min(len(whole), 8), replace=False):
        _same(f(*(a[k : k + 1] for a in x)), whole[k : k + 1], f"element {k} alone")


def _slices(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    for _ in range(6):
        first, last = sorted(rng.integers(0, len(whole) + 1, 2))
        _same(f(*(a[first:last] for a in x)), whole[first:last], f"slice {first}:{last}")


def _strides(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    for step in (2, 3, -1, -2):
        _same(f(*(a[::step] for a in x)), whole[::step], f"step {step}")


def _transposed(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    columns = next(k for k in (7, 5, 3, 2, 1) if len(whole) % k == 0)
    tables = [a.reshape(-1, columns).T for a in (*x, whole)]
    _same(f(*tables[:-1]), tables[-1], "transposed")
    _same(f(*(np.asfortranarray(a.T) for a in tables[:-1])), tables[-1].T, "Fortran order")


def _threads(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    before = sg.get_num_threads()
    sg.set_num_threads(3)
    try:
        size = 50_000 + int(rng.integers(9))
        _same(f(*(np.resize(a, size) for a in x)), np.resize(whole, size), "three threads")
    finally:
        sg.set_num_threads(before)


def _kernel(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    _same(f.kernel(*x)(*x), whole, "kernel")


def _number(f: Any, whole: Any, x: list[Any], rng: np.random.Generator) -> None:
    """Numbers are computed by the C library where arrays have SIMD functions."""
    if "@symgrad.simd." in lower(f.program(*x)).text:
        return
    for k in rng.choice(len(whole), min(len(whole), 8), replace=False):
        _same(f(*(a[k] for a in x)), whole[k], f"number {k}")


WAYS = (_alone, _slices, _strides, _transposed, _threads, _number)


@pytest.mark.attack(
    quick=1, whole=2000, part=40, judge="the same element in the whole array, bit for bit"
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_positions(attack: Any) -> None:
    """Every elementwise op and family, of arrays of all lengths, cut, strided, fused, threaded."""
    for case in attack:
        with case:
            rng = case.rng
            names = [op.name for op in OPS] + list(COMPLEX)
            name = str(rng.choice(names))
            op = None if name in COMPLEX else registry.ops[name]
            order = None
            if op is not None and op.orders:
                order = int(rng.integers(0, min(op.orders, 4)))
            dtype = rng.choice([np.complex64, np.complex128] if op is None
                               else [np.float32, np.float64])  # fmt: skip
            n = int(rng.choice(LENGTHS))
            x = _operands(op, n, dtype, rng)
            if op is None:
                x = x[: getattr(COMPLEX[name], "nin", 1)]
            f = _compiled(name, order, "plain")
            whole = f(*x)
            if whole.shape != (n,):  # a member of a family that is the same everywhere
                continue
            for way in rng.choice(len(WAYS), 3, replace=False):
                WAYS[way](f, whole, x, rng)
            other = rng.choice(["fused", "vmap", "kernel", "nothing", "nothing"])
            if other == "fused" and whole.dtype.kind in "fc":
                twice, once, _ = _compiled(name, order, "fused")(*x)
                _same(once, whole, "fused")
                _same(twice, whole * 2, "fused, doubled")
            if other == "vmap":
                _same(_compiled(name, order, "vmap")(*x), whole, "vmap")
            if other == "kernel" and rng.random() < 0.2:
                _kernel(f, whole, x, rng)
