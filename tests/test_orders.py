"""Derivatives with respect to orders and parameters of special functions: right, or nan."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import sympy as sp

import symgrad as sg
from symgrad._core.op import Evidence, Map, registry

# ---------------------------------------------------------------- what is not known


def middle(op: Map) -> list[float]:
    """Return operands in the middle of an op's samples."""
    return [
        float(round(0.5 * (low + high))) if domain.is_subset(sp.Integers) else 0.5 * (low + high)
        for (low, high), domain in zip(Evidence.of(op).samples, op.domain, strict=True)
    ]


def unknown(op: Map, params: dict[str, int]) -> list[int]:
    """Return the operands with respect to which a record says that the derivative is not known."""
    point = [np.float64(x) for x in middle(op)]
    with np.errstate(all="ignore"):
        assert op.partials is not None
        found = op.partials(op.evaluate(*point, **params), *point, **params)
    return [k for k, p in enumerate(found) if type(p) is float and p != p]


#: Their operands are no real numbers.
SKIPPED = ("Where", "Cast", "Ldexp")


def families() -> list[tuple[Map, dict[str, int], int]]:
    """Return ops, their parameters, and the operands of unknown derivatives."""
    registry.complete()
    found = []
    for op in registry.ops.values():
        if isinstance(op, Map) and op.partials is not None and op.name not in SKIPPED:
            members = [{}, *({"slope": k} for k in range(1, op.slopes + 1))]
            found += [(op, params, k) for params in members for k in unknown(op, params)]
    return found


UNKNOWN = families()


@pytest.mark.parametrize(
    ("op", "params", "k"), UNKNOWN,
    ids=[f"{op.name}-{k}{''.join(f'-{n}{v}' for n, v in p.items())}" for op, p, k in UNKNOWN],
)  # fmt: skip
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick(6)
def test_a_derivative_that_is_not_known_is_nan_in_every_order(
    op: Map, params: dict[str, int], k: int
) -> None:
    point = middle(op)

    def f(*xs: Any) -> Any:
        return op(*xs, **params)

    for count in (1, 2, 3):
        for path in itertools.product(range(op.arity), repeat=count):
            if k not in path:
                continue
            slope: Any = f
            for j in path:
                before, slope = slope, sg.grad(slope, j)
            found = slope(*point)
            # In the other order of differentiation it may be known.
            assert math.isnan(found) or path[0] != k, path
            if not math.isnan(found):
                around = [[x + s * (i == j) for i, x in enumerate(point)] for s in (-1e-4, 1e-4)]
                want = (before(*around[1]) - before(*around[0])) / 2e-4
                assert found == pytest.approx(want, rel=1e-5), path
    ones = [1.0 if j == k else 0.0 for j in range(op.arity)]
    _, terms = sg.jet(f, tuple(point), [[v, 0.0, 0.0] for v in ones])
    assert np.isnan(terms).all()

    def pushed(*xs: Any) -> Any:
        return sg.jvp(f, xs, tuple(ones))[1]

    assert math.isnan(sg.jvp(pushed, tuple(point), tuple(ones))[1])
    # Operands that cancel in a sum, one of which is the other with a sign.
    if op.arity == 2:
        assert math.isnan(sg.grad(sg.grad(lambda x: f(x, 3.0 - x)))(point[0]))


def test_a_user_s_unknown_derivative_is_nan_in_every_order() -> None:
    odd = sg.define(
        "Odd", lambda x, y: sp.sin(x) * y, partials=lambda z, x, y: (math.nan, np.sin(x))
    )
    point = np.array([0.5, 2.0])
    found = sg.hessian(lambda p: odd(p[0], p[1]))(point)
    assert np.isnan(found[0]).all()
    assert np.isnan(sg.grad(sg.grad(sg.grad(lambda x: odd(x, 2.0))))(0.5))
    assert found[1, 1] == 0.0


