"""Families of maps that hold their derivatives of all orders: exact where terms would cancel."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc
import sympy as sp

import symgrad as sg
from symgrad._core.op import Evidence, Map, Op, registry
from symgrad.special import normal

FAMILIES = [op for op in registry.ops.values() if isinstance(op, Map) and op.orders]
#: Points at which the textbook's differences have few digits or none.
FAR: dict[str, list[tuple[float, ...]]] = {
    "CompleteD": [(1e-9,), (0.999,), (-40.0,)],
    "CompleteG": [(1e-9,), (0.999,), (-40.0,)],
    "EllipticD": [(1e-3, 0.5), (1.5, 1e-9), (1.56, 0.999), (0.3, -20.0)],
    "EllipticG": [(1e-3, 0.5), (1.5, 1e-9), (1.56, 0.999), (0.3, -20.0)],
    "CarlsonRatio": [(1e-60,), (0.3499,), (0.3501,), (0.4999,), (0.5001,), (1.0,), (1.9999,)],
    "DigammaStep": [
        (1e6, 1e-3),
        (1e-3, 1e6),
        (40.0, -39.5),
        (3.0, 1e-12),
        (-0.7, 1e-6),
        (-1.99951171875, 1.0),
    ],
    "DigammaHalf": [(1e-6,), (30.0,), (1e6,)],
    "K0eSlope": [(1e-3,), (0.24,), (0.26,), (0.31,), (7.7,), (50.0,)],
    "I1eSlope": [(1e-3,), (7.9,), (8.1,), (29.0,), (31.0,), (1e4,)],
    "I0eSlope": [(1e-3,), (7.9,), (8.1,), (29.0,), (31.0,), (1e4,)],
    "DawsnSlope": [(1e-3,), (-0.49,), (0.51,), (-3.0,), (8.1,), (-200.0,)],
    "IveSlope": [(0.0, 1e-3), (0.5, 1e-2), (1.0, 3.0), (5.5, 2.0), (0.3, 2.5)],
    "ErfcxSlope": [(-20.0,), (-1.01,), (-0.99,), (7.9,), (8.1,), (1e3,)],
    "SincSlope": [(1e-3,), (-1.82,), (-1.84,), (30.0,)],
    "ExprelSlope": [(1e-3,), (-1e-3,), (-4.9,), (-5.1,), (5.1,), (100.0,)],
    "GammaShape": [(1e-3, 0.2), (1e-3, 9.0), (0.4, 1e-60), (0.6, 0.8), (9.0, 60.0), (3e3, 3.3e3)],
    "BetaShape": [
        (1e-3, 0.5, 0.2),
        (0.5, 1e-3, 0.9),
        (0.4, 3.0, 1e-60),
        (9.0, 6e-3, 0.9986),
        (50.0, 2.0, 0.8),
        (700.0, 900.0, 0.47),
    ],
    "OtherBetaShape": [
        (1e-3, 0.5, 0.2),
        (0.5, 1e-3, 0.9),
        (0.4, 3.0, 1e-60),
        (6e-3, 9.0, 0.0014),
        (50.0, 2.0, 0.8),
        (700.0, 900.0, 0.47),
    ],
    "FaddeevaReal": [(-6.9, 1e-10), (30.0, 1e-3), (0.3, 7.0), (1e5, 2.0), (1e-9, 0.4), (3.0, 0.0)],
    "FaddeevaImag": [(-6.9, 1e-10), (30.0, 1e-3), (0.3, 7.0), (1e5, 2.0), (1e-9, 0.4), (3.0, 0.0)],
    "VoigtProfile": [(40.0, 1.0, 1e-3), (1e6, 1.0, 0.5), (2.0, 1e-9, 0.5), (-3.0, 1.0, 1e-9)],
    "VoigtDispersion": [(40.0, 1.0, 1e-3), (1e6, 1.0, 0.5), (2.0, 1e-9, 0.5), (-3.0, 1.0, 1e-9)],
    "LogRatio": [(1e-3,), (0.49,), (0.51,), (0.9999,), (1.0001,), (1.51,), (1e6,)],
    "RgammaSlope": [(1e-9,), (0.49,), (0.51,), (-0.999,), (-1.001,), (-3.6,), (30.0,)],
    "ZetaByOrder": [(1.5, 1.0), (1.01, 0.3), (2.5, 1e-3), (30.0, 2.0), (3.0, 1e4)],
    "JvByOrder": [(2.5, 3.0), (-0.5, 0.1), (3.0, 2.9), (2.9, 3.0), (19.5, 0.7), (0.0, 50.0)],
    "YvByOrder": [(2.5, 3.0), (-0.5, 0.1), (3.0, 2.9), (2.9, 3.0), (19.5, 0.7), (0.0, 50.0)],
    "IvByOrder": [(2.5, 3.0), (-0.5, 0.1), (5.0, 59.0), (19.5, 0.7)],
    "IveByOrder": [(2.5, 3.0), (-0.5, 0.1), (5.0, 59.0), (19.5, 0.7)],
    "KvByOrder": [(2.5, 3.0), (-0.5, 0.1), (5.0, 59.0), (19.5, 0.7)],
    "KveByOrder": [(2.5, 3.0), (-0.5, 0.1), (5.0, 59.0), (19.5, 0.7)],
    "StruveByOrder": [(2.5, 3.0), (-0.3, 0.1), (0.0, 9.5), (19.5, 0.7)],
    "ModStruveByOrder": [(2.5, 3.0), (-0.3, 0.1), (0.5, 9.5), (19.5, 0.7)],
    "HazardExcess": [(-30.0,), (-4.0,), (2.5,), (2.6,), (8.0,), (1e3,)],
}

#: Higher derivatives that change sign are as exact as what they are the sum of.
CHANGING = {
    "GammaShape": 2e-14, "BetaShape": 1e-13, "OtherBetaShape": 1e-13, "FaddeevaReal": 2e-13,
    "FaddeevaImag": 2e-13, "VoigtProfile": 2e-13, "VoigtDispersion": 2e-13,
    "RgammaSlope": 1e-13, **{f"{name}ByOrder": 1e-13 for name in ("Jv", "Yv", "Iv", "Ive")},
    "KvByOrder": 2e-14, "KveByOrder": 2e-14, "StruveByOrder": 2e-13, "ModStruveByOrder": 1e-12,
}  # fmt: skip


def decay(x: Any, order: int) -> Any:
    """Return a derivative of ``exp(x)*(K0(x) - K1(x))``: mpmath's K takes long, so twice only."""
    k0, k1 = (mpmath.exp(x) * mpmath.besselk(n, x) for n in (0, 1))
    t = sp.Symbol("t", positive=True)
    f, g = sp.Function("f")(t), sp.Function("g")(t)
    slopes = {f.diff(t): f - g, g.diff(t): g - f - g / t}
    form = f - g
    for _ in range(order):
        form = form.diff(t).subs(slopes)
    return sp.lambdify((t, f, g), form, "mpmath")(x, k0, k1)