def test_hessians_of_unknown_derivatives_are_symmetric() -> None:
    found = sg.hessian(lambda p: sc.expn(p[0], p[1]))(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(np.isnan(found), [[True, True], [True, False]])
    point = np.array([1.0, 2.0, 3.0, 4.0])
    many = sg.hessian(lambda p: np.sum(sc.expn(p[:2], p[2:])), sparse=True)(point)
    assert np.isnan(many.toarray()[[0, 1, 0, 1, 2, 3], [0, 1, 2, 3, 0, 1]]).all()
    assert many.nnz == 8


# ---------------------------------------------------------------- what is known

#: Function, operands by which it is differentiated, point, derivative by mpmath.
KNOWN: list[tuple[Any, tuple[int, ...], tuple[float, ...], Any]] = [
    (sc.zeta, (0,), (1.5, 1.0), lambda s, q: mpmath.zeta(s, q)),
    (sc.zeta, (0, 0), (1.5, 1.0), lambda s, q: mpmath.zeta(s, q)),
    (sc.zeta, (0, 1), (2.5, 1.3), lambda s, q: mpmath.zeta(s, q)),
    (sc.jv, (0,), (2.5, 3.0), mpmath.besselj),
    (sc.jv, (0, 0), (0.0, 1.0), mpmath.besselj),
    (sc.jv, (1, 0), (3.0, 7.0), mpmath.besselj),
    (sc.yv, (0,), (2.5, 3.0), mpmath.bessely),
    (sc.yv, (1, 0), (3.0, 7.0), mpmath.bessely),
    (sc.iv, (0,), (2.5, 3.0), mpmath.besseli),
    (sc.iv, (1, 0), (0.5, 3.0), mpmath.besseli),
    (sc.kv, (0,), (2.5, 3.0), mpmath.besselk),
    (sc.kv, (0, 0), (0.0, 3.0), mpmath.besselk),
    (sc.kv, (1, 0), (-1.5, 3.0), mpmath.besselk),
    (sc.ive, (0,), (2.5, 3.0), lambda v, x: mpmath.exp(-x) * mpmath.besseli(v, x)),
    (sc.ive, (1, 0), (2.5, 3.0), lambda v, x: mpmath.exp(-x) * mpmath.besseli(v, x)),
    (sc.kve, (0,), (2.5, 30.0), lambda v, x: mpmath.exp(x) * mpmath.besselk(v, x)),
    (sc.hyp0f1, (0,), (1.5, -2.0), mpmath.hyp0f1),
    (sc.hyp0f1, (1, 0), (1.5, 9.0), mpmath.hyp0f1),
    (sc.hyp1f1, (0,), (0.5, 1.5, -2.3), mpmath.hyp1f1),
    (sc.hyp1f1, (1, 1), (0.5, 1.5, 4.0), mpmath.hyp1f1),
    (sc.hyp1f1, (2, 0), (0.5, 1.5, -0.3), mpmath.hyp1f1),
    (sc.hyp2f1, (0,), (0.5, 1.0, 1.5, 0.3), mpmath.hyp2f1),
    (sc.hyp2f1, (0, 1), (0.5, 1.0, 1.5, 0.3), mpmath.hyp2f1),
    (sc.hyp2f1, (2, 3), (0.5, 1.0, 1.5, -0.4), mpmath.hyp2f1),
    (sc.kve, (1, 0), (2.5, 3.0), lambda v, x: mpmath.exp(x) * mpmath.besselk(v, x)),
]


@pytest.mark.parametrize(("f", "orders", "point", "form"), KNOWN)
@pytest.mark.usefixtures("no_kernels")
@pytest.mark.quick(6)
def test_a_derivative_by_an_order_is_mpmath_s(
    f: Any, orders: tuple[int, ...], point: tuple[float, ...], form: Any
) -> None:
    slope: Any = f if f is not sc.zeta else (lambda s, q: sc.zeta(s, q))
    for k in orders:
        slope = sg.grad(slope, k)
    counts = tuple(orders.count(k) for k in range(len(point)))
    with mpmath.workdps(40):
        want = float(mpmath.diff(form, point, counts))
    assert slope(*point) == pytest.approx(want, rel=1e-12)


def test_beyond_its_box_a_derivative_by_order_is_nan() -> None:
    assert np.isnan(sg.grad(sc.kv)(2.0, 0.01))
    assert np.isnan(sg.grad(sg.grad(sc.kv))(2.0, 0.01))
    assert np.isnan(sg.grad(lambda s: sc.zeta(s, -0.5))(2.0))


@pytest.mark.slow
def test_orders_in_arrays_and_batches() -> None:
    """A kernel over orders and arguments, forward, backward and batched."""
    rng = np.random.default_rng(0)
    v, x = rng.uniform(-0.5, 6, 7), rng.uniform(0.2, 9, 7)
    found = sg.grad(lambda v: np.sum(sc.kv(v, x)))(v)
    with mpmath.workdps(30):
        want = [
            float(mpmath.diff(lambda s, b=b: mpmath.besselk(s, b), a))
            for a, b in zip(v, x, strict=True)
        ]
    np.testing.assert_allclose(found, want, rtol=1e-12)
    np.testing.assert_allclose(sg.vmap(sg.grad(sc.kv))(v, x), want, rtol=1e-12)
    np.testing.assert_allclose(sg.jvp(lambda v: sc.kv(v, x), (v,), (v * 0 + 1,))[1], found)
    single = sg.grad(sc.kv)(np.float32(v[0]), np.float32(x[0]))
    assert single.dtype == np.float32
    assert single == pytest.approx(want[0], rel=1e-6)