def exact(op: Op, point: tuple[float, ...], order: int) -> Any:
    """Return the family's value with 30 digits, from the form of order 0 alone."""
    precise = Evidence.of(op).precise
    if precise is not None:
        with mpmath.workdps(40):
            return precise(mpmath.mp, 0.0, *map(mpmath.mpf, point), order=order)
    assert op.sympy is not None
    symbols = sp.symbols(f"x:{op.arity}", real=True)
    form = sp.lambdify(symbols, op.sympy(*symbols), "mpmath")
    by = 0 if op.name.startswith("Digamma") else op.arity - 1
    with mpmath.workdps(62):
        numbers = [mpmath.mpf(v) for v in point]
        if op.name == "K0eSlope":
            return decay(numbers[0], order)

        def along(x: Any) -> Any:
            return form(*numbers[:by], x, *numbers[by + 1 :])

        if order == 0:
            return mpmath.re(along(numbers[by]))
        return mpmath.re(mpmath.diff(along, numbers[by], order, h=mpmath.mpf(10) ** -14))


def test_the_families_are_these() -> None:
    assert {op.name for op in FAMILIES} == set(FAR)


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("op", FAMILIES, ids=lambda op: op.name)
@pytest.mark.quick(4)
def test_no_digits_cancel_at_any_order(op: Op, order: int) -> None:
    rng = np.random.default_rng(7)
    inside = [
        tuple(rng.uniform(low, high) for low, high in Evidence.of(op).samples) for _ in range(2)
    ]
    for point in [*inside, *FAR[op.name]]:
        want = exact(op, point, order)
        got = op.evaluate(*map(np.float64, point), order=order)
        # A rounding of the operands, twenty of the steps; e'''(x) has a zero at -0.98.
        changing = order or op.name.endswith("ByOrder")
        bound = CHANGING.get(op.name, 5e-15) if changing else 5e-15
        assert abs(got - want) <= bound * abs(want), (point, float(got), want)


@pytest.mark.parametrize("op", FAMILIES, ids=lambda op: op.name)
@pytest.mark.quick(1)
def test_a_kernel_computes_the_family(op: Op) -> None:
    rng = np.random.default_rng(8)
    xs = [rng.uniform(low, high, 5) for low, high in Evidence.of(op).samples]
    for order in (0, 2):
        found = sg.compile(lambda *xs, order=order: op(*xs, order=order))(*xs)
        np.testing.assert_allclose(found, op.evaluate(*xs, order=order), rtol=1e-14)


def test_the_polynomial_of_the_hazard_interpolates_it() -> None:
    def excess(s: Any) -> Any:
        x = mpmath.mpf("0.75") + mpmath.mpf("1.75") * s
        return mpmath.npdf(x) / mpmath.ncdf(-x) - x

    tree = ast.parse(inspect.getsource(normal.excess_middle))
    table = next(n.iter for n in ast.walk(tree) if isinstance(n, ast.For) and n.iter.elts[3:])
    with mpmath.workdps(60):
        want = mpmath.chebyfit(excess, [-1, 1], len(table.elts))
        assert [float(c) for c in want] == list(ast.literal_eval(table))


@pytest.mark.slow
def test_higher_derivatives_by_the_user_keep_their_digits() -> None:
    """Second derivatives of scipy.special's functions, through everything."""

    def twice(f: Any) -> Any:
        return sg.grad(sg.grad(f))

    with mpmath.workdps(40):
        want = mpmath.diff(mpmath.ellipk, 0.001, 2)
        assert abs(twice(lambda m: sc.ellipk(m))(0.001) - want) < 1e-14 * want
        want = mpmath.diff(lambda x: mpmath.log(mpmath.ncdf(x)), -40.0, 3)
        assert abs(sg.grad(twice(lambda x: sc.log_ndtr(x)))(-40.0) / want - 1) < 1e-13
        want = mpmath.diff(lambda n: mpmath.binomial(n, 3), 1e5, 2)
        assert abs(twice(lambda n: sc.binom(n, 3.0))(1e5) / want - 1) < 1e-11
        want = mpmath.diff(lambda n: mpmath.binomial(n, mpmath.mpf("3.3")), mpmath.mpf(2.1), 2)
        assert abs(twice(lambda n: sc.binom(n, 3.3))(2.1) / want - 1) < 1e-13


def test_source_of_a_family_is_numpy() -> None:
    f = sg.grad(lambda m: np.sum(sg.grad(lambda m: np.sum(sc.ellipe(m)))(m)))
    m = np.array([0.1, 0.5])
    scope: dict[str, Any] = {}
    exec(f.program(m).source("f"), scope)
    np.testing.assert_allclose(scope["f"](m), f(m), rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("b", [1.0, 1.001, 1.9999, -3.2, 12.5])
@pytest.mark.quick(1)
def test_hyperu_keeps_its_digits_close_to_whole_parameters(b: float) -> None:
    with mpmath.workdps(40):
        first, at = (0.5, 1.0, 7.3, 19.0), (0.02, 2.0, 0.3, 80.0)
        values, pullback = sg.vjp(lambda x: sc.hyperu(np.array(first), b, x), np.array(at))
        for a, x, found, slope in zip(first, at, values, *pullback(np.ones(4)), strict=True):
            want = mpmath.hyperu(a, b, x)
            assert abs(found - want) < 1e-14 * want
            exact = -a * mpmath.hyperu(a + 1, b + 1, x)
            assert abs(slope - exact) < 1e-14 * abs(exact)
    outside = sg.compile(lambda x: sc.hyperu(-2.0, b, x))(0.7)
    assert outside == pytest.approx(sc.hyperu(-2.0, b, 0.7), rel=1e-15)


def test_a_derivative_of_a_family_prints_as_mathematics() -> None:
    """Printers ask for forms that SymPy does not evaluate; a derivative is none of these."""
    program = sg.grad(sg.grad(lambda m: sc.ellipk(m))).program(0.3)
    assert "completeg(m, order=1)" in str(program)
    assert "cases" not in program.latex()
    assert r"0 \log" not in program.latex()
